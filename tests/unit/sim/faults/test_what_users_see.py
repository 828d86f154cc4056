"""Each fault as a user with kubectl would see it: simulated kubelets, our controllers, virtual time."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulated import NOT_READY, UNREACHABLE, UNSCHEDULABLE, Cluster, health_taints, taints

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS, RESOURCE_SLICES
from kubedyno.sim import marks
from kubedyno.sim.faults.fault import (
    UNREADY_MESSAGES,
    Crash,
    Flapping,
    GpuLost,
    KubeletRestart,
    NotReady,
    PodFailure,
    SlowStart,
)
from kubedyno.sim.faults.maintaining import Cordon, Drain
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection

pytestmark = pytest.mark.unit

InSimulation = Callable[[Callable[[Cluster], Awaitable[Any]]], Any]

TOLERATED_S = 300
GRACE_S = 50


def allocatable(node: Object) -> str:
    return str(node["status"]["allocatable"]["nvidia.com/gpu"])


async def running_pods(cluster: Cluster, node: str, *names: str, **fields: Any) -> None:
    for name in names:
        await cluster.add_pod(name, node, **fields)
    await cluster.until_running(*names)


def test_a_crashed_node_is_unknown_and_its_pods_wait_for_it_to_come_back(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        await cluster.until_ready("a")
        stays = [{"operator": "Exists"}]
        await running_pods(cluster, "a", "evicted")
        await running_pods(cluster, "a", "daemon", tolerations=stays)
        begun_ns = cluster.clock.wall_ns()
        await cluster.fail(Crash(), "a")
        node = await cluster.until_ready("a", "Unknown")
        assert GRACE_S - 15 <= (cluster.clock.wall_ns() - begun_ns) / NS_PER_S <= GRACE_S + 10
        ready = meta.condition(node, "Ready") or {}
        assert (ready["reason"], ready["message"]) == ("NodeStatusUnknown", "Kubelet stopped posting node status.")
        await cluster.until(NODES, lambda nodes: taints(nodes["a"]) == health_taints(UNREACHABLE))
        tainted_ns = cluster.clock.wall_ns()
        await cluster.until(PODS, lambda pods: not meta.is_condition_true(pods["daemon"], "Ready"))
        await cluster.until(PODS, lambda pods: pods["evicted"]["metadata"].get("deletionTimestamp"))
        assert (cluster.clock.wall_ns() - tainted_ns) / NS_PER_S == pytest.approx(TOLERATED_S, abs=1)
        # Nobody is there to end it: it stays, however long.
        await cluster.clock.sleep(1200)
        assert (await cluster.pod("evicted"))["status"]["phase"] == "Running"
        await cluster.recover("a")
        await cluster.until_ready("a")
        pods = await cluster.until(PODS, lambda pods: "evicted" not in pods)
        assert set(pods) == {"daemon"}
        await cluster.until_running("daemon")  # whatever the controller made of it
        await cluster.until(NODES, lambda nodes: taints(nodes["a"]) == set())
        assert meta.is_condition_true(await cluster.node("b"), "Ready")

    in_simulation(play)


def test_a_short_crash_is_not_even_noticed(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        before = await cluster.until_ready("a")
        await running_pods(cluster, "a", "pod")
        await cluster.fail(Crash(), "a", timing=Timing(for_s=GRACE_S - 15))
        await cluster.clock.sleep(60)
        after = await cluster.node("a")
        assert (
            meta.condition(after, "Ready")["lastTransitionTime"]
            == (meta.condition(before, "Ready")["lastTransitionTime"])
        )
        assert taints(after) == set()

    in_simulation(play)


def test_a_crash_that_names_its_end_is_over_by_itself(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        await running_pods(cluster, "a", "pod")
        begun_ns = cluster.clock.wall_ns()
        await cluster.injector.fail(Crash(), Selection(everything=True), Timing(for_s=120), keep=True)
        await cluster.until_ready("a", "Unknown")
        await cluster.until_ready("a")
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(120, abs=5)
        await cluster.until_running("pod")

    in_simulation(play)


def test_pods_bound_to_a_crashed_node_start_when_it_is_back(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        await cluster.fail(Crash(), "a")
        await cluster.add_pod("pod", "a")
        await cluster.clock.sleep(30)
        assert (await cluster.pod("pod"))["status"]["phase"] == "Pending"
        await cluster.recover("a")
        await cluster.until_running("pod")

    in_simulation(play)


@pytest.mark.parametrize("cause", ["network", "runtime"])
def test_a_node_that_is_not_ready_says_why_and_keeps_its_lease(in_simulation: InSimulation, cause: Any) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")  # of all nodes not being ready, the controller would make nothing
        await cluster.until_ready("a")
        await running_pods(cluster, "a", "pod", tolerations=[{"operator": "Exists"}])
        await running_pods(cluster, "a", "evicted")
        await cluster.fail(NotReady(cause=cause), "a")
        node = await cluster.until_ready("a", "False")
        ready = meta.condition(node, "Ready") or {}
        assert (ready["reason"], ready["message"]) == ("KubeletNotReady", UNREADY_MESSAGES[cause])
        await cluster.until(NODES, lambda nodes: taints(nodes["a"]) == health_taints(NOT_READY))
        await cluster.add_pod("new", "a")
        await cluster.add_pod("host", "a", hostNetwork=True)
        await cluster.clock.sleep(120)
        # The lease goes on: it is not unknown what the kubelet does.
        assert (meta.condition(await cluster.node("a"), "Ready") or {})["status"] == "False"
        phases = [(await cluster.pod(name))["status"]["phase"] for name in ("pod", "new", "host")]
        assert phases == ["Running", "Pending", "Running" if cause == "network" else "Pending"]
        evicted = await cluster.until(
            PODS, lambda pods: "evicted" not in pods or pods["evicted"]["metadata"].get("deletionTimestamp")
        )
        if cause == "network":
            await cluster.until(PODS, lambda pods: "evicted" not in pods)
        else:
            await cluster.clock.sleep(600)
            assert "evicted" in evicted
            assert (await cluster.pod("evicted"))["metadata"]["deletionTimestamp"]
        await cluster.recover("a")
        await cluster.until_ready("a")
        await cluster.until(PODS, lambda pods: "evicted" not in pods)
        await cluster.until_running("pod")

    in_simulation(play)


def test_a_flapping_node_goes_and_comes_by_its_period(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        await running_pods(cluster, "a", "pod")
        begun_ns = cluster.clock.wall_ns()
        await cluster.fail(Flapping(period_s=60, down_share=0.25), "a")
        for turn in range(3):
            await cluster.until_ready("a", "False")
            assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(60 * turn, abs=1)
            await cluster.until_ready("a")
            assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(60 * turn + 15, abs=1)
            await cluster.until_running("pod")
        await cluster.recover("a")
        await cluster.clock.sleep(120)
        assert meta.is_condition_true(await cluster.node("a"), "Ready")
        assert taints(await cluster.node("a")) == set()

    in_simulation(play)


def test_lost_gpus_leave_allocatable_and_come_back(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", gpus=8)
        await cluster.until(NODES, lambda nodes: "nvidia.com/gpu" in nodes["a"]["status"]["allocatable"])
        await running_pods(cluster, "a", "six", gpus=6)
        before = await cluster.until(RESOURCE_SLICES, lambda slices: slices)
        await cluster.fail(GpuLost(gpus=(6, 7)), "a")
        nodes = await cluster.until(NODES, lambda nodes: allocatable(nodes["a"]) == "6")
        assert nodes["a"]["status"]["capacity"]["nvidia.com/gpu"] == "8"
        slices = await cluster.until(RESOURCE_SLICES, lambda slices: slices != before and slices)
        (devices,) = (one["spec"]["devices"] for one in slices.values())
        tainted = {device["name"]: device["taints"] for device in devices if device.get("taints")}
        assert set(tainted) == {"gpu-6", "gpu-7"}
        assert {taint["effect"] for told in tainted.values() for taint in told} <= {"NoSchedule", "NoExecute"}
        # Pods that run there go on; one more finds no device that works.
        assert meta.is_condition_true(await cluster.pod("six"), "Ready")
        await cluster.add_pod("one-more", "a", gpus=1)
        pods = await cluster.until(PODS, lambda pods: pods["one-more"]["status"]["phase"] == "Failed")
        assert pods["one-more"]["status"]["reason"] == "UnexpectedAdmissionError"
        await cluster.recover("a")
        await cluster.until(NODES, lambda nodes: allocatable(nodes["a"]) == "8")
        await running_pods(cluster, "a", "two", gpus=2)

    in_simulation(play)


def test_pods_start_slowly_while_their_node_is_slow(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        asks = {"annotations": {marks.START: "2s"}}
        await cluster.fail(SlowStart(factor=3, extra="4s"), "a")
        begun_ns = cluster.clock.wall_ns()
        await running_pods(cluster, "a", "slow", metadata=asks)
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(10, abs=1)
        await cluster.recover("a")
        begun_ns = cluster.clock.wall_ns()
        await running_pods(cluster, "a", "usual", metadata=asks)
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(2, abs=1)

    in_simulation(play)


def test_pods_fail_with_their_exit_code(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a", "b")
        await cluster.until_ready("b")
        await running_pods(cluster, "a", "never", restartPolicy="Never")
        await running_pods(cluster, "b", "elsewhere", restartPolicy="Never")
        await running_pods(cluster, "a", "always")
        await cluster.fail(PodFailure(exit_code=137, after_s=20), "a")
        pods = await cluster.until(PODS, lambda pods: pods["never"]["status"]["phase"] == "Failed")
        (ended,) = pods["never"]["status"]["containerStatuses"]
        assert ended["state"]["terminated"]["exitCode"] == 137
        await cluster.until(PODS, lambda pods: pods["always"]["status"]["containerStatuses"][0]["restartCount"] >= 2)
        assert (await cluster.pod("elsewhere"))["status"]["phase"] == "Running"
        await cluster.recover("a")
        await cluster.until_running("always")
        restarts = (await cluster.pod("always"))["status"]["containerStatuses"][0]["restartCount"]
        await cluster.clock.sleep(1200)
        assert (await cluster.pod("always"))["status"]["containerStatuses"][0]["restartCount"] == restarts

    in_simulation(play)


def test_a_cordon_is_a_taint_and_leaves_pods_alone(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        await running_pods(cluster, "a", "pod")
        await cluster.fail(Cordon(), "a")
        nodes = await cluster.until(NODES, lambda nodes: taints(nodes["a"]))
        assert nodes["a"]["spec"]["unschedulable"] is True
        assert taints(nodes["a"]) == {(UNSCHEDULABLE, "NoSchedule")}
        await cluster.clock.sleep(600)
        assert meta.is_condition_true(await cluster.pod("pod"), "Ready")
        await cluster.recover("a")
        await cluster.until(NODES, lambda nodes: not taints(nodes["a"]))

    in_simulation(play)


def test_a_drained_node_is_empty_but_for_its_daemons(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        daemons = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]
        asks = {"annotations": {marks.STOP: "12s"}}
        await running_pods(cluster, "a", "first", "second", metadata=asks)
        await cluster.add_pod("daemon", "a", metadata={"ownerReferences": daemons})
        begun_ns = cluster.clock.wall_ns()
        await cluster.fail(Drain(), "a")
        assert (cluster.clock.wall_ns() - begun_ns) / NS_PER_S == pytest.approx(12, abs=2)
        assert {"first", "second"}.isdisjoint(await cluster.until(PODS, lambda _: True))
        assert (await cluster.node("a"))["spec"]["unschedulable"] is True
        assert [one.event for one in cluster.injections] == ["failed", "drained"]

    in_simulation(play)


@pytest.mark.parametrize("state", ["kept", "lost"])
def test_a_restarted_kubelet_finds_its_pods_again(in_simulation: InSimulation, state: Any) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        await cluster.until(NODES, lambda nodes: "nvidia.com/gpu" in nodes["a"]["status"]["allocatable"])
        await running_pods(cluster, "a", "pod", gpus=7)
        await running_pods(cluster, "a", "stays", gpus=1)
        before, stays = await cluster.pod("pod"), await cluster.pod("stays")
        await cluster.fail(KubeletRestart(state=state, down_s=30), "a")
        await cluster.add_pod("new", "a")
        await cluster.client.delete(PODS, "pod", namespace="default")
        await cluster.clock.sleep(25)
        assert (await cluster.pod("new"))["status"]["phase"] == "Pending"
        assert (await cluster.pod("pod"))["metadata"]["uid"] == before["metadata"]["uid"]
        await cluster.until_running("new")
        await cluster.until(PODS, lambda pods: "pod" not in pods)
        await running_pods(cluster, "a", "next", gpus=7)
        assert (await cluster.pod("stays"))["status"] == stays["status"]
        node = await cluster.node("a")
        assert meta.is_condition_true(node, "Ready")
        assert taints(node) == set()

    in_simulation(play)


def test_faults_that_nobody_can_read_stop_their_node_and_no_other(in_simulation: InSimulation) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.add_nodes("a")
        await cluster.until_ready("a")
        broken = {"metadata": {"annotations": {marks.FAULTS: "[{}]"}}}
        await cluster.client.patch(NODES, "a", broken, kind="merge")
        new = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b", **broken["metadata"]}}
        await cluster.create(new)
        await cluster.add_nodes("c")
        await cluster.until_ready("c")
        await running_pods(cluster, "c", "pod-c")
        await cluster.add_pod("pod-a", "a")
        await cluster.clock.sleep(30)
        assert (await cluster.pod("pod-a"))["status"]["phase"] == "Pending"
        await cluster.recover("a", "b")
        await cluster.until_ready("b")
        await cluster.until_running("pod-a")

    in_simulation(play)
