"""Hollow nodes: real kubelets of kubemark beside a real control plane. What they refuse is what ours refuse."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kubedyno.client.informer import Informer
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab

from .conftest import (
    User,
    component_pids,
    interrupt_when,
    lab_in_process,
    listens,
    processes_below,
    wait_gone,
)

pytestmark = [pytest.mark.local, pytest.mark.long]

NAMESPACE = "hollow"
WITHIN_S = 90.0

# On a node of 32 CPUs, 256Gi and 8 GPUs. Extended resources that it does not know are none of a kubelet's business.
JUDGED: dict[str, dict[str, Any]] = {
    "cpu": {"limits": {"cpu": "40"}},
    "memory": {"limits": {"memory": "400Gi"}},
    "gpus": {"limits": {"nvidia.com/gpu": "9"}},
    "unknown": {"limits": {"example.com/nothing": "1"}},
    "selector": {"nodeSelector": {"no": "such"}},
}
# Guaranteed, and more than half of everything: no NUMA node of two would have it.
WIDE: dict[str, dict[str, Any]] = {"wide": {"limits": {"cpu": "30", "memory": "200Gi", "nvidia.com/gpu": "7"}}}


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    folder = tmp_path_factory.mktemp("hollow") / "lab"
    async with lab_in_process(folder, scheduler="kube-scheduler", kubelet="kubemark", nodes=3) as lab:
        await installing.ensure_namespace(lab.client, NAMESPACE)
        yield lab


def pod(name: str, *, node: str = "", limits: dict[str, str] | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"limits": limits or {}, "requests": limits or {}}}
    placed = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"restartPolicy": "Never", "containers": [container], **placed, **spec},
    }


async def played(lab: RunningLab, pods: dict[str, dict[str, Any]], *, node: str) -> dict[str, tuple[str, str, str]]:
    """What became of pods that somebody put on a node: phase, reason and message of each."""
    async with Informer(lab.client, PODS, namespace=NAMESPACE) as seen:
        for name, fields in pods.items():
            await lab.client.create(PODS, pod(name, node=node, **fields))

        def states() -> dict[str, tuple[str, str, str]]:
            found = {entry["metadata"]["name"]: entry.get("status", {}) for entry in seen.items}
            return {
                name: (status["phase"], status.get("reason", ""), status.get("message", ""))
                for name in pods
                if (status := found.get(name)) and status.get("phase") in {"Running", "Failed"}
            }

        await seen.wait_until(lambda _: len(states()) == len(pods), timeout_s=WITHIN_S, what="the pods to be judged")
        outcome = states()
        await lab.client.delete_collection(PODS, namespace=NAMESPACE, grace_s=0)
        await seen.wait_until(lambda found: not found.items, timeout_s=WITHIN_S, what="the pods to be gone")
    return outcome


async def test_nodes_are_played_by_real_kubelets_that_show_what_the_pool_has(lab: RunningLab) -> None:
    nodes = (await lab.client.list_all(NODES)).items
    assert [node["metadata"]["name"] for node in nodes] == ["default-0", "default-1", "default-2"]
    for node in nodes:
        assert meta.is_condition_true(node, "Ready")
        assert node["status"]["nodeInfo"]["containerRuntimeVersion"] == "fakeRuntime://0.1.0"
        shown = {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "110", "ephemeral-storage": "0"}
        assert node["status"]["allocatable"] == node["status"]["capacity"] == shown
    hollow = {name: one.pid for name, one in lab.supervisor.processes.items() if name.startswith("hollow-")}
    assert set(hollow) == {"hollow-default-0", "hollow-default-1", "hollow-default-2"}
    for pid in hollow.values():
        listening = [one for one in psutil.Process(pid).net_connections("inet") if one.status == psutil.CONN_LISTEN]
        assert {one.laddr.ip for one in listening} == {"127.0.0.1"}


async def test_scheduled_pods_run_and_go_when_they_are_deleted(lab: RunningLab) -> None:
    async with Informer(lab.client, PODS, namespace=NAMESPACE) as pods:
        for index in range(6):
            await lab.client.create(PODS, pod(f"p-{index}", limits={"nvidia.com/gpu": "4"}))
        await pods.wait_until(
            lambda found: [one.get("status", {}).get("phase") for one in found.items] == ["Running"] * 6,
            timeout_s=WITHIN_S,
            what="six pods to run",
        )
        assert {one["spec"]["nodeName"] for one in pods.items} == {"default-0", "default-1", "default-2"}
        for index in range(6):
            await lab.client.delete(PODS, f"p-{index}", namespace=NAMESPACE)
        await pods.wait_until(lambda found: not found.items, timeout_s=WITHIN_S, what="the pods to be gone")


async def test_what_does_not_fit_is_refused_in_the_words_of_our_own_kubelets(
    lab: RunningLab, shared_lab: RunningLab
) -> None:
    real = await played(lab, JUDGED, node="default-0")
    await installing.ensure_namespace(shared_lab.client, NAMESPACE)
    ours = await played(shared_lab, JUDGED, node="default-0")
    assert {name: (phase, reason) for name, (phase, reason, _) in real.items()} == {
        "cpu": ("Failed", "OutOfcpu"),
        "memory": ("Failed", "OutOfmemory"),
        "gpus": ("Failed", "OutOfnvidia.com/gpu"),
        "unknown": ("Running", ""),
        "selector": ("Failed", "NodeAffinity"),
    }
    assert ours == real


async def test_no_topology_manager_is_in_the_way(lab: RunningLab) -> None:
    outcome = await played(lab, WIDE, node="default-1")
    assert outcome == {"wide": ("Running", "", "")}


async def test_a_process_ends_with_its_node(lab: RunningLab) -> None:
    process = lab.supervisor.processes["hollow-default-2"]
    await lab.client.delete(NODES, "default-2")
    async with asyncio.timeout(WITHIN_S):
        await process.wait()
    assert "hollow-default-2" not in lab.supervisor.processes


def test_nothing_is_left_of_a_lab_that_is_taken_down(user: User) -> None:
    before = _strays()
    user.up("--engine=local", "--scheduler=kube-scheduler", "--kubelet=kubemark", "--nodes=3")
    status = user.status()
    hollow = [one for one in status["components"] if one["program"] == "kubemark"]
    assert sorted(one["name"] for one in hollow) == ["hollow-default-0", "hollow-default-1", "hollow-default-2"]
    assert {one["version"] for one in hollow} == {"v1.36.3"}
    user.run("down")
    assert wait_gone(component_pids(status)) == []
    assert not any(listens(one["ports"]["kubelet"]) for one in hollow)
    assert _strays() == before
    assert not list((user.home / "state" / "kubedyno" / "labs").glob("*/hollow-*"))


def test_ctrl_c_in_a_run_ends_the_hollow_nodes_too(user: User) -> None:
    before = _strays()
    run = user.start("run", "hello", "--engine=local", "--kubelet=kubemark", "-p", "nodes=12", "--json")
    labs = user.home / "state" / "kubedyno" / "runs"
    interrupt_when(run, lambda: any("kubemark" in line for line in processes_below(labs)))
    assert run.returncode == 130
    assert processes_below(user.home) == []
    assert _strays() == before


def _strays() -> set[Path]:
    """What hollow nodes leave in /tmp when they are not told otherwise."""
    return {path for pattern in ("hollow-kubelet.*", "kubelet_remote_*") for path in Path("/tmp").glob(pattern)}  # noqa: S108 - kubemark's own places
