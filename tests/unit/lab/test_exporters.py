"""Exporters and ledgers as scenarios use them, on the embedded engine and in virtual time."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import psutil
import pytest
from tests.numanodes import kubelet
from tests.trials import played

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import NotApplicable, UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.lab.exporters import Exporters
from kubedyno.lab.lab import Lab
from kubedyno.lab.ledgers import Kubelets, Ledgers
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.shapes import training
from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.model.workloads import Workload
from kubedyno.sim.exporters.distorting import LessAvailable, MoreAvailable
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.pools import Pool
from kubedyno.testing.trying import try_scenario

pytestmark = pytest.mark.unit

Story = Callable[[Lab, tuple[str, ...]], Awaitable[None]]


def pool(count: int = 3) -> Pool:
    return Pool(name="numa", count=count, cpu="32", memory="64Gi", kubelet=kubelet())


def single(cpu: str = "4") -> Workload:
    return msgspec.structs.replace(training(gpus=0), cpu=cpu, memory="2Gi", as_job=False)


def told(story: Story) -> Scenario:
    async def scenario(lab: Lab) -> None:
        nodes = await lab.nodes(pool())
        await story(lab, nodes.names)

    return Scenario(name="numa", function=scenario)


def passed(record: TrialRecord) -> None:
    assert (record.message, record.verdict) == ("", Verdict.PASSED)


def available(obj: Object) -> list[int]:
    return [int(one["available"]) for zone in obj["zones"] for one in zone["resources"] if one["name"] == "cpu"]


async def free(lab: Lab, name: str) -> list[int]:
    return [zone["cpu"].available for zone in (await lab.ledgers.zones(name)).values()]


def test_objects_are_there_when_exporters_are_started_and_are_the_truth_when_pods_rest() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        await lab.exporters.start()
        assert sorted(await lab.exporters.written()) == sorted(names)
        workloads = await lab.submit(single(), count=6)
        await lab.running(workloads)
        await lab.settled(quiet_s=10)
        found = await lab.exporters.written()
        for name in names:
            assert available(found[name]) == await free(lab, name)
            assert await lab.ledgers.overlaps(name) == []
        held = [pod for name in names for pod in (await lab.ledgers.pods(name)).values()]
        assert [len(held), {len(one.cpus) for pod in held for one in pod.containers.values()}] == [6, {4}]
        report = lab.exporters.report
        assert report.writes["create"] == len(names)
        assert (report.failures, report.view_failures, report.notes) == ({}, {}, ())

    passed(played(told(story)))


def test_exporters_are_steered_and_heed_it_before_the_call_returns() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        first, second, third = names
        await lab.exporters.start(Settings(interval_s=1))
        await lab.exporters.freeze([first])
        await lab.exporters.crash([second])
        await lab.exporters.distort([third], [MoreAvailable(resource="cpu", by="4")])
        before = await lab.exporters.written()
        await lab.running(await lab.submit(single(), count=6))
        await lab.clock.sleep(5)
        after = await lab.exporters.written()
        assert [after[name] == before[name] for name in names] == [True, True, False]
        assert available(after[third]) == [amount + 4 for amount in await free(lab, third)]
        await lab.exporters.distort([third], [LessAvailable(resource="cpu", by="1", zone=0)])
        await lab.exporters.thaw([first])
        await lab.exporters.restart([second])
        await lab.clock.sleep(5)
        after = await lab.exporters.written()
        assert [available(after[name]) for name in (first, second)] == [await free(lab, first), await free(lab, second)]
        truth = await free(lab, third)
        assert available(after[third]) == [truth[0] - 1, truth[1]]
        await lab.exporters.straighten([third])
        await lab.clock.sleep(5)
        assert available((await lab.exporters.written())[third]) == truth
        assert lab.exporters.report.restarts == 1
        await lab.exporters.crash([first], loop_s=5)
        await lab.clock.sleep(11)
        assert lab.exporters.report.restarts == 3

    passed(played(told(story)))


def test_steering_without_an_exporter_is_refused_with_the_reason() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        await lab.nodes("plain", count=1)
        await lab.exporters.start()
        with pytest.raises(UsageError, match="node nowhere has no exporter: there is no such node"):
            await lab.exporters.freeze(["nowhere"])
        with pytest.raises(UsageError, match="node plain-0 has no exporter: its kubelet aligns nothing to NUMA zones"):
            await lab.exporters.freeze(["plain-0"])
        with pytest.raises(UsageError, match="crashLoopSeconds 0 must be"):
            await lab.exporters.crash(names, loop_s=0)
        with pytest.raises(UsageError, match="exporters are at work already: stop them first"):
            await lab.exporters.start()
        with pytest.raises(UsageError, match="node nowhere has no ledger: no such node is simulated"):
            await lab.ledgers.zones("nowhere")

    passed(played(told(story)))


def test_objects_go_with_their_nodes_and_come_with_new_ones() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        await lab.exporters.start()
        await lab.client.delete(NODES, names[0])
        while names[0] in await lab.exporters.written():
            await lab.clock.sleep(0.5)
        more = await lab.nodes(msgspec.structs.replace(pool(1), name="more"))
        while more.names[0] not in await lab.exporters.written():
            await lab.clock.sleep(0.5)
        assert lab.exporters.report.notes == (f"node {names[0]} is gone: its exporter has ended",)

    passed(played(told(story)))


def test_exporters_can_be_stopped_and_started_otherwise() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        await lab.exporters.start()
        await lab.exporters.stop()
        looks = lab.exporters.report.looks
        await lab.clock.sleep(70)
        assert lab.exporters.report.looks == looks == len(names)
        await lab.exporters.start(Settings(style="nfd", update="apply"))
        assert lab.exporters.report.writes == {"apply": len(names)}

    passed(played(told(story)))


def test_in_virtual_time_there_is_no_process_beside() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        del names
        await lab.exporters.start(beside=True)

    record = played(told(story))
    assert record.verdict == Verdict.NOT_APPLICABLE
    assert "exporters cannot have a process of their own here: time is virtual; leave `beside` out" in record.message


@pytest.mark.parametrize("kubelets", ["kwok", "foreign"])
async def test_where_kubelets_cannot_be_asked_nothing_is_started(kubelets: str) -> None:
    why = {"kwok": "KWOK plays the kubelets", "foreign": "it is another's cluster"}[kubelets]
    place: Any = msgspec.defstruct("Place", ["kubelets"])(Kubelets(why_not=why))
    exporters = Exporters(place, clock=RealClock(), group=object())  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match=f"there can be no exporters of NUMA zones: {why}"):
        await exporters.start()
    with pytest.raises(NotApplicable, match=f"there are no ledgers of nodes here: {why}"):
        await Ledgers(place.kubelets).zones("n")
    await exporters.stop()


def test_a_scheduler_without_the_kind_makes_exporters_not_applicable() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        del names
        await lab.exporters.start(Settings(api_version="v1alpha1"))

    record = played(told(story))
    assert record.verdict == Verdict.NOT_APPLICABLE
    assert "NodeResourceTopology of topology.node.k8s.io/v1alpha1 is not served here" in record.message


def test_exporters_beside_an_embedded_lab_are_a_process_that_ends_with_the_trial() -> None:
    seen: list[int] = []

    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        await lab.exporters.start(Settings(interval_s=1), beside=True)
        seen.extend(child.pid for child in psutil.Process().children() if "export" in child.cmdline())
        await lab.running(await lab.submit(single(), count=4))
        await lab.exporters.freeze(names[:1])
        await lab.exporters.thaw(names[:1])
        while any([available((await lab.exporters.written())[name]) != await free(lab, name) for name in names]):
            await lab.clock.sleep(0.2)
        report = await lab.exporters.refresh()
        assert report.writes["create"] == len(names)

    passed(try_scenario(told(story)))
    assert len(seen) == 1
    assert not psutil.pid_exists(seen[0])


def test_a_process_beside_that_dies_ends_the_trial_with_its_story() -> None:
    async def story(lab: Lab, names: tuple[str, ...]) -> None:
        del names
        await lab.exporters.start(beside=True)
        [process] = [child for child in psutil.Process().children() if "export" in child.cmdline()]
        process.kill()
        await lab.clock.sleep(30)

    record = try_scenario(told(story))
    assert record.verdict == Verdict.ERROR
    assert record.message.startswith("exporters was killed by SIGKILL after ")
