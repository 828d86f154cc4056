"""Devices that claims ask for: which match, which are free, and pods that get them."""

from typing import Any

import pytest
from tests.unit.schedulers.reference.worlds_of_scheduling import World, bound, node, played, quota

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from kubedyno.model.workloads import DEVICE_CLASS, Workload
from kubedyno.schedulers.reference.devices import Devices, claim_facts
from kubedyno.schedulers.reference.fitting import DEVICES

pytestmark = pytest.mark.unit

DRIVER = "gpu.nvidia.com"


def device_class(name: str = DEVICE_CLASS, expression: str = f"device.driver == '{DRIVER}'") -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def device_slice(node: str, devices: list[Object], *, generation: int = 1, **spec: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{generation}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
            "devices": devices,
            **spec,
        },
    }


def device(name: str, *, memory: str = "80Gi", **more: Any) -> Object:
    return {
        "name": name,
        "attributes": {"type": {"string": "gpu"}, "index": {"int": int(name[-1])}},
        "capacity": {"memory": {"value": memory}},
        **more,
    }


def claim(name: str, *requests: Object, **status: Any) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"metadata": metadata, "spec": {"devices": {"requests": list(requests)}}, "status": status}


def request(count: int = 1, *selectors: str, name: str = "r", **more: Any) -> Object:
    written = [{"cel": {"expression": one}} for one in selectors]
    return {"name": name, "exactly": {"deviceClassName": DEVICE_CLASS, "count": count, "selectors": written, **more}}


def with_devices(*devices: Object, **spec: Any) -> Devices:
    known = Devices()
    known.put_class(DEVICE_CLASS, device_class())
    known.put_slice("a-1", device_slice("a", list(devices), **spec))
    return known


def picked(known: Devices, *requests: Object) -> list[str] | None:
    found = known.picked(claim_facts(claim("c", *requests)).requests, "a")
    return None if found is None else [name for devices in found.values() for _, _, name in devices]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([request()], ["g0"]),
        ([request(2)], ["g0", "g1"]),
        ([request(4)], None),
        ([request(1, "device.attributes['gpu.nvidia.com'].index == 2")], ["g2"]),
        ([request(2, "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('40Gi'))")], ["g0", "g1"]),
        ([request(3, "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('40Gi'))")], None),
        ([request(1, name="x"), request(2, name="y")], ["g0", "g1", "g2"]),
        ([request(2, name="x"), request(2, name="y")], None),
        # A selector that fails on a device does not match it.
        ([request(1, "device.attributes['gpu.nvidia.com'].lost == 1")], None),
        ([request(1, deviceClassName="unknown")], None),
    ],
)
def test_devices_for_a_claim(requests: list[Object], expected: list[str] | None) -> None:
    known = with_devices(device("g0"), device("g1"), device("g2", memory="40Gi"))
    assert picked(known, *requests) == expected


def test_what_others_have_is_not_free() -> None:
    known = with_devices(device("g0"), device("g1"))
    results = [{"request": "r", "driver": DRIVER, "pool": "a", "device": "g0"}]
    held = claim_facts(claim("other", request(), allocation={"devices": {"results": results}}))
    (signature,) = {one.signature for one in held.requests}
    known.know(signature)
    assert known.amounts("a") == {f"{DEVICES}{signature}": 2000}
    assert set(known.put_claim(held.key, held)) == {"a"}
    assert known.amounts("a") == {f"{DEVICES}{signature}": 1000}
    assert known.freed(held.devices) == {f"{DEVICES}{signature}": 1000}
    assert picked(known, request(2)) is None
    known.put_claim(held.key, None)
    assert picked(known, request(2)) == ["g0", "g1"]


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    known = with_devices(device("g0"), device("g1"))
    known.put_slice("a-2", device_slice("a", [device("g5")], generation=2))
    assert picked(known, request()) == ["g5"]
    known.put_slice("a-2", None)
    assert picked(known, request(2)) == ["g0", "g1"]


def test_partitions_of_one_device_share_its_counters() -> None:
    def part(name: str, amount: str) -> Object:
        used = [{"counterSet": "gpu", "counters": {"memory": {"value": amount}}}]
        return device(name, consumesCounters=used)

    counters = [{"name": "gpu", "counters": {"memory": {"value": "80Gi"}}}]
    known = with_devices(part("g0", "80Gi"), part("g1", "40Gi"), part("g2", "40Gi"), sharedCounters=counters)
    assert picked(known, request(1, "device.attributes['gpu.nvidia.com'].index > 0")) == ["g1"]
    assert picked(known, request(2, "device.attributes['gpu.nvidia.com'].index > 0")) == ["g1", "g2"]
    assert picked(known, request()) == ["g0"]
    assert picked(known, request(2)) is None


def test_tainted_devices_are_for_those_who_tolerate_them() -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    known = with_devices(device("g0", taints=[taint]), device("g1"))
    assert picked(known, request()) == ["g1"]
    assert picked(known, request(2, tolerations=[{"key": "broken", "operator": "Exists"}])) == ["g0", "g1"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"constraints": [{"matchAttribute": "x/y"}]}, "claims with constraints are not understood by this scheduler"),
        (
            {"requests": [{"name": "r", "firstAvailable": []}]},
            "request r of a claim is not understood: it must be for an exact count",
        ),
    ],
)
def test_claims_that_are_not_understood_say_so(spec: Object, said: str) -> None:
    assert claim_facts({"metadata": {"name": "c", "uid": "u"}, "spec": {"devices": spec}}).refusal == said


async def _equip(world: World, nodes: int, devices: int = 4) -> None:
    for index in range(nodes):
        await world.create(node(f"n{index:02}", gpus=0))
    await world.client.create(DEVICE_CLASSES, device_class())
    for index in range(nodes):
        made = [device(f"g{number}") for number in range(devices)]
        await world.client.create(RESOURCE_SLICES, device_slice(f"n{index:02}", made))


async def _given(world: World) -> list[tuple[str, str]]:
    found = []
    for one in (await world.client.list_all(RESOURCE_CLAIMS)).items:
        allocation = (one.get("status") or {}).get("allocation") or {}
        found += [(item["pool"], item["device"]) for item in (allocation.get("devices") or {}).get("results") or ()]
    return sorted(found)


def test_pods_get_devices_and_no_device_is_given_twice() -> None:
    async def play(world: World) -> None:
        await _equip(world, 2)
        for index in range(5):
            await world.submit(Workload(name=f"p{index}", claims=2))
        placed = await world.settled()
        assert sum(map(bool, placed.values())) == 4
        given = await _given(world)
        assert given == [(name, f"g{index}") for name in ("n00", "n01") for index in range(4)]
        for one in (await world.client.list_all(RESOURCE_CLAIMS)).items:
            status = one.get("status") or {}
            if status.get("allocation"):
                (user,) = status["reservedFor"]
                pod = await world.client.get(PODS, user["name"], namespace="default")
                assert pod["metadata"]["uid"] == user["uid"]
                (term,) = status["allocation"]["nodeSelector"]["nodeSelectorTerms"]
                assert term["matchFields"][0]["values"] == [pod["spec"]["nodeName"]]
        (waits,) = [name for name, on in placed.items() if not on]
        pod = await world.client.get(PODS, waits, namespace="default")
        (told,) = [one["message"] for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"]
        assert told == "0/2 nodes are available: 2 cannot allocate all claims."
        # Its claim goes with a pod, and then its devices are free.
        gone = next(name for name, on in placed.items() if on)
        await world.client.delete(PODS, gone, namespace="default", grace_s=0)
        placed = await world.settled(10)
        assert all(placed.values())
        assert await _given(world) == given

    played(play)


def test_a_gang_with_claims_is_whole_and_a_restart_knows_what_is_given() -> None:
    async def play(world: World) -> None:
        await _equip(world, 2)
        await world.submit(Workload(name="big", pods=3, claims=4))
        assert bound(await world.settled(), "big") == 0
        await world.submit(Workload(name="fits", pods=3, claims=2))
        assert bound(await world.settled(), "fits") == 3
        await world.stop()
        world.start()
        await world.submit(Workload(name="late", pods=2, claims=2))
        await world.submit(Workload(name="last", claims=2))
        placed = await world.settled()
        assert (bound(placed, "late"), bound(placed, "last")) == (0, 1)
        assert len(set(await _given(world))) == 8

    played(play)


def test_queues_take_devices_back_as_well() -> None:
    async def play(world: World) -> None:
        await _equip(world, 2)
        await world.queues(quota("qa", 4), quota("qb", 4))
        for index in range(4):
            await world.submit(Workload(name=f"a{index}", queue="qa", claims=2))
            await world.clock.sleep(1.1)
        assert all((await world.settled()).values())
        await world.submit(Workload(name="b", queue="qb", pods=2, claims=2))
        placed = await world.settled(10)
        assert bound(placed, "b") == 2
        assert {name for name in placed if name.startswith("a")} == {"a0-0", "a1-0"}
        assert len(set(await _given(world))) == 8

    played(play)
