"""Latency and overload with real components, at toy scale and with short steps."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.labs import lab_in_process
from tests.trials import failed_checks, played_on

from kubedyno.kube.resources import CLUSTER_ROLE_BINDINGS, NAMESPACES, NODE_RESOURCE_TOPOLOGIES, NODES
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import Verdict
from kubedyno.scenarios.numa import framework, scales
from kubedyno.scenarios.numa.apiserver_latency import apiserver_latency
from kubedyno.scenarios.numa.apiserver_overload import apiserver_overload
from kubedyno.scenarios.numa.scheduler_latency import scheduler_latency
from kubedyno.scenarios.numa.sweep import sweep

from .conftest import User

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
async def plugins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    wanted = scales.settings_of_both({"cache": "passthrough"})["plugins"]
    settings = {"plugins": {path.removeprefix("plugins."): value for path, value in wanted.items()}}
    folder = tmp_path_factory.mktemp("performance") / "lab"
    async with lab_in_process(folder, scheduler="plugins", settings=settings, audit_log=True) as lab:
        yield lab


async def left(lab: RunningLab) -> list[str]:
    """What is there of a load, or of the nodes of a trial."""
    client, found = lab.client, []
    for resource in (NODES, NODE_RESOURCE_TOPOLOGIES[0]):
        found += [one["metadata"]["name"] for one in (await client.list_all(resource)).items]
    for one in (await client.list_all(NAMESPACES)).items:
        if one["metadata"]["name"].startswith("load-") and one["status"]["phase"] != "Terminating":
            found.append(one["metadata"]["name"])
    bindings = (one["metadata"]["name"] for one in (await client.list_all(CLUSTER_ROLE_BINDINGS)).items)
    return [*found, *(name for name in bindings if name.startswith("kubedyno-load"))]


async def test_a_knee_of_the_real_api_server_is_looked_for(plugins: RunningLab, tmp_path: Path) -> None:
    record = await played_on(plugins, apiserver_overload, tmp_path, start=20, step_s=1, budget_s=15, clients=3)
    assert (failed_checks(record), record.violations) == ([], ())
    (knee,) = record.knees
    assert (knee.case, knee.scale, knee.nodes, knee.aware, knee.ha) == ("API server overload", "toy", 10, True, False)
    assert knee.rate is not None
    assert knee.steps > 0
    assert {"all requests, s", "GET, s", "PUT, s", "PATCH, s", "POST, s"} <= {one.metric for one in record.curves}
    if knee.upper is not None and knee.broke:
        assert knee.component
        assert knee.evidence
    # Those who ask are nobody special, and are known by what they play.
    asked = {one.number: one.requests for one in record.communications}
    assert all(asked[number] for number in (2, 3, 5, 6))
    assert await left(plugins) == []


async def test_answers_are_timed_by_verb(plugins: RunningLab, tmp_path: Path) -> None:
    record = await played_on(plugins, apiserver_latency, tmp_path, rates="20", over_s=2, clients=2)
    assert (failed_checks(record), record.violations) == ([], ())
    assert {one.rate for one in record.curves} == {20.0}
    assert all(one.p50 is not None and one.n > 0 for one in record.curves)


async def test_an_interrupted_load_leaves_nothing(plugins: RunningLab, tmp_path: Path) -> None:
    playing = asyncio.create_task(played_on(plugins, apiserver_latency, tmp_path, rates="20", over_s=60))
    while not any(name.startswith("load-") for name in await left(plugins)):
        await asyncio.sleep(0.2)
        assert not playing.done()
    await asyncio.sleep(1.0)
    playing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await playing
    assert await left(plugins) == []


async def test_without_awareness_the_plugin_is_not_there(tmp_path: Path) -> None:
    wanted = scales.settings({"cache": "passthrough", "aware": False})["plugins"]
    settings = {"plugins": {path.removeprefix("plugins."): value for path, value in wanted.items()}}
    async with lab_in_process(tmp_path / "lab", scheduler="plugins", settings=settings, audit_log=True) as lab:
        record = await played_on(lab, scheduler_latency, tmp_path, rates="5", over_s=2, aware=False)
    assert (failed_checks(record), record.violations) == ([], ())
    (point,) = record.curves
    assert (point.n, point.aware) == (10, False)
    assert framework.UNLOADED_NOTE in point.note
    asked = {one.name: one.requests for one in record.communications}
    assert asked["topology plugin to API server"] == 0
    assert record.verdict in {Verdict.PASSED, Verdict.INVALID}


async def test_a_sweep_over_two_scales_has_a_row_for_every_case(plugins: RunningLab, tmp_path: Path) -> None:
    record = await played_on(
        plugins,
        sweep,
        tmp_path,
        scales="toy,small",
        pod_rates="5",
        request_rates="20",
        step_s=1,
        budget_s=110,
        patience_s=5,
    )
    assert (failed_checks(record), record.violations) == ([], ())
    rows = {(one.scale, one.case, one.aware) for one in (*record.curves, *record.knees)}
    assert rows == {
        (scale, case.name, aware) for scale in ("toy", "small") for case in framework.CASES for aware in (False, True)
    }
    assert all(one.rate is not None or one.unfit.startswith("did not fit") for one in record.knees)
    assert {one.scale for one in record.knees if one.steps} == {"toy", "small"}
    assert {framework.ASIDE_NOTE in one.note for one in record.curves if one.n and not one.aware} == {True}
    assert {(one.scale, one.nodes) for one in record.curves if one.n} == {("toy", 10), ("small", 100)}
    assert await left(plugins) == []


@pytest.mark.long
def test_the_price_of_replicas_stands_on_one_page(user: User) -> None:
    user.run(
        *("run", "numa/scheduler-latency", "--engine", "local", "--scheduler", "plugins", "--ha", "none,stacked"),
        *("-p", "rates=10", "-p", "over_s=5"),
    )
    (page,) = (user.home / "runs").glob("*/index.html")
    text = page.read_text()
    assert "schedulers plugins, plugins (stacked)" in text
    assert "Price of HA" in text
    assert "three processes on one machine stand for three machines" in text
