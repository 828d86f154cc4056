import itertools
from collections import Counter
from typing import Any

import pytest

from kubedyno.kinds.rules import device_slices
from kubedyno.kube.quantities import Quantity
from kubedyno.sim import hardware
from kubedyno.sim.devices import slices
from kubedyno.sim.devices.inventory import Inventory, Mig, Plain
from kubedyno.sim.devices.slices import Live

pytestmark = pytest.mark.unit

WHOLE = Inventory(model="H100", count=8, show=("dra",))
CUT = Inventory(model="H100", count=8, show=("dra",), mig=Mig(layout={"1g.10gb": 7}))
PARTS = Inventory(model="H100", count=8, show=("dra",), partitionable=True)
PLAIN = Inventory(
    plain=Plain(attributes={"gpu-type": "a", "index": 3, "fast": True}, capacity={"memory": "0.5Gi"}),
    count=300,
    show=("dra",),
    driver="cl2-gpu.kwok.x-k8s.io",
)
TAINT = {"key": "gpu.nvidia.com/gpu-lost", "effect": "NoSchedule"}


def whole_slices(inventory: Inventory, lost: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    contents = slices.contents("n", inventory, lost)
    pool = slices.pool("n", 1, len(contents))
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            **slices.new_slice(inventory.driver, index, pool, content, owner="u"),
        }
        for index, content in enumerate(contents)
    ]


def devices(inventory: Inventory, lost: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    return [device for content in slices.contents("n", inventory, lost) for device in content.get("devices", [])]


@pytest.mark.parametrize("lost", [(), (1,)])
@pytest.mark.parametrize(
    ("inventory", "sizes"),
    [
        (WHOLE, [8]),
        (CUT, [56]),
        (PARTS, [0, *[26] * 8]),
        (Inventory(model="H100", count=0, show=("dra",)), [0]),
    ],
)
def test_slices_are_as_many_and_as_large_as_the_driver_makes_them(
    inventory: Inventory, sizes: list[int], lost: tuple[int, ...]
) -> None:
    found = whole_slices(inventory, lost)
    assert [len(one["spec"].get("devices", [])) for one in found] == sizes
    assert {one["spec"]["pool"]["resourceSliceCount"] for one in found} == {len(sizes)}


@pytest.mark.parametrize("name", sorted(hardware.catalogue()))
@pytest.mark.parametrize("lost", [(), (0,)])
def test_every_slice_of_the_catalogue_is_one_that_the_server_takes(name: str, lost: tuple[int, ...]) -> None:
    gpu = hardware.gpu(name)
    inventories = [Inventory(model=name, count=gpu.server.gpus, show=("dra",))]
    if gpu.mig:
        inventories.append(Inventory(model=name, count=gpu.server.gpus, show=("dra",), partitionable=True))
        inventories += [
            Inventory(model=name, count=1, show=("dra",), mig=Mig(layout={profile.name: profile.count}))
            for profile in gpu.mig
        ]
    for inventory in inventories:
        for one in whole_slices(inventory, lost):
            one["metadata"]["name"] = one["metadata"]["generateName"] + "abcde"
            assert list(device_slices.slice_problems(one)) == []


def test_many_devices_are_spread_over_slices_of_128_or_with_taints_of_64() -> None:
    assert [len(content["devices"]) for content in slices.contents("n", PLAIN)] == [128, 128, 44]
    assert [len(content["devices"]) for content in slices.contents("n", PLAIN, [7])] == [64, 64, 64, 64, 44]


def test_plain_devices_say_what_they_are_told_to() -> None:
    assert devices(PLAIN)[2] == {
        "name": "gpu2",
        "attributes": {"gpu-type": {"string": "a"}, "index": {"int": 3}, "fast": {"bool": True}},
        "capacity": {"memory": {"value": "512Mi"}},
    }


def test_the_first_gpus_of_a_node_are_the_whole_ones() -> None:
    mixed = Inventory(model="H100", count=3, show=("dra",), mig=Mig(layout={"3g.40gb": 2}, whole=1))
    assert [device["name"] for device in devices(mixed)] == [
        "gpu-0",
        "gpu-1-mig-3g40gb-9-0",
        "gpu-1-mig-3g40gb-9-4",
        "gpu-2-mig-3g40gb-9-0",
        "gpu-2-mig-3g40gb-9-4",
    ]


def test_uuids_are_the_same_every_time_and_different_everywhere() -> None:
    found = [device["attributes"]["uuid"]["string"] for device in [*devices(WHOLE), *devices(CUT)]]
    assert found == [device["attributes"]["uuid"]["string"] for device in [*devices(WHOLE), *devices(CUT)]]
    assert len(set(found)) == 64
    parents = {device["attributes"]["parentUUID"]["string"] for device in devices(CUT)}
    assert parents == {device["attributes"]["uuid"]["string"] for device in devices(WHOLE)}


@pytest.mark.parametrize(("inventory", "tainted"), [(WHOLE, 1), (CUT, 7), (PARTS, 26)])
def test_all_that_is_of_a_lost_gpu_is_tainted(inventory: Inventory, tainted: int) -> None:
    found = devices(inventory, (3,))
    assert Counter("taints" in device for device in found)[True] == tainted
    assert {device["name"].split("-mig")[0] for device in found if device.get("taints") == [TAINT]} == {"gpu-3"}


def test_partitions_share_the_counters_of_their_gpu() -> None:
    counters, first = slices.contents("n", PARTS)[:2]
    (own,) = [one for one in counters["sharedCounters"] if one["name"] == "gpu-0-counter-set"]
    assert own["counters"]["memory"] == {"value": "80Gi"}
    assert own["counters"]["copy-engines"] == {"value": "8"}
    by_name = {device["name"]: device["consumesCounters"][0] for device in first["devices"]}
    assert by_name["gpu-0"]["counters"] == own["counters"]
    part = by_name["gpu-0-mig-3g40gb-9-4"]
    assert part["counterSet"] == "gpu-0-counter-set"
    assert {name for name in part["counters"] if name.startswith("memory-slice")} == {
        f"memory-slice-{number}" for number in range(4, 8)
    }
    assert "uuid" not in first["devices"][1]["attributes"]


@pytest.mark.parametrize("name", [gpu.name for gpu in hardware.catalogue().values() if gpu.mig])
def test_what_fits_on_a_gpu_by_its_places_fits_in_its_counters(name: str) -> None:
    gpu = hardware.gpu(name)
    total = hardware.dra_counter_set(gpu, 0)["counters"]
    parts = {device["name"]: device for device in hardware.dra_partitionable_devices(gpu, 0, uuid="GPU-1")}
    layouts = [{profile.name: profile.count} for profile in gpu.mig]
    layouts += [{first.name: 1, second.name: 1} for first, second in itertools.combinations(gpu.mig[:-1], 2)]
    for layout in layouts:
        taken: Counter[str] = Counter()
        for profile, start in hardware.placed(gpu, layout):
            device = hardware.dra_mig_device(gpu, 0, profile, start, uuid="MIG-1", parent_uuid="GPU-1")
            consumed = parts[device["name"]]["consumesCounters"][0]["counters"]
            taken.update({counter: Quantity.parse(one["value"]).to_int() for counter, one in consumed.items()})
        for counter, amount in taken.items():
            assert amount <= Quantity.parse(total[counter]["value"]).to_int(), (layout, counter)


def lives(count: int, *, generation: int = 1, owner: str = "u", digest: bytes = b"a") -> list[Live]:
    return [Live(f"{index:05x}-s", f"uid-{index}", owner, index, generation, count, digest) for index in range(count)]


def test_slices_that_are_right_need_nothing() -> None:
    assert slices.plan([b"a", b"a"], lives(2, generation=4), owner="u") is None


def test_first_slices_are_of_the_first_generation() -> None:
    found = slices.plan([b"a", b"b"], [], owner="u")
    assert found is not None
    assert (found.generation, found.create, found.update, found.delete) == (1, (0, 1), (), ())


def test_a_change_gives_all_slices_of_the_pool_a_new_generation() -> None:
    found = slices.plan([b"a", b"b"], lives(2, generation=4), owner="u")
    assert found is not None
    assert (found.generation, [index for index, _ in found.update], found.create) == (5, [0, 1], ())


def test_slices_that_are_too_many_go_and_the_rest_learns_the_new_count() -> None:
    found = slices.plan([b"a"], lives(3), owner="u")
    assert found is not None
    assert [one.index for one in found.delete] == [1, 2]
    assert (found.generation, [index for index, _ in found.update]) == (2, [0])


def test_slices_of_a_node_that_had_the_name_before_are_replaced() -> None:
    found = slices.plan([b"a"], lives(1, generation=7, owner="before"), owner="u")
    assert found is not None
    assert (found.generation, [one.owner for one in found.delete], found.create) == (8, ["before"], (0,))


def test_a_second_slice_for_one_place_goes() -> None:
    twice = [*lives(1, generation=2), Live("00000-t", "uid-t", "u", 0, 1, 1, b"a")]
    found = slices.plan([b"a"], twice, owner="u")
    assert found is not None
    assert [one.name for one in found.delete] == ["00000-t"]


def test_what_was_written_halfway_is_finished() -> None:
    halves = [*lives(2, generation=3)[:1], *lives(2, generation=2)[1:]]
    found = slices.plan([b"a", b"a"], halves, owner="u")
    assert found is not None
    assert (found.generation, [index for index, _ in found.update]) == (4, [0, 1])


@pytest.mark.parametrize(("name", "index"), [("0001f-gpu.nvidia.com-n-abcde", 31), ("kwok-n-gpu", -1), ("zzzzz-a", -1)])
def test_the_place_of_a_slice_stands_in_its_name(name: str, index: int) -> None:
    obj = {**whole_slices(WHOLE)[0]}
    obj["metadata"] = {**obj["metadata"], "name": name, "uid": "x"}
    found = slices.live(obj)
    assert (found.index, found.owner, found.count) == (index, "u", 1)


def test_a_slice_is_recognised_whenever_its_taints_were_added() -> None:
    (content,) = slices.contents("n", WHOLE, [1])
    stamped = {"devices": [dict(device) for device in content["devices"]]}
    stamped["devices"][1]["taints"] = [{**TAINT, "timeAdded": "2026-01-01T00:00:00Z"}]
    assert slices.digest(stamped) == slices.digest(content)
    assert slices.digest(stamped) != slices.digest(slices.contents("n", WHOLE)[0])


def test_a_taint_that_stays_keeps_its_time() -> None:
    (obj,) = whole_slices(WHOLE, (1,))
    obj["spec"]["devices"][1]["taints"] = [{**TAINT, "timeAdded": "2026-01-01T00:00:00Z"}]
    (content,) = slices.contents("n", WHOLE, [1, 2])
    slices.renew(obj, slices.pool("n", 2, 1), content)
    assert obj["spec"]["devices"][1]["taints"] == [{**TAINT, "timeAdded": "2026-01-01T00:00:00Z"}]
    assert obj["spec"]["devices"][2]["taints"] == [TAINT]
    assert obj["spec"]["pool"]["generation"] == 2
    slices.renew(obj, slices.pool("n", 3, 1), slices.contents("n", WHOLE)[0])
    assert not any("taints" in device for device in obj["spec"]["devices"])


def test_slices_written_by_hand_tell_their_driver_in_a_label() -> None:
    pool = slices.pool("n", 1, 1)
    bare = slices.new_slice("example.com", 0, pool, {"devices": []}, owner="u")
    labelled = slices.new_slice("example.com", 0, pool, {"devices": []}, owner="u", is_labelled=True)
    assert "labels" not in bare["metadata"]
    assert labelled["metadata"]["labels"] == {"resource.k8s.io/driver": "example.com"}
