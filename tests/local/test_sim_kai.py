"""KAI's real scheduler and binder on simulated GPU nodes: whole GPUs, partitions, fractions and claims land and run."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.simulated import simulated_node
from tests.worlds import until

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from kubedyno.lab.starting import RunningLab
from kubedyno.model import keys
from kubedyno.sim import hardware
from kubedyno.sim.devices import sharing
from kubedyno.sim.devices.identity import gpu_uuid
from kubedyno.sim.devices.inventory import UNCUT, Inventory, Mig

pytestmark = pytest.mark.local

WITHIN_S = 60.0
MIG = "nvidia.com/mig-1g.10gb"
INVENTORIES = {
    "whole": Inventory(model="H100", count=8, delay_seconds=1.0),
    "cut": Inventory(model="H100", count=2, mig=Mig(layout={"1g.10gb": 7})),
    "dra": Inventory(model="H100", count=8, show=("dra",)),
}


def node(name: str, found: Inventory) -> Object:
    mig = found.mig or UNCUT
    labels = hardware.gpu_feature_labels(found.gpu, found.count, strategy=mig.strategy, layout=mig.layout)
    return simulated_node(name, found, labels={"kubernetes.io/os": "linux", **labels})


def pod(name: str, **more: Any) -> Object:
    container = {"name": "main", "image": "simulated", "resources": more.get("resources", {})}
    spec: dict[str, Any] = {"schedulerName": "kai-scheduler", "containers": [container]}
    if "claim" in more:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": more["claim"]}]
        container["resources"] = {"claims": [{"name": "gpu"}]}
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": {"kai.scheduler/queue": "default-queue"},
        "annotations": more.get("annotations", {}),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def half(name: str) -> Object:
    # The second annotation is what KAI's webhook would add.
    return pod(name, annotations={keys.FRACTION_ANNOTATION: "0.5", "runai/shared-gpu-configmap": name})


CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "claim", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}},
}
PODS_AND_NODES = (
    (pod("whole", resources={"limits": {"nvidia.com/gpu": "2"}}), "whole"),
    (pod("cut", resources={"limits": {MIG: "1"}}), "cut"),
    (half("half-0"), "whole"),
    (half("half-1"), "whole"),
    (pod("dra", claim="claim"), "dra"),
)


@pytest.fixture(params=["builtin", "kwok"])
async def lab(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RunningLab]:
    async with lab_in_process(tmp_path / "lab", scheduler="kai", kubelet=request.param, nodes=0) as found:
        yield found


def is_running(one: Object) -> bool:
    return bool(one["status"].get("phase") == "Running")


async def test_whole_gpus_partitions_fractions_and_claims_land_and_run(lab: RunningLab) -> None:
    client = lab.client
    for name, found in INVENTORIES.items():
        await client.create(NODES, node(name, found))
    await until(client, RESOURCE_SLICES, lambda found: found, within_s=WITHIN_S)
    await until(
        client,
        NODES,
        lambda found: {"nvidia.com/gpu", MIG} <= {name for one in found for name in one["status"]["allocatable"]},
        within_s=WITHIN_S,
    )
    await client.create(RESOURCE_CLAIMS, CLAIM)
    for wanted, _ in PODS_AND_NODES:
        await client.create(PODS, wanted)
    pods = await until(client, PODS, lambda found: len(found) == 6 and all(map(is_running, found)), within_s=WITHIN_S)
    by_name = {one["metadata"]["name"]: one for one in pods}
    for wanted, place in PODS_AND_NODES:
        assert by_name[wanted["metadata"]["name"]]["spec"]["nodeName"] == place

    # Both halves are on the GPU of the one reservation, and their containers would see just that.
    (reservation,) = [one for one in pods if one["metadata"]["namespace"] == sharing.APPS[0]]
    gpu = reservation["metadata"]["annotations"][sharing.RESERVED]
    assert gpu in {gpu_uuid("whole", index) for index in range(8)}
    groups = {by_name[name]["metadata"]["labels"][keys.SHARED_GPU_LABEL] for name in ("half-0", "half-1")}
    assert groups == {reservation["metadata"]["labels"][keys.SHARED_GPU_LABEL]}
    maps = (await client.list_all(CONFIG_MAPS, namespace="default")).items
    seen = [data["NVIDIA_VISIBLE_DEVICES"] for one in maps if "NVIDIA_VISIBLE_DEVICES" in (data := one.get("data", {}))]
    assert seen == [gpu, gpu]

    claim = await client.get(RESOURCE_CLAIMS, "claim", namespace="default")
    (device,) = claim["status"]["allocation"]["devices"]["results"]
    assert (device["driver"], device["pool"]) == ("gpu.nvidia.com", "dra")
