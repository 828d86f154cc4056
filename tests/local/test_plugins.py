"""Real scheduler-plugins: gangs by Coscheduling, NUMA zones by NodeResourceTopologyMatch, and its settings."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.labs import lab_in_process
from tests.shapes import GPUS_PER_NODE, NODE_COUNT, WITHIN_S, Cluster, device_node, shapes_cluster

from kubedyno.client.informer import Informer
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import COSCHEDULING_POD_GROUPS
from kubedyno.lab.shapes import device, distributed, elastic, training
from kubedyno.model.settings import Evidence
from kubedyno.model.workloads import Workload

from .conftest import User

pytestmark = pytest.mark.local

QUIET_S = 4.0
"""Some backoffs of a gang: what was not tried with success by then is not."""
NRT = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"}


@pytest.fixture(scope="module", params=["local", "embedded"])
async def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    folder = tmp_path_factory.mktemp("plugins") / "lab"
    async with shapes_cluster(folder, engine=request.param, scheduler="plugins") as found:
        yield found


@pytest.fixture
async def cluster(lab: Cluster) -> AsyncIterator[Cluster]:
    yield lab
    await empty(lab)


async def empty(lab: Cluster) -> None:
    await lab.client.delete_collection(COSCHEDULING_POD_GROUPS, namespace="default")
    await lab.clear()


def gang(name: str, pods: int, gpus: int = GPUS_PER_NODE, **more: Any) -> Workload:
    return msgspec.structs.replace(distributed(workers=pods, gpus=gpus), name=name, **more)


def zoned(node: str, *cpus: int) -> Object:
    """The zones of a node, each with so many CPUs."""
    return {
        **NRT,
        "metadata": {"name": node},
        "attributes": [
            {"name": "topologyManagerPolicy", "value": "single-numa-node"},
            {"name": "topologyManagerScope", "value": "pod"},
        ],
        "zones": [
            {
                "name": f"node-{index}",
                "type": "Node",
                "resources": [
                    {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
                    for name, amount in (("cpu", str(cpu)), ("memory", "128Gi"))
                ],
            }
            for index, cpu in enumerate(cpus)
        ],
    }


def single(name: str, cpu: str) -> Workload:
    """A pod that is guaranteed its CPUs."""
    return msgspec.structs.replace(training(gpus=0), name=name, cpu=cpu, as_job=False)


async def is_unschedulable(cluster: Cluster, workload: str) -> str:
    """Why a pod of the workload waits, once it says so."""
    told: list[str] = []

    def says_so(_: Informer) -> bool:
        found = [meta.condition(pod, "PodScheduled") or {} for pod in cluster.of(workload)]
        told[:] = [one.get("message", "") for one in found if one.get("status") == "False"]
        return bool(told)

    await cluster.pods.wait_until(says_so, timeout_s=WITHIN_S, what=f"{workload} to be unschedulable")
    return " ".join(told)


async def test_a_gang_starts_whole_or_not_at_all(cluster: Cluster) -> None:
    await cluster.submit(gang("large", NODE_COUNT + 1))
    await is_unschedulable(cluster, "large")
    await asyncio.sleep(QUIET_S)
    assert cluster.placed("large") == []
    await empty(cluster)
    await cluster.submit(gang("fits", NODE_COUNT))
    await cluster.runs("fits", NODE_COUNT)
    assert len(set(cluster.placed("fits"))) == NODE_COUNT


async def test_of_21_pods_with_20_places_none_is_bound(cluster: Cluster) -> None:
    await cluster.submit(gang("taken", NODE_COUNT * 2 - 5, gpus=4))
    await cluster.runs("taken", NODE_COUNT * 2 - 5)
    await cluster.submit(gang("late", 21, gpus=1))
    await is_unschedulable(cluster, "late")
    await asyncio.sleep(QUIET_S)
    assert cluster.placed("late") == []


async def test_a_gang_has_a_least_number_and_takes_what_there_is(cluster: Cluster) -> None:
    shape = elastic(workers=NODE_COUNT + 2, least=2, gpus=GPUS_PER_NODE)
    await cluster.submit(msgspec.structs.replace(shape, name="elastic"))
    await cluster.runs("elastic", NODE_COUNT)


async def test_a_higher_priority_preempts(cluster: Cluster) -> None:
    await cluster.submit(gang("low", NODE_COUNT))
    await cluster.runs("low", NODE_COUNT)
    urgent = msgspec.structs.replace(training(gpus=GPUS_PER_NODE), name="urgent", priority="build-preemptible")
    await cluster.submit(urgent)
    await cluster.runs("urgent")
    assert list(cluster.victims.values()) == ["preemption by scheduler-plugins"]


async def test_a_pod_goes_to_the_only_node_with_room_in_one_zone(cluster: Cluster) -> None:
    zones = {f"racks-{index}": (4, 16) if index == 3 else (4, 4) for index in range(NODE_COUNT)}
    resource = await cluster.client.resource_of(zoned("any"))
    for node, cpus in zones.items():
        await cluster.client.create(resource, zoned(node, *cpus))
    await cluster.submit(single("large", "10"))
    await cluster.runs("large")
    assert cluster.placed("large") == ["racks-3"]
    await cluster.submit(single("larger", "20"))
    assert "cannot align" in await is_unschedulable(cluster, "larger")
    await cluster.client.delete_collection(resource)


async def test_devices_are_claimed(cluster: Cluster) -> None:
    async with device_node(cluster) as node:
        await cluster.submit(msgspec.structs.replace(device(count=2), name="claims"))
        await cluster.runs("claims")
        assert cluster.placed("claims") == [node]


async def test_its_settings_are_what_it_reports(lab: Cluster) -> None:
    found = {one.field: one for one in lab.lab.settings if one.component == "plugins"}
    qps = found["clientConnection.qps"]
    assert (qps.wanted, qps.value, qps.evidence) == ("5000", "5000", Evidence.REPORTED)
    assert found["profiles.0.pluginConfig.0.args.permitWaitingTimeSeconds"].value == "10"


async def test_while_it_is_paused_nothing_is_bound(cluster: Cluster) -> None:
    async with cluster.lab.scheduler.paused():
        await cluster.submit(msgspec.structs.replace(training(gpus=1), name="held"), count=2)
        await asyncio.sleep(QUIET_S / 2)
        assert [pod for pod in cluster.pods.items if pod["spec"].get("nodeName")] == []
    await cluster.runs("held-0")
    await cluster.runs("held-1")


async def test_the_cache_of_its_numa_plugin_can_be_set(tmp_path: Path) -> None:
    field = "profiles.0.pluginConfig.1.args.cacheResyncPeriodSeconds"
    async with lab_in_process(
        tmp_path / "lab", engine="embedded", scheduler="plugins", settings={"plugins": {field: "5"}}
    ) as lab:
        [found] = [one for one in lab.settings if one.field == field]
    assert (found.wanted, found.value, found.evidence) == ("5", "5", Evidence.REPORTED)


def test_a_lab_with_scheduler_plugins_works_from_the_outside(user: User) -> None:
    kubeconfig = user.up("--engine", "local", "--scheduler", "plugins", "--nodes", "2")
    overrides = '{"spec":{"schedulerName":"scheduler-plugins"}}'
    user.kubectl(kubeconfig, "run", "plain", "--image", "x", "--overrides", overrides)
    user.kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod/plain", "--timeout=30s")
    user.run("down")
