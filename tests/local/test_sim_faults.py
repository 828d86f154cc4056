"""Faults of simulated nodes before the real controllers: what a user of kubectl sees."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.simulated import NOT_READY, UNREACHABLE, Cluster, health_taints, simulated_node, taints

from kubedyno.kit.clock import NS_PER_S, RealClock, parse_rfc3339_ns
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DAEMON_SETS, NODES, POD_DISRUPTION_BUDGETS, PODS, RESOURCE_SLICES
from kubedyno.sim import marks
from kubedyno.sim.faults.fault import UNREADY_MESSAGES, Crash, GpuLost, KubeletRestart, NotReady
from kubedyno.sim.faults.maintaining import Drain
from kubedyno.sim.faults.misbehaving import SlowStatus, WrongAdmission
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection
from kubedyno.sim.kubelet import settings
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa

pytestmark = pytest.mark.local

WITHIN_S = 60.0
NAMES = ("a", "b", "c", "d", "e", "f")
PATIENCE: list[Object] = [
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
    for key in (UNREACHABLE, NOT_READY)
]
"""Tolerations of a pod that is evicted soon."""
EVERYTHING: list[Object] = [{"operator": "Exists"}]


def allocatable(node: Object) -> str | None:
    found: str | None = node["status"]["allocatable"].get("nvidia.com/gpu")
    return found


@pytest.fixture(scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """A real control plane that loses patience with silent nodes within seconds."""
    folder = tmp_path_factory.mktemp("faults") / "lab"
    async with lab_in_process(folder, kubelet="builtin", heartbeats="4s") as lab:
        found = Cluster(lab.client, RealClock(), within_s=WITHIN_S)
        await found.add_nodes(*NAMES)
        await found.until(NODES, lambda nodes: [allocatable(nodes[name]) for name in NAMES] == ["8"] * len(NAMES))
        yield found


async def test_a_crashed_node_is_unknown_and_its_pods_wait_for_it_to_come_back(cluster: Cluster) -> None:
    await cluster.add_pod("crash-evicted", "a", tolerations=PATIENCE)
    await cluster.add_pod("crash-stays", "a", tolerations=EVERYTHING)
    await cluster.until_running("crash-evicted", "crash-stays")
    await cluster.fail(Crash(), "a")
    node = await cluster.until_ready("a", "Unknown")
    ready = meta.condition(node, "Ready") or {}
    assert (ready["reason"], ready["message"]) == ("NodeStatusUnknown", "Kubelet stopped posting node status.")
    await cluster.until(NODES, lambda nodes: taints(nodes["a"]) == health_taints(UNREACHABLE))
    pods = await cluster.until(
        PODS,
        lambda pods: (
            pods["crash-evicted"]["metadata"].get("deletionTimestamp")
            and not meta.is_condition_true(pods["crash-stays"], "Ready")
        ),
    )
    disruption = meta.condition(pods["crash-evicted"], "DisruptionTarget") or {}
    assert disruption["reason"] == "DeletionByTaintManager"
    # As if by kubectl: only force ends a pod whose node is silent.
    await cluster.add_pod("crash-late", "a", tolerations=EVERYTHING)
    await asyncio.sleep(3)
    assert (await cluster.pod("crash-evicted"))["status"]["phase"] == "Running"
    assert (await cluster.pod("crash-late"))["status"]["phase"] == "Pending"
    await cluster.recover("a")
    await cluster.until_ready("a")
    await cluster.until(PODS, lambda pods: "crash-evicted" not in pods)
    await cluster.until_running("crash-stays", "crash-late")
    await cluster.until(NODES, lambda nodes: taints(nodes["a"]) == set())


@pytest.mark.parametrize(("name", "cause"), [("b", "network"), ("c", "runtime")])
async def test_a_node_that_is_not_ready_says_why(cluster: Cluster, name: str, cause: Any) -> None:
    stays, evicted = f"{cause}-stays", f"{cause}-evicted"
    await cluster.add_pod(stays, name, tolerations=EVERYTHING)
    await cluster.add_pod(evicted, name, tolerations=PATIENCE)
    await cluster.until_running(stays, evicted)
    await cluster.fail(NotReady(cause=cause), name)
    node = await cluster.until_ready(name, "False")
    ready = meta.condition(node, "Ready") or {}
    assert (ready["reason"], ready["message"]) == ("KubeletNotReady", UNREADY_MESSAGES[cause])
    await cluster.until(NODES, lambda nodes: taints(nodes[name]) == health_taints(NOT_READY))
    await cluster.until(PODS, lambda pods: evicted not in pods or pods[evicted]["metadata"].get("deletionTimestamp"))
    if cause == "network":
        await cluster.until(PODS, lambda pods: evicted not in pods)
    else:
        await asyncio.sleep(3)
        assert (await cluster.pod(evicted))["metadata"]["deletionTimestamp"]
    await cluster.recover(name)
    await cluster.until_ready(name)
    await cluster.until(PODS, lambda pods: evicted not in pods)
    await cluster.until_running(stays)
    await cluster.until(NODES, lambda nodes: taints(nodes[name]) == set())


async def test_lost_gpus_leave_allocatable_and_come_back(cluster: Cluster) -> None:
    await cluster.add_pod("gpu-six", "d", gpus=6)
    await cluster.until_running("gpu-six")
    await cluster.fail(GpuLost(gpus=(6, 7)), "d")
    nodes = await cluster.until(NODES, lambda nodes: allocatable(nodes["d"]) == "6")
    assert nodes["d"]["status"]["capacity"]["nvidia.com/gpu"] == "8"

    def tainted(slices: dict[str, Object]) -> list[str]:
        ours = (one["spec"] for one in slices.values() if one["spec"].get("nodeName") == "d")
        return sorted(device["name"] for spec in ours for device in spec["devices"] if device.get("taints"))

    await cluster.until(RESOURCE_SLICES, lambda slices: tainted(slices) == ["gpu-6", "gpu-7"])
    await cluster.add_pod("gpu-one", "d", gpus=1)
    pods = await cluster.until(PODS, lambda pods: pods["gpu-one"]["status"]["phase"] == "Failed")
    assert pods["gpu-one"]["status"]["reason"] == "UnexpectedAdmissionError"
    assert meta.is_condition_true(pods["gpu-six"], "Ready")
    await cluster.recover("d")
    await cluster.until(NODES, lambda nodes: allocatable(nodes["d"]) == "8")
    await cluster.until(RESOURCE_SLICES, lambda slices: tainted(slices) == [])
    await cluster.add_pod("gpu-two", "d", gpus=2)
    await cluster.until_running("gpu-two")


async def test_a_drain_asks_the_disruption_budget_and_leaves_daemons(cluster: Cluster) -> None:
    labels = {"labels": {"app": "drained"}}
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "drained"}}}
    metadata = {"name": "drain", "namespace": "default"}
    await cluster.create(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget}
    )
    daemon_set = {
        "selector": {"matchLabels": {"app": "daemon"}},
        "updateStrategy": {"type": "OnDelete"},
        "template": {
            "metadata": {"labels": {"app": "daemon"}},
            "spec": {"containers": [{"name": "main", "image": "example/image"}]},
        },
    }
    daemon = await cluster.create(
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "daemon"}, "spec": daemon_set}
    )
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "daemon",
        "uid": daemon["metadata"]["uid"],
        "controller": True,
    }
    owned = {"labels": {"app": "daemon"}, "ownerReferences": [owner]}
    await cluster.add_pod("drain-daemon", "e", metadata=owned)
    asks = {**labels, "annotations": {marks.STOP: "1s"}}
    for name in ("drain-first", "drain-second"):
        await cluster.add_pod(name, "e", metadata=asks)
    await cluster.until_running("drain-first", "drain-second", "drain-daemon")
    await cluster.until(
        POD_DISRUPTION_BUDGETS, lambda found: found["drain"].get("status", {}).get("disruptionsAllowed") == 1
    )
    draining = asyncio.ensure_future(cluster.injector.fail(Drain(), Selection(names=("e",))))
    left = {"drain-first", "drain-second"}
    await cluster.until(PODS, lambda pods: len(left & set(pods)) == 1)
    assert not draining.done()
    await cluster.add_pod("drain-elsewhere", "f", metadata=labels)
    await draining
    pods = await cluster.until(PODS, lambda pods: not left & set(pods))
    assert {"drain-elsewhere", "drain-daemon"} <= set(pods)
    node = await cluster.node("e")
    assert node["spec"]["unschedulable"] is True
    assert ("node.kubernetes.io/unschedulable", "NoSchedule") in taints(node)
    await cluster.recover("e")
    await cluster.until(NODES, lambda nodes: taints(nodes["e"]) == set())
    await cluster.client.delete(DAEMON_SETS, "daemon", namespace="default")


@pytest.mark.parametrize("state", ["kept", "lost"])
async def test_a_restarted_kubelet_finds_its_pods_again(cluster: Cluster, state: Any) -> None:
    stays, goes, new = (f"restart-{state}-{what}" for what in ("stays", "goes", "new"))
    await cluster.add_pod(stays, "f", gpus=1)
    await cluster.add_pod(goes, "f", gpus=7, terminationGracePeriodSeconds=1)
    await cluster.until_running(stays, goes)
    before = await cluster.pod(stays)
    await cluster.injector.fail(KubeletRestart(state=state), Selection(names=("f",)), Timing(for_s=3))
    await asyncio.sleep(1)  # nothing shows that a kubelet is gone
    await cluster.client.delete(PODS, goes, namespace="default")
    await cluster.add_pod(new, "f")
    assert (await cluster.pod(goes))["metadata"]["deletionTimestamp"]
    await cluster.until(PODS, lambda pods: goes not in pods)
    await cluster.until_running(new)
    await cluster.until_ready("f")
    await cluster.until_running(stays)
    after = await cluster.pod(stays)
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    await cluster.client.delete(PODS, stays, namespace="default", grace_s=0)


def aligned_node(name: str) -> Object:
    """Two NUMA nodes of 16 CPUs."""
    node = simulated_node(name)
    node["metadata"]["annotations"][marks.KUBELET] = settings.written(
        KubeletSettings(
            topology_manager_policy="single-numa-node",
            cpu_manager_policy="static",
            reserved_cpus=2,
            numa=Numa(sockets=2, threads_per_core=2),
        )
    )
    return node


def cpus(count: int) -> list[Object]:
    asked = {"cpu": str(count), "memory": "1Gi"}
    return [{"name": "main", "image": "example/image", "resources": {"requests": asked, "limits": asked}}]


async def test_pods_are_taken_and_refused_wrongly(cluster: Cluster) -> None:
    await cluster.create(aligned_node("numa"))
    await cluster.until_ready("numa")
    for name in ("wrong-1", "wrong-2"):
        await cluster.add_pod(name, "numa", containers=cpus(12))
    await cluster.until_running("wrong-1", "wrong-2")
    for fault, name, reason in (
        (None, "wrong-3", "TopologyAffinityError"),
        (WrongAdmission(verdict="accepts"), "wrong-4", None),
        (WrongAdmission(verdict="rejects", reason="OutOfcpu"), "wrong-5", "OutOfcpu"),
    ):
        if fault is not None:
            await cluster.fail(fault, "numa")
            await asyncio.sleep(1)  # news of nodes and of pods come by different ways
        await cluster.add_pod(name, "numa", containers=cpus(1 if name == "wrong-5" else 6))
        pods = await cluster.until(PODS, lambda pods, name=name: pods[name]["status"]["phase"] != "Pending")
        assert pods[name]["status"].get("reason") == reason
        if fault is not None:
            await cluster.recover("numa")
            await cluster.until(NODES, lambda nodes: marks.FAULTS not in meta.annotations(nodes["numa"]))


async def test_statuses_come_late_and_tell_when_it_was(cluster: Cluster) -> None:
    await cluster.create(aligned_node("late"))
    await cluster.until_ready("late")
    await cluster.fail(SlowStatus(extra="6s"), "late")
    await asyncio.sleep(1)
    made = await cluster.add_pod("late-pod", "late", containers=cpus(2))
    await asyncio.sleep(2)
    assert (await cluster.pod("late-pod"))["status"]["phase"] == "Pending"
    await cluster.until_running("late-pod")
    pod = await cluster.pod("late-pod")
    created_ns = parse_rfc3339_ns(made["metadata"]["creationTimestamp"])
    assert parse_rfc3339_ns(pod["status"]["startTime"]) - created_ns <= 3 * NS_PER_S
    written = next(one for one in pod["metadata"]["managedFields"] if one.get("subresource") == "status")
    assert parse_rfc3339_ns(written["time"]) - created_ns >= 5 * NS_PER_S
