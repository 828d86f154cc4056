"""Kubelets that are there and wrong, as a user with kubectl and the ledger see them: virtual time."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulated import Cluster, simulated_node

from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import EVENTS, NODES, PODS
from kubedyno.sim import marks
from kubedyno.sim.exporters.viewing import view_of
from kubedyno.sim.faults.fault import Fault
from kubedyno.sim.faults.misbehaving import Misreport, SlowStatus, WrongAdmission
from kubedyno.sim.faults.misreporting import told
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.kubelet import settings
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa

pytestmark = pytest.mark.unit

InFleet = Callable[[Callable[[Cluster, Fleet], Awaitable[Any]]], Any]

ALIGNED = KubeletSettings(
    topology_manager_policy="single-numa-node",
    cpu_manager_policy="static",
    reserved_cpus=2,
    memory_manager_policy="Static",
    reserved_memory={"0": "1Gi", "1": "1Gi"},
    numa=Numa(sockets=2, threads_per_core=2),
)
TAE = "TopologyAffinityError"


async def add_numa_nodes(cluster: Cluster, *names: str) -> None:
    """Nodes with two NUMA nodes of 16 CPUs, two of which are reserved on the first."""
    for name in names:
        node = simulated_node(name)
        node["metadata"]["annotations"][marks.KUBELET] = settings.written(ALIGNED)
        await cluster.create(node)
        await cluster.until_ready(name)


async def add(cluster: Cluster, name: str, node: str, cpus: int, **fields: Any) -> None:
    asked = {"cpu": str(cpus), "memory": "1Gi"}
    container = {"name": "main", "image": "example/image", "resources": {"requests": asked, "limits": asked}}
    await cluster.add_pod(name, node, containers=[container], **fields)


async def run(cluster: Cluster, node: str, **cpus: int) -> None:
    for name, count in cpus.items():
        await add(cluster, name, node, count)
    await cluster.until_running(*cpus)


async def until_failed(cluster: Cluster, name: str) -> Object:
    pods = await cluster.until(PODS, lambda pods: pods[name]["status"].get("phase") == "Failed")
    return dict(pods[name]["status"])


def free_cpus(fleet: Fleet, node: str) -> list[int]:
    return [zone["cpu"].available for zone in fleet.nodes[node].ledger.zones().values()]


def test_a_kubelet_that_accepts_wrongly_gives_two_pods_the_same_cpus(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a", "b")
        await run(cluster, "a", one=10, two=12)
        await run(cluster, "b", three=10, four=12)
        await cluster.fail(WrongAdmission(verdict="accepts"), "a")
        await add(cluster, "late-a", "a", 8)
        await add(cluster, "late-b", "b", 8)
        assert (await until_failed(cluster, "late-b"))["reason"] == TAE
        await cluster.until_running("late-a")
        ledger = fleet.nodes["a"].ledger
        assert all(line.startswith("cpu ") for line in ledger.overlaps())
        assert len(ledger.overlaps()) >= 4
        assert fleet.nodes["b"].ledger.overlaps() == []
        # What a scheduler is told is what is charged: nothing is negative.
        assert min(free_cpus(fleet, "a")) >= 0
        await cluster.recover("a")
        await add(cluster, "later", "a", 8)
        assert (await until_failed(cluster, "later"))["reason"] == TAE
        await cluster.client.delete(PODS, "late-a", namespace="default")
        await cluster.until(PODS, lambda pods: "late-a" not in pods)
        assert ledger.overlaps() == []
        assert sorted(free_cpus(fleet, "a")) == sorted(free_cpus(fleet, "b"))

    in_fleet(play)


def test_a_full_node_takes_more_pods_while_it_accepts_wrongly(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a")
        await run(cluster, "a", one=14, two=16)
        await cluster.fail(WrongAdmission(verdict="accepts"), "a", timing=Timing(for_s=5))
        await add(cluster, "after", "a", 4)
        assert (await until_failed(cluster, "after"))["reason"] == TAE
        await cluster.fail(WrongAdmission(verdict="accepts"), "a")
        await run(cluster, "a", three=4)
        assert fleet.nodes["a"].ledger.overlaps()
        # Other checks than those for room are as ever.
        await cluster.add_pod("elsewhere", "a", nodeSelector={"place": "other"})
        assert (await until_failed(cluster, "elsewhere"))["reason"] == "NodeAffinity"

    in_fleet(play)


@pytest.mark.parametrize(("asked", "reason"), [("", TAE), ("OutOfcpu", "OutOfcpu")])
def test_a_kubelet_that_rejects_wrongly_fails_pods_for_which_there_is_room(
    in_fleet: InFleet, asked: str, reason: str
) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a")
        before = free_cpus(fleet, "a")
        await cluster.fail(WrongAdmission(verdict="rejects", reason=asked), "a")
        await add(cluster, "pod", "a", 2)
        status = await until_failed(cluster, "pod")
        message = "Resources cannot be allocated with Topology locality"
        assert (status["reason"], status["message"]) == (reason, f"Pod was rejected: {message}")
        events = await cluster.until(EVENTS, lambda events: any(event["reason"] == reason for event in events.values()))
        (event,) = (event for event in events.values() if event["reason"] == reason)
        assert event["note"] == message
        assert free_cpus(fleet, "a") == before
        assert len(fleet.nodes["a"].ledger) == 0
        await cluster.recover("a")
        await run(cluster, "a", next=2)

    in_fleet(play)


def test_a_share_of_the_pods_is_rejected(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        del fleet
        await add_numa_nodes(cluster, "a")
        await cluster.fail(WrongAdmission(verdict="rejects", share=0.5), "a")
        names = [f"pod-{number}" for number in range(30)]
        for name in names:
            await cluster.add_pod(name, "a")
        pods = await cluster.until(
            PODS, lambda pods: all(pods[name]["status"]["phase"] in {"Running", "Failed"} for name in names)
        )
        failed = [name for name in names if pods[name]["status"]["phase"] == "Failed"]
        assert 5 < len(failed) < 25
        assert {pods[name]["status"]["reason"] for name in failed} == {TAE}

    in_fleet(play)


def test_statuses_come_late_and_tell_when_it_was(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a", "b")
        await cluster.fail(SlowStatus(extra="20s"), "a")
        begun_ns = cluster.clock.wall_ns()
        works = {"annotations": {marks.DURATION: "60s"}}
        await add(cluster, "slow", "a", 2, restartPolicy="Never", metadata=works)
        await run(cluster, "b", usual=2)
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S < 2
        assert (await cluster.pod("slow"))["status"]["phase"] == "Pending"
        # The kubelet has it: only nobody hears of it.
        assert free_cpus(fleet, "a") == free_cpus(fleet, "b")
        await cluster.until_running("slow")
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(20, abs=1)
        status = (await cluster.pod("slow"))["status"]
        assert status["startTime"] <= seconds_text(begun_ns + NS_PER_S)
        assert status["containerStatuses"][0]["state"]["running"]["startedAt"] <= seconds_text(begun_ns + NS_PER_S)
        # It works for as long as ever, and its end is late as well.
        await cluster.until(PODS, lambda pods: pods["slow"]["status"]["phase"] == "Succeeded")
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(80, abs=1)

    in_fleet(play)


def test_a_refusal_comes_late_and_stays_one_though_there_is_room_meanwhile(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a")
        await run(cluster, "a", one=14, two=14)
        await cluster.fail(SlowStatus(extra="20s"), "a")
        begun_ns = cluster.clock.wall_ns()
        await add(cluster, "late", "a", 8)
        await cluster.clock.sleep(5)
        await cluster.client.delete(PODS, "one", namespace="default")
        await cluster.until(PODS, lambda pods: "one" not in pods)
        assert max(free_cpus(fleet, "a")) >= 14
        assert (await until_failed(cluster, "late"))["reason"] == TAE
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(20, abs=1)

    in_fleet(play)


def test_a_pod_that_was_refused_unheard_can_be_deleted(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a")
        before = free_cpus(fleet, "a")
        await cluster.fail(SlowStatus(extra="1h"), "a")
        await cluster.fail(WrongAdmission(verdict="rejects"), "a")
        begun_ns = cluster.clock.wall_ns()
        await add(cluster, "pod", "a", 8)
        await cluster.clock.sleep(5)
        assert (await cluster.pod("pod"))["status"]["phase"] == "Pending"
        await cluster.client.delete(PODS, "pod", namespace="default")
        await cluster.until(PODS, lambda pods: "pod" not in pods)
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S < 60
        await cluster.clock.sleep(1)
        assert free_cpus(fleet, "a") == before

    in_fleet(play)


def test_what_waits_is_written_when_the_fault_is_over(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        del fleet
        await add_numa_nodes(cluster, "a")
        await cluster.fail(SlowStatus(extra="1h"), "a")
        begun_ns = cluster.clock.wall_ns()
        await add(cluster, "slow", "a", 2)
        await add(cluster, "gone", "a", 2)
        await cluster.clock.sleep(30)
        # A pod that goes before anybody heard of it leaves nothing behind, and a new one of its name is another.
        await cluster.client.delete(PODS, "gone", namespace="default")
        await cluster.until(PODS, lambda pods: "gone" not in pods)
        await add(cluster, "gone", "a", 2)
        await cluster.clock.sleep(30)
        new_ns = cluster.clock.wall_ns()
        assert (await cluster.pod("slow"))["status"]["phase"] == "Pending"
        await cluster.recover("a")
        await cluster.until_running("slow", "gone")
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(60, abs=2)
        assert (await cluster.pod("slow"))["status"]["startTime"] <= seconds_text(begun_ns + NS_PER_S)
        assert seconds_text(begun_ns + 29 * NS_PER_S) <= (await cluster.pod("gone"))["status"]["startTime"]
        assert (await cluster.pod("gone"))["status"]["startTime"] <= seconds_text(new_ns)

    in_fleet(play)


def test_a_stale_kubelet_tells_what_was_when_the_fault_began(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a", "b")
        await run(cluster, "a", old=4)
        before = view_of(fleet.nodes["a"].ledger)
        await cluster.fail(Misreport(what="stale"), "a")
        await run(cluster, "a", new=4)
        await run(cluster, "b", other=4)
        await cluster.client.delete(PODS, "old", namespace="default")
        await cluster.until(PODS, lambda pods: "old" not in pods)
        entry = fleet.nodes["a"]
        heard = told(view_of(fleet.told_ledger("a")), entry.faults, cluster.clock.wall_ns())
        assert heard == before
        assert [pod.name for pod in view_of(entry.ledger).pods] == ["new"]
        assert fleet.told_ledger("b") is fleet.nodes["b"].ledger
        await cluster.recover("a")
        await cluster.until(NODES, lambda nodes: marks.FAULTS not in meta.annotations(nodes["a"]))
        await cluster.clock.sleep(1)
        assert fleet.told_ledger("a") is fleet.nodes["a"].ledger

    in_fleet(play)


def test_a_stale_kubelet_is_well_again_after_its_time(in_fleet: InFleet) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a")
        await cluster.fail(Misreport(what="stale"), "a", timing=Timing(for_s=30))
        await run(cluster, "a", pod=4)
        await cluster.clock.sleep(2)
        assert [pod.name for pod in view_of(fleet.told_ledger("a")).pods] == ["pod"]
        await cluster.client.delete(NODES, "a")
        await cluster.until(NODES, lambda nodes: "a" not in nodes)
        await cluster.clock.sleep(1)
        with pytest.raises(KeyError):
            fleet.told_ledger("a")

    in_fleet(play)


@pytest.mark.parametrize(
    "fault",
    [
        WrongAdmission(verdict="accepts"),
        WrongAdmission(verdict="rejects"),
        SlowStatus(extra="uniform(1s, 9s)"),
        Misreport(what="stale"),
    ],
)
def test_kubelets_that_err_at_a_rate_are_well_at_the_end(in_fleet: InFleet, fault: Fault) -> None:
    async def play(cluster: Cluster, fleet: Fleet) -> None:
        await add_numa_nodes(cluster, "a", "b")
        timing = Timing(rate_per_s=0.05, during_s=300.0)
        await cluster.fail(fault, "a", "b", timing=timing)
        assert any(one.event == "recovered" for one in cluster.injections)
        nodes = [await cluster.node(name) for name in ("a", "b")]
        assert all(marks.FAULTS not in meta.annotations(node) for node in nodes)
        await run(cluster, "a", pod=4)
        assert fleet.told_ledger("a") is fleet.nodes["a"].ledger

    in_fleet(play)
