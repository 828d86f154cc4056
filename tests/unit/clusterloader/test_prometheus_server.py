"""Queries that a Prometheus server answers: the methods that ask them, what goes wrong, and nobody to ask."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest
from aiohttp import web
from tests.prometheus import Server, served

from kubedyno import cli
from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.measurements import METHODS
from kubedyno.clusterloader.measurements.measuring import Measurement, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.prometheus import Prometheus, address, reached
from kubedyno.clusterloader.measurements.scrapes import Scrapes
from kubedyno.kit.clock import NS_PER_S, VirtualClock
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.lab.scraping import Scraper
from kubedyno.plane.ports import LOOPBACK, free_ports

pytestmark = pytest.mark.unit

BEGIN_S = 1_800_000_000
LATENCY = "apiserver_request_duration_seconds"
POINT = "scheduler_framework_extension_point_duration_seconds"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with served() as one:
        yield one


class Steps:
    """Measurements of a test that lasts 10 min from `BEGIN_S` on."""

    def __init__(self, prometheus: Prometheus | None) -> None:
        self._clock = VirtualClock(BEGIN_S * NS_PER_S)
        scraper = Scraper(None)
        scrapes = Scrapes(scraper, self._clock)
        # What these methods look at, and nothing else.
        scene = SimpleNamespace(clock=self._clock, scraper=scraper, scrapes=scrapes, prometheus=prometheus)
        self._scene = cast("Scene", scene)
        self._instances: dict[str, Measurement] = {}

    async def call(self, method: str, action: str, **params: Any) -> Result:
        """One call; the clock stands, but for `later`."""
        instance = self._instances.setdefault(method, METHODS[method].make("Here", self._scene))
        return await instance.execute(Params({"action": action, **params}, of=method, place=Place("config.yaml", 1)))

    async def later(self) -> None:
        sleeper = asyncio.ensure_future(self._clock.sleep(600))
        await asyncio.sleep(0)
        assert self._clock.advance_to_next()
        await sleeper

    async def gathered(self, method: str, started: dict[str, Any] | None = None, **params: Any) -> Result:
        """From `start` to `gather` ten minutes later."""
        assert await self.call(method, "start", **(started or {})) == Result()
        await self.later()
        return await self.call(method, "gather", **params)


@pytest.fixture
async def steps(server: Server) -> AsyncIterator[Steps]:
    async with reached(server.url) as prometheus:
        yield Steps(prometheus)


def fill(server: Server, *, step_s: int = 10) -> None:
    """Ten minutes of an API server and a scheduler: 10 pods a second, 20 in the fourth minute, 100 reads."""
    bound = 0
    for at_s in range(0, 601, step_s):
        lines = [f'apiserver_request_total{{verb="POST",resource="pods",subresource="binding",code="201"}} {bound}']
        for labels, per_s in (
            ('resource="pods",scope="resource",subresource="",verb="GET"', {"1.0": 90, "5.0": 100, "+Inf": 100}),
            ('resource="pods",scope="cluster",subresource="",verb="LIST"', {"1.0": 0, "30.0": 2, "+Inf": 2}),
        ):
            lines += [f'{LATENCY}_bucket{{{labels},le="{le}"}} {1000 + at_s * n}' for le, n in per_s.items()]
            lines.append(f"{LATENCY}_count{{{labels}}} {1000 + at_s * per_s['+Inf']}")
        for le, per_s_ in (("0.001", 5), ("0.01", 10), ("+Inf", 10)):
            lines.append(f'{POINT}_bucket{{extension_point="Filter",profile="a",le="{le}"}} {1000 + at_s * per_s_}')
        server.samples.append((BEGIN_S + at_s) * NS_PER_S, {"job": "x"}, "\n".join(lines).encode())
        bound += step_s * (20 if 180 <= at_s < 240 else 10)


def summary(result: Result, name: str) -> Any:
    (only,) = result.summaries
    assert only.name == name
    return json.loads(only.text)


async def test_the_throughput_is_the_servers(server: Server, steps: Steps) -> None:
    fill(server)
    told = await steps.gathered("SchedulingThroughputPrometheus", threshold=21, enableViolations=True)
    assert summary(told, "SchedulingThroughputPrometheus") == {"max": pytest.approx(20)}
    assert told.errors == ("scheduler throughput: 20 pods/s at most, and 21 are asked for",)
    (asked,) = server.asked
    assert "[600s:5s]" in asked["query"]
    assert float(asked["time"]) == BEGIN_S + 600


async def test_the_schedulers_histograms_are_the_servers(server: Server, steps: Steps) -> None:
    fill(server)
    told = await steps.gathered("PrometheusSchedulingMetrics")
    found = summary(told, "Here_PrometheusSchedulingMetrics")
    # Half of them are within a millisecond, and all within ten.
    assert found["frameworkExtensionPointDuration"]["Filter"] == {
        "Perc50": pytest.approx(1_000_000, rel=1e-6),
        "Perc90": pytest.approx(8_200_000, rel=1e-6),
        "Perc99": pytest.approx(9_820_000, rel=1e-6),
    }
    assert found["schedulingLatency"]["Perc99"] == 0
    assert len(server.asked) == 14


@pytest.mark.parametrize("is_simple", [True, False])
async def test_api_calls_are_judged_by_the_servers_answers(server: Server, steps: Steps, is_simple: bool) -> None:
    fill(server)
    told = await steps.gathered("APIResponsivenessPrometheus", useSimpleLatencyQuery=is_simple, enableViolations=True)
    items = {item["labels"]["Verb"]: item for item in summary(told, "APIResponsivenessPrometheus")["dataItems"]}
    assert {verb: item["labels"]["Count"] for verb, item in items.items()} == {"GET": "60000", "LIST": "1200"}
    # A tenth of the reads took more than 1 s; lists of a cluster may take 30 s.
    assert {verb: item["labels"]["SlowCount"] for verb, item in items.items()} == {"GET": "6000", "LIST": "0"}
    assert items["GET"]["data"]["Perc99"] == pytest.approx(1000 + 4000 * 0.9)
    assert told.errors == ("GET pods (resource): the 99th percentile is 4.600 s, and 1 s is the limit",)
    # Minutes: of the last five, for the first five are left out.
    asked = [one["query"] for one in server.asked if "histogram_quantile(0.99" in one["query"]]
    assert ("[600s]" in asked[0]) if is_simple else asked[0].startswith("quantile_over_time(0.99, histogram_quantile(0")
    assert is_simple or "[300s:30s]" in asked[0]


@pytest.mark.parametrize(("allowed", "fails"), [(0, True), (5999, True), (6000, False)])
async def test_calls_that_may_be_slow_are_counted(server: Server, steps: Steps, allowed: int, fails: bool) -> None:
    fill(server)
    told = await steps.gathered(
        "APIResponsivenessPrometheus", useSimpleLatencyQuery=True, enableViolations=True, allowedSlowCalls=allowed
    )
    assert bool(told.errors) == fails


async def test_a_limit_below_what_counts_as_slow_holds_too(server: Server, steps: Steps) -> None:
    fill(server)
    limits = "- {verb: LIST, resource: pods, scope: cluster, threshold: 20s}"
    told = await steps.gathered(
        "APIResponsivenessPrometheus", useSimpleLatencyQuery=True, enableViolations=True, customThresholds=limits
    )
    assert told.errors[0] == "LIST pods (cluster): the 99th percentile is 29.710 s, and 20 s is the limit"


GENERIC = {"metricName": "M", "metricVersion": "v1", "unit": "s"}


async def test_queries_of_the_users_are_asked_as_they_are(server: Server, steps: Steps) -> None:
    fill(server)
    server.warnings = ["a store is not there"]
    queries = [
        {"name": "Rate", "query": f"sum(rate({LATENCY}_count[%v])) by (verb)", "threshold": 50},
        {"name": "None", "query": "nothing"},
        {"name": "Some", "query": "nothing", "requireSamples": True},
    ]
    started = {**GENERIC, "dimensions": ["verb"], "queries": queries}
    told = await steps.gathered("GenericPrometheusQuery", started, enableViolations=True)
    items = summary(told, "GenericPrometheusQuery M")["dataItems"]
    assert [(item["labels"], item["data"]) for item in items] == [
        ({"verb": "GET"}, {"Rate": pytest.approx(100)}),
        ({"verb": "LIST"}, {"Rate": pytest.approx(2)}),
    ]
    assert told.errors == ("Rate: 100 is more than 50", "Some: there are no samples")
    assert told.remarks == (
        "GenericPrometheusQuery M: None: there are no samples",
        f"the Prometheus server at {server.url} warns: a store is not there",
    )
    assert server.asked[0]["query"] == f"sum(rate({LATENCY}_count[600s])) by (verb)"


async def test_values_over_time_are_put_together_by_words(server: Server, steps: Steps) -> None:
    for at_s in range(0, 601, 5):
        page = f'g{{a="x"}} {at_s}\ng{{a="y"}} 7'
        server.samples.append((BEGIN_S + at_s) * NS_PER_S, {}, page.encode())
    words = ["Perc50", "Perc99.9", "Max", "Min", "Avg", "Last"]
    queries = [
        {"query": "max(g) by (a) # of all", "aggregations": words},
        {"name": "All", "query": "sum(g)", "aggregations": ["Max"], "threshold": 1},
    ]
    started = {**GENERIC, "dimensions": ["a"], "queries": queries}
    told = await steps.gathered("GenericPrometheusQuery", started, enableViolations=True)
    found = {item["labels"]["a"]: item["data"] for item in summary(told, "GenericPrometheusQuery M")["dataItems"]}
    # At the twenty half minutes after the beginning: 30, 60, ..., 600.
    risen = {"Perc50": 315, "Perc99.9": 599.43, "Max": 600, "Min": 30, "Avg": 315, "Last": 600}
    assert found == {"": {"All_Max": 607}, "x": pytest.approx(risen), "y": pytest.approx(dict.fromkeys(words, 7))}
    assert told.errors == ("All_Max: 607 is more than 1",)


@pytest.mark.parametrize("word", ["Perc101", "Perc", "max", ""])
async def test_words_that_put_nothing_together_are_refused(steps: Steps, word: str) -> None:
    queries = [{"query": "up", "aggregations": [word]}]
    with pytest.raises(
        UsageError, match=f"'{word}' is no aggregation: write Perc99 or another percentile, or one of Max"
    ):
        await steps.call("GenericPrometheusQuery", "start", **GENERIC, queries=queries)


async def test_several_values_for_the_same_dimensions_are_a_violation(server: Server, steps: Steps) -> None:
    fill(server)
    started = {**GENERIC, "queries": [{"name": "Count", "query": f"{LATENCY}_count"}]}
    told = await steps.gathered("GenericPrometheusQuery", started, enableViolations=True)
    assert told.errors == ("Count: there are 61000 and 2200 for the same dimensions: name more of them, or aggregate",)


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("APIResponsivenessPrometheus", "no API calls were counted: nobody scrapes the API server"),
        ("PrometheusSchedulingMetrics", "no metrics of kube-scheduler are there for this time"),
    ],
)
async def test_a_server_that_scrapes_nothing_of_it_is_no_silent_pass(steps: Steps, method: str, why: str) -> None:
    told = await steps.gathered(method)
    assert told.skipped.startswith(why)
    assert not told.summaries


async def test_a_throughput_without_samples_is_an_error(steps: Steps) -> None:
    told = await steps.gathered("SchedulingThroughputPrometheus")
    assert told.errors == ("scheduler throughput: nothing was bound, or too little time has passed to tell",)


PROMETHEUS = ("APIResponsivenessPrometheus", "PrometheusSchedulingMetrics", "SchedulingThroughputPrometheus")


@pytest.mark.parametrize("method", PROMETHEUS)
async def test_on_a_cluster_nobody_can_be_asked_without_the_flag(method: str) -> None:
    steps = Steps(None)
    for action in ("start", "gather"):
        told = await steps.call(method, action)
        assert told.skipped.endswith("name a Prometheus server that scrapes them: --prometheus-url URL"), told


async def test_a_query_that_requires_samples_fails_without_the_flag() -> None:
    steps = Steps(None)
    queries = [{"name": "Up", "query": "up", "requireSamples": True}]
    assert (
        "--prometheus-url URL"
        in (await steps.call("GenericPrometheusQuery", "start", **GENERIC, queries=queries)).skipped
    )
    told = await steps.call("GenericPrometheusQuery", "gather")
    assert told.errors[0].startswith("Up: there are no samples: where the components of this cluster serve")


# What goes wrong.


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (
            400,
            b'{"status":"error","errorType":"bad_data","error":"1:3: parse error: unclosed left parenthesis"}',
            "has no answer to 'up': bad_data: 1:3: parse error: unclosed left parenthesis",
        ),
        (
            503,
            b'{"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}',
            "has no answer to 'up': timeout: query timed out",
        ),
        (200, b'{"status":"success","data":{"resultType":"matrix","result":[]}}', "put a function such as rate"),
        (401, b"", "answers 401: it asks for a credential"),
        (302, b"<a href=login>", "answers 302 and not as Prometheus does (JSON is malformed"),
        (404, b"404 page not found", "is --prometheus-url the address that stands before /api/v1/query?"),
    ],
)
async def test_what_the_server_says_instead_of_an_answer_is_told(
    server: Server, status: int, body: bytes, why: str
) -> None:
    server.instead = web.Response(status=status, body=body)
    async with reached(f"{server.url}/") as prometheus:
        assert prometheus is not None
        with pytest.raises(EngineError) as error:
            await prometheus.ask("up", 0)
    assert str(error.value).startswith(f"the Prometheus server at {server.url} ")
    assert why in str(error.value)


async def test_a_server_that_is_not_there_is_told_at_the_start_and_may_come(server: Server) -> None:
    fill(server)
    server.instead = web.Response(status=502, body=b"bad gateway")
    async with reached(server.url) as prometheus:
        steps = Steps(prometheus)
        with pytest.raises(EngineError, match="answers 502 and not as Prometheus does"):
            await steps.call("SchedulingThroughputPrometheus", "start")
        await steps.later()
        with pytest.raises(EngineError, match="answers 502"):
            await steps.call("SchedulingThroughputPrometheus", "gather")
        server.instead = None
        told = await steps.call("SchedulingThroughputPrometheus", "gather")
    assert summary(told, "SchedulingThroughputPrometheus") == {"max": pytest.approx(20)}


async def test_a_server_that_nobody_reaches_or_that_says_nothing_is_named_with_the_flag() -> None:
    port = free_ports()()
    nobody = Prometheus(f"http://{LOOPBACK}:{port}")
    with pytest.raises(
        EngineError, match=rf"at http://{LOOPBACK}:{port} cannot be connected to .*check --prometheus-url"
    ):
        await nobody.ask("up", 0)
    await nobody.close()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(mute, LOOPBACK, 0)
    silent = Prometheus(f"http://{LOOPBACK}:{listening.sockets[0].getsockname()[1]}", timeout_s=0.1)
    with pytest.raises(EngineError, match=r"did not answer within 0.1 s: check --prometheus-url"):
        await silent.ask("up", 0)
    await silent.close()
    listening.close()
    await listening.wait_closed()


async def test_a_server_behind_a_path_is_reached(server: Server) -> None:
    async with served("/some/prefix") as behind, reached(f"{behind.url}//") as prometheus:
        assert prometheus is not None
        assert [sample.value for sample in (await prometheus.ask("vector(7)", 0)).vector] == [7.0]


@pytest.mark.parametrize("url", ["localhost:9090", "ftp://a", "http://", "http://a:b", "/x", "http://a:99999"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"write it like http://localhost:9090"):
        address(url)


@pytest.mark.parametrize("url", ["http://me:secret@a:9090", "http://a?x=1", "http://a/#graph"])
def test_an_address_has_no_password_and_no_query(url: str) -> None:
    with pytest.raises(UsageError, match=r"without user, query and fragment") as error:
        address(url)
    assert "secret" not in str(error.value)


# The flag.

CONFIG = """
name: asked
namespace: {deleteAutomanagedNamespaces: false}
steps:
- name: Ask
  measurements: [{method: SchedulingThroughputPrometheus, identifier: A, params: {action: start}}]
- name: Tell
  measurements: [{method: SchedulingThroughputPrometheus, identifier: A, params: {action: gather}}]
"""


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *args: str) -> int:
    (folder / "config.yaml").write_text(CONFIG)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(folder / name))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.chdir(folder)
    words = ("clusterloader", "--testconfig=config.yaml", "--nodes=1", "--report-dir=reports", *args)
    monkeypatch.setattr(sys, "argv", ["kubedyno", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_the_command_asks_the_server_of_its_flag(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://{LOOPBACK}:{free_ports()()}"
    assert run(monkeypatch, tmp_path, f"--prometheus-url={url}") == 1
    suite = ET.fromstring((tmp_path / "reports" / "junit.xml").read_text())  # noqa: S314 - we wrote it
    failed = {case.attrib["name"]: case.findtext("failure") or "" for case in suite.iter("testcase")}
    for case in ("asked: [step: 01] Ask [00] - A", "asked: [step: 02] Tell [00] - A"):
        assert f"the Prometheus server at {url} cannot be connected to" in failed[case]
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--prometheus-url=localhost:9090",), "write it like http://localhost:9090"),
        (("--prometheus-url=http://a", "--time=virtual"), "--prometheus-url needs --time real"),
    ],
)
def test_a_flag_that_cannot_be_meant_is_said_before_anything_runs(
    args: tuple[str, ...],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, tmp_path, *args) == 2
    assert why in capsys.readouterr().err
