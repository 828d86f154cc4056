"""Exporters on a real API server with the real plugin's kind: in this process, and as one of their own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec
import pytest
from tests.labs import lab_in_process
from tests.numanodes import kubelet
from tests.trials import played_on

from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.shapes import training
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import Verdict
from kubedyno.sim.exporters.mounting import NAME
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.faults.fault import Crash
from kubedyno.sim.faults.selecting import Selection
from kubedyno.sim.pools import Pool
from kubedyno.sim.pools.pool import Gpus

from .conftest import wait_gone

pytestmark = pytest.mark.local

NODE_COUNT = 4
WITHIN_S = 60.0
SETTINGS = Settings(interval_s=2.0, jitter=0.2)


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_in_process(tmp_path_factory.mktemp("exporters") / "lab", scheduler="plugins") as lab:
        yield lab


def pool() -> Pool:
    gpus = Gpus(model="H100")
    return Pool(name="numa", count=NODE_COUNT, cpu="32", memory="64Gi", gpus=gpus, kubelet=kubelet())


def told(obj: Object) -> dict[int, dict[str, int]]:
    """What each zone is said to have left."""
    return {
        int(zone["name"].removeprefix("node-")): {
            one["name"]: Quantity.parse(one["available"]).to_int() for one in zone["resources"]
        }
        for zone in obj["zones"]
    }


async def truth(lab: Lab, name: str) -> Mapping[int, Mapping[str, int]]:
    zones = await lab.ledgers.zones(name)
    return {number: {resource: amount.available for resource, amount in zone.items()} for number, zone in zones.items()}


async def until_true(lab: Lab, names: tuple[str, ...]) -> None:
    """Every object says what is so."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = await lab.exporters.written()
            if all([told(found[name]) == await truth(lab, name) for name in names]):
                return
            await asyncio.sleep(0.2)


async def story(lab: Lab, *, beside: bool, pids: list[int], running: RunningLab) -> None:
    nodes = await lab.nodes(pool())
    await lab.exporters.start(SETTINGS, beside=beside)
    if beside:
        pids.append(running.supervisor.processes[NAME].pid)
    assert sorted(await lab.exporters.written()) == sorted(nodes.names)
    shape = msgspec.structs.replace(training(gpus=1), cpu="3", memory="2Gi", as_job=False)
    first = await lab.submit(shape, count=12)
    await lab.running(first)
    await until_true(lab, nodes.names)
    held = [pod for name in nodes.names for pod in (await lab.ledgers.pods(name)).values()]
    assert len(held) == 12
    assert all(len(one.cpus) == 3 for pod in held for one in pod.containers.values())
    await lab.submit(shape, count=4, name="more")
    await lab.delete(first)
    await lab.settled(quiet_s=2)
    await until_true(lab, nodes.names)
    frozen = nodes.names[0]
    await lab.exporters.freeze([frozen])
    before = (await lab.exporters.written())[frozen]["metadata"]["resourceVersion"]
    await lab.fail(Crash(), Selection(names=(nodes.names[1],)))
    await asyncio.sleep(5)
    assert (await lab.exporters.written())[frozen]["metadata"]["resourceVersion"] == before
    await lab.recover(Selection(names=(nodes.names[1],)))
    report = await lab.exporters.refresh()
    assert set(report.view_failures) == {"Unavailable"}  # the kubelet that was down
    assert report.failures == {}
    assert report.writes["patch"] > report.writes["create"] == NODE_COUNT
    assert len(report.view_s) == report.looks


@pytest.mark.parametrize("beside", [False, True])
async def test_objects_are_the_truth_of_the_ledgers_while_pods_come_and_go(
    lab: RunningLab, tmp_path: Path, beside: bool
) -> None:
    pids: list[int] = []

    async def scenario(lab_of_trial: Lab) -> None:
        await story(lab_of_trial, beside=beside, pids=pids, running=lab)

    record = await played_on(lab, Scenario(name="exporters", function=scenario), tmp_path)
    assert (record.message, record.verdict) == ("", Verdict.PASSED)
    assert wait_gone(pids) == []
    assert NAME not in lab.supervisor.processes
    assert (await lab.client.list_all(NODE_RESOURCE_TOPOLOGIES[0])).items == []
