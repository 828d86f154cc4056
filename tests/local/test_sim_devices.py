"""Devices of simulated nodes on a real control plane: what its API server takes, and what its scheduler makes of it."""

import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.simulated import simulated_node
from tests.worlds import until

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Resource, by_kind
from kubedyno.lab.starting import RunningLab
from kubedyno.sim import marks
from kubedyno.sim.devices import classes, slices
from kubedyno.sim.devices.inventory import Inventory, Mig
from kubedyno.sim.devices.versions import V1, V1BETA2, slices_of

pytestmark = pytest.mark.local

WITHIN_S = 60.0
GPU = "nvidia.com/gpu"


def node(name: str, found: Inventory) -> Object:
    return simulated_node(name, found, labels={"devices": "yes"})


def pod(name: str, *, claim: str | None = None, limits: dict[str, str] | None = None) -> Object:
    spec: dict[str, Any] = {
        "nodeSelector": {"devices": "yes"},
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "simulated", "resources": {"limits": limits or {}}}],
    }
    if claim is not None:
        spec["resourceClaims"] = [{"name": "device", "resourceClaimName": claim}]
        spec["containers"][0]["resources"]["claims"] = [{"name": "device"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def claim(name: str, device_class: str, selector: str = "", count: int = 1) -> Object:
    request: dict[str, Any] = {"deviceClassName": device_class, "count": count}
    if selector:
        request["selectors"] = [{"cel": {"expression": selector}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "device", "exactly": request}]}},
    }


def are(count: int, found: list[Object]) -> bool:
    return len(found) == count


class Bench:
    """A lab with devices, and what was made in it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.made: list[tuple[Resource, Object]] = []

    async def create(self, resource: Resource, obj: Object) -> Object:
        made = await self.client.create(resource, obj)
        self.made.append((resource, made))
        return made

    async def until(self, resource: Resource, predicate: Callable[[list[Object]], object]) -> list[Object]:
        return await until(self.client, resource, predicate, within_s=WITHIN_S)

    async def node_until(self, name: str, predicate: Callable[[Object], object]) -> None:
        await self.until(NODES, lambda found: any(one["metadata"]["name"] == name and predicate(one) for one in found))

    async def slices_until(self, name: str, predicate: Callable[[list[Object]], object]) -> list[Object]:
        def of_node(found: list[Object]) -> list[Object]:
            mine = [one for one in found if one["spec"].get("nodeName") == name]
            return sorted(mine, key=lambda one: str(one["metadata"]["name"]))

        return of_node(await self.until(RESOURCE_SLICES, lambda found: predicate(of_node(found))))

    async def running(self, *names: str) -> dict[str, Object]:
        def ran(found: list[Object]) -> set[str]:
            return {one["metadata"]["name"] for one in found if one["status"].get("phase") == "Running"}

        found = await self.until(PODS, lambda found: set(names) <= ran(found))
        return {one["metadata"]["name"]: one for one in found}

    async def allocated(self, name: str) -> list[str]:
        status = (await self.client.get(RESOURCE_CLAIMS, name, namespace="default"))["status"]
        return [result["device"] for result in status["allocation"]["devices"]["results"]]


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """A lab of our own: device classes stay when their tests are over."""
    folder = tmp_path_factory.mktemp("devices") / "lab"
    async with lab_in_process(folder, scheduler="kube-scheduler", nodes=0) as found:
        yield found


@pytest.fixture
async def bench(lab: RunningLab) -> AsyncIterator[Bench]:
    bench = Bench(lab.client)
    yield bench
    for resource, obj in reversed(bench.made):
        with contextlib.suppress(ApiError):
            await lab.client.delete(
                resource,
                obj["metadata"]["name"],
                namespace=obj["metadata"].get("namespace"),
                grace_s=0 if resource is PODS else None,
            )
    await bench.until(RESOURCE_SLICES, lambda found: not found)


async def test_the_server_takes_every_slice_as_it_is_and_keeps_it_so(bench: Bench) -> None:
    inventories = {
        "d-whole": Inventory(model="GB200", count=4, show=("dra",)),
        "d-cut": Inventory(model="H100", count=8, show=("dra",), mig=Mig(layout={"1g.10gb": 3, "3g.40gb": 1}, whole=1)),
        "d-parts": Inventory(model="B200", count=8, show=("dra",), partitionable=True),
    }
    for name, wanted in inventories.items():
        await bench.create(NODES, node(name, wanted))
    for name, count in (("d-whole", 1), ("d-cut", 1), ("d-parts", 9)):
        found = await bench.slices_until(name, functools.partial(are, count))
        assert [one["spec"]["pool"] for one in found] == [
            {"name": name, "generation": 1, "resourceSliceCount": count}
        ] * count


async def test_whole_gpus_and_partitions_are_found_by_the_real_scheduler(bench: Bench) -> None:
    await bench.create(NODES, node("d-parts", Inventory(model="H100", count=1, show=("dra",), partitionable=True)))
    await bench.slices_until("d-parts", lambda found: len(found) == 2)
    small = "device.attributes['gpu.nvidia.com'].profile == '1g.10gb'"
    large = "device.attributes['gpu.nvidia.com'].profile == '4g.40gb'"
    for name, device_class, selector, count in (
        ("small", "mig.nvidia.com", small, 3),
        ("large", "mig.nvidia.com", large, 1),
        ("whole", "gpu.nvidia.com", "", 1),
    ):
        await bench.create(RESOURCE_CLAIMS, claim(name, device_class, selector, count))
    await bench.create(PODS, pod("d-large", claim="large"))
    await bench.running("d-large")
    await bench.create(PODS, pod("d-small", claim="small"))
    await bench.running("d-small")
    devices = [*await bench.allocated("small"), *await bench.allocated("large")]
    assert len(set(devices)) == 4
    assert all(device.startswith("gpu-0-mig-") for device in devices)
    # Counters say that the whole GPU is no longer there.
    await bench.create(PODS, pod("d-whole", claim="whole"))
    refused = await bench.until(
        PODS,
        lambda found: [
            one
            for one in found
            if one["metadata"]["name"] == "d-whole"
            and any(entry.get("reason") == "Unschedulable" for entry in one["status"].get("conditions") or [])
        ],
    )
    assert refused


async def test_a_lost_gpu_is_taken_out_and_comes_back(bench: Bench) -> None:
    await bench.create(NODES, node("d-lost", Inventory(model="H100", count=2, show=("extended", "dra"))))
    await bench.node_until("d-lost", lambda one: one["status"]["allocatable"].get(GPU) == "2")
    fault = '[{"kind": "gpu-lost", "gpus": [0]}]'
    await bench.client.patch(NODES, "d-lost", {"metadata": {"annotations": {marks.FAULTS: fault}}}, kind="merge")
    await bench.node_until("d-lost", lambda one: one["status"]["allocatable"].get(GPU) == "1")
    (one,) = await bench.slices_until("d-lost", lambda found: found[0]["spec"]["pool"]["generation"] == 2)
    (taint,) = one["spec"]["devices"][0]["taints"]
    assert (taint["key"], taint["effect"]) == ("gpu.nvidia.com/gpu-lost", "NoSchedule")
    await bench.create(RESOURCE_CLAIMS, claim("healthy", "gpu.nvidia.com"))
    await bench.create(PODS, pod("d-claimer", claim="healthy"))
    await bench.running("d-claimer")
    assert await bench.allocated("healthy") == ["gpu-1"]
    await bench.client.patch(NODES, "d-lost", {"metadata": {"annotations": {marks.FAULTS: None}}}, kind="merge")
    await bench.node_until("d-lost", lambda one: one["status"]["allocatable"].get(GPU) == "2")
    await bench.slices_until("d-lost", lambda found: found[0]["spec"]["pool"]["generation"] == 3)


async def test_pods_that_ask_for_gpus_by_number_get_dra_devices_where_no_plugin_is(bench: Bench) -> None:
    await bench.create(NODES, node("d-dra", Inventory(model="H100", count=8, show=("dra",))))
    await bench.slices_until("d-dra", lambda found: found)
    await bench.create(PODS, pod("d-number", limits={GPU: "2"}))
    pods = await bench.running("d-number")
    status = pods["d-number"]["status"]["extendedResourceClaimStatus"]
    assert len(await bench.allocated(status["resourceClaimName"])) == 2


@pytest.mark.parametrize("version", [V1, V1BETA2])
@pytest.mark.parametrize("partitionable", [False, True])
async def test_both_versions_take_slices_and_classes_alike(
    lab: RunningLab, version: str, *, partitionable: bool
) -> None:
    found = Inventory(model="H100", count=8, show=("dra",), partitionable=partitionable)
    wanted = slices.contents("d-n", found, [1])
    for index, content in enumerate(wanted):
        new = slices.new_slice(found.driver, index, slices.pool("d-n", 1, len(wanted)), content, owner="u")
        answer = await lab.client.create(
            slices_of(version), {"apiVersion": version, "kind": "ResourceSlice", **new}, dry_run=True
        )
        assert slices.digest(answer["spec"]) == slices.digest(content)
    for obj in classes.device_classes(version):
        obj["metadata"]["name"] = f"d-{obj['metadata']['name']}"
        answer = await lab.client.create(by_kind(version, "DeviceClass"), obj, dry_run=True)
        assert answer["spec"] == obj["spec"]
