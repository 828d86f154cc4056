"""The six communications from lines of an audit log, from figures of API servers, and from exporters' own counts."""

import itertools
import math
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.measure import communications, statistics
from kubedyno.measure.auditlog import Lines, Served
from kubedyno.measure.communications import Counted, Parties, Tally
from kubedyno.measure.histograms import Histogram, Page, together

pytestmark = pytest.mark.unit

PARTIES = Parties(
    kubelets=frozenset({"kubedyno-kubelets", "kwok"}),
    schedulers=frozenset({"system:kube-scheduler", "scheduler-plugins", "kubedyno-scheduler"}),
)
PLUGINS = "scheduler-plugins/v0.0.0 (linux/amd64) kubernetes/$Format/scheduler"


@pytest.mark.parametrize(
    ("user", "agent", "resource", "number"),
    [
        ("kubedyno-admin", "kubedyno-exporter/0.1.0", "noderesourcetopologies", 2),
        ("kubedyno-admin", "kubedyno-exporter/0.1.0", "nodes", 2),
        ("rte", "resource-topology-exporter/v0.9 (linux/amd64)", "noderesourcetopologies", 2),
        ("kubedyno-kubelets", "kubedyno/0.1.0", "leases", 3),
        ("system:node:a", "anything", "pods", 3),
        ("", "kubelet/0.1.0", "pods", 3),
        ("kubemark", "hollow-kubelet", "nodes", 3),
        ("", "kwok/v0.8.0 (linux/amd64)", "pods", 3),
        ("system:kube-scheduler", PLUGINS, "noderesourcetopologies", 4),
        ("system:kube-scheduler", PLUGINS, "pods", 5),
        ("system:kube-scheduler", PLUGINS, "podgroups", 5),
        ("", PLUGINS, "noderesourcetopologies", 4),
        ("kubedyno-admin", "kubedyno-scheduler/0.1.0", "", 5),
        ("kubedyno-admin", "kubedyno/0.1.0", "noderesourcetopologies", None),
        ("kubedyno-admin", "kubectl/v0.0.0 (linux/amd64)", "noderesourcetopologies", None),
        ("system:apiserver", "kube-apiserver/v0.0.0", "leases", None),
    ],
)
def test_requests_are_told_apart_by_user_program_and_resource(
    user: str, agent: str, resource: str, number: int | None
) -> None:
    assert PARTIES.number_of(user, agent, resource) == number


def line(
    verb: str = "get",
    *,
    stage: str = "ResponseComplete",
    code: int = 200,
    took_s: float = 0.25,
    resource: str | None = "noderesourcetopologies",
    user: str = "system:kube-scheduler",
) -> bytes:
    """As the real server writes it, with much that nobody reads."""
    event = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "b4d1a454",
        "stage": stage,
        "requestURI": "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-1",
        "verb": verb,
        "user": {"username": user, "groups": ["system:authenticated"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": PLUGINS,
        "responseStatus": {"metadata": {}, "code": code},
        "requestReceivedTimestamp": "2026-11-16T06:05:25.500000Z",
        "stageTimestamp": f"2026-11-16T06:05:{25.5 + took_s:09.6f}Z",
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }
    if resource is not None:
        event["objectRef"] = {"resource": resource, "name": "node-1", "apiVersion": "v1alpha2"}
    return msgspec.json.encode(event) + b"\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line()], [(200, 0.25, False)]),
        ([line(code=404, took_s=0.001)], [(404, 0.001, False)]),
        ([line(stage="Panic", code=500)], [(500, 0.25, False)]),
        # A watch counts when it begins, and not when it ends in good order.
        ([line("watch", stage="ResponseStarted"), line("watch", took_s=5)], [(200, 0.25, True)]),
        # One that is refused never begins.
        ([line("watch", code=429)], [(429, 0.25, True)]),
        # A long answer counts when it is whole.
        ([line("list", stage="ResponseStarted"), line("list", took_s=2)], [(200, 2.0, False)]),
        ([line(stage="RequestReceived")], []),
    ],
)
def test_every_request_of_the_log_is_told_of_once(lines: list[bytes], expected: list[tuple[int, float, bool]]) -> None:
    found = list(Lines().take(b"".join(lines)))
    assert [(one.code, pytest.approx(one.took_s), one.is_watch) for one in found] == expected


@given(cuts=st.lists(st.integers(0, 3000), max_size=6))
def test_a_log_may_be_read_in_any_pieces(cuts: list[int]) -> None:
    text = b"".join(line(took_s=number / 10) for number in range(1, 5))
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    lines = Lines()
    pieces = (text[begin:end] for begin, end in itertools.pairwise(places))
    found = [one for piece in pieces for one in lines.take(piece)]
    assert [one.took_s for one in found] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert lines.unread == 0


def test_lines_that_are_no_events_are_counted_and_left_out() -> None:
    lines = Lines()
    found = list(lines.take(b"{broken\n\n[]\n" + line(resource=None) + line()[:40]))
    assert ([one.resource for one in found], lines.unread) == ([""], 2)
    lines.end()
    assert (list(lines.take(line())), lines.unread) == (list(Lines().take(line())), 3)


def served(count: int, *, agent: str = PLUGINS, resource: str = "pods", **more: object) -> Iterator[Served]:
    for number in range(1, count + 1):
        one = Served("", agent, resource, 200, number / 1000)
        yield msgspec.structs.replace(one, **more)


def told(tally: Tally) -> dict[int, tuple[int | None, int, dict[str, int]]]:
    found = tally.communications(source="test")
    return {one.number: (one.requests, one.watches, one.errors) for one in found}


def test_a_tally_counts_requests_watches_and_errors() -> None:
    tally = Tally(PARTIES)
    for one in (
        *served(100),
        *served(3, code=409),
        *served(1, code=429),
        *served(2, code=0),
        *served(4, is_watch=True, took_s=50.0),
        *served(7, resource="noderesourcetopologies"),
        *served(5, agent="kubedyno-exporter/1"),
        *served(2, agent="kubectl/1"),
    ):
        tally.note(one)
    assert told(tally) == {
        2: (5, 0, {}),
        3: (0, 0, {}),
        4: (7, 0, {}),
        5: (110, 4, {"409": 3, "error": 2, "429": 1}),
    }
    scheduler = tally.communications(source="test", note="as it is")[3]
    assert (scheduler.name, scheduler.source, scheduler.note) == ("scheduler to API server", "test", "as it is")
    samples = [*(number / 1000 for number in range(1, 101)), 0.001, 0.002, 0.003, 0.001, 0.001, 0.002]
    assert scheduler.latency == statistics.percentiles(samples)
    assert tally.communications(source="test", is_timed=False)[3].latency == ()


def test_parts_add_up_to_the_whole() -> None:
    whole, parts = Tally(PARTIES), [Tally(PARTIES), Tally(PARTIES)]
    both = Tally(PARTIES)
    for number, one in enumerate((*served(10), *served(4, code=500), *served(3, is_watch=True))):
        whole.note(one)
        parts[number % 2].note(one)
    for part in parts:
        both.add(part)
    assert told(both) == told(whole)
    assert [one.latency for one in both.communications(source="")] == [
        one.latency for one in whole.communications(source="")
    ]


def page(*counts: int, errors: int = 0, resource: str = "pods") -> Page:
    """Of etcd requests: how many took up to 5 ms, 25 ms, 50 ms, and more."""
    name, lines, sums = "etcd_request_duration_seconds", [], 0
    lines += ["# HELP etcd_other Not this.", "# TYPE etcd_other counter", "etcd_other 7", f"# TYPE {name} histogram"]
    for bound, count in zip(("0.005", "0.025", "0.05", "+Inf"), counts, strict=True):
        sums += count
        lines.append(f'{name}_bucket{{group="",operation="get",resource="{resource}",le="{bound}"}} {sums}')
    lines += [f'{name}_sum{{resource="{resource}"}} {sums / 100}', f'{name}_count{{resource="{resource}"}} {sums}']
    if errors:
        lines += ["# TYPE etcd_request_errors_total counter", f'etcd_request_errors_total{{operation="get"}} {errors}']
    return Page("\n".join([*lines, "# TYPE etcd_requests_total counter", "etcd_requests_total 1e+06", ""]).encode())


def test_what_api_servers_ask_of_etcd_is_the_difference_of_their_figures() -> None:
    before = communications.etcd_of([page(100, 10, 0, 0, errors=1), page(5, 0, 0, 0)])
    after = communications.etcd_of([page(180, 20, 8, 0, errors=4), page(7, 0, 0, 0)])
    found = communications.of_etcd(after.since(before))
    assert (found.number, found.requests, found.errors) == (6, 100, {"error": 3})
    # Of the 100 that came, 82 took up to 5 ms, 10 up to 25 ms and 8 up to 50 ms.
    assert [one.value for one in found.latency] == pytest.approx([0.005 * 50 / 82, 0.021, 0.046875])
    # What a percentile lies between is no narrower than its bucket.
    assert [(one.lower, one.upper) for one in found.latency][::2] == [(0.0, 0.005), (0.025, 0.05)]
    assert "buckets" in found.note


def test_a_server_that_was_started_anew_counts_from_zero() -> None:
    before = communications.etcd_of([page(100, 10, 0, 0, errors=9)])
    after = communications.etcd_of([page(30, 2, 0, 0, errors=1)])
    gained = after.since(before)
    assert (gained.latency.count, gained.errors) == (32, 1)


def test_without_figures_there_is_nothing() -> None:
    found = communications.of_etcd(communications.etcd_of([Page(b""), Page(b"# TYPE x counter\nx 1\n")]))
    assert (found.requests, found.errors, found.latency) == (0, {}, ())


@given(samples=st.lists(st.floats(min_value=0.0001, max_value=0.9), min_size=2, max_size=200))
def test_the_true_percentile_is_within_the_bounds_of_the_histogram(samples: list[float]) -> None:
    bounds = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, math.inf)
    counts = [0.0] * len(bounds)
    for sample in samples:
        counts[next(index for index, bound in enumerate(bounds) if sample <= bound)] += 1
    histogram = Histogram(bounds, tuple(counts), sum(samples))
    exact = statistics.percentiles(samples)
    for told_of, true in zip(histogram.percentiles(), exact, strict=True):
        assert told_of.lower <= told_of.value <= told_of.upper
        # Its interval holds the one that the samples themselves give.
        assert told_of.lower <= true.lower
        assert told_of.upper >= true.upper or math.isclose(told_of.upper, true.upper)
    assert together([histogram, Histogram(), histogram]).count == 2 * len(samples)


def test_samples_beyond_the_last_bound_are_said_to_be_at_it() -> None:
    histogram = Histogram((1.0, 60.0, math.inf), (1.0, 0.0, 9.0), 900.0)
    assert histogram.percentile(99.0) == 60.0
    assert [(one.value, one.upper) for one in histogram.percentiles((50.0,))] == [(60.0, 60.0)]


def test_what_exporters_counted_is_told_of_the_part_that_is_meant() -> None:
    before = Counted(requests=3, errors={"timeout": 1}, latencies_s=(0.1, 0.2))
    after = Counted(requests=7, errors={"timeout": 2, "unavailable": 1}, latencies_s=(0.1, 0.2, 0.3, 0.5))
    found = communications.of_exporters(after.since(before))
    assert (found.requests, found.errors) == (4, {"timeout": 1, "unavailable": 1})
    assert found.latency == statistics.percentiles([0.3, 0.5])
    # Exporters that were stopped and started anew.
    assert before.since(after) == before
    assert communications.of_exporters(None).note == "no exporter ran"
    assert communications.of_exporters(None).requests is None
