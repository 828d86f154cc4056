from collections.abc import Callable
from typing import Any

import pytest

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DEVICE_CLASSES, NODES, PODS, RESOURCE_SLICES
from kubedyno.sim import marks
from kubedyno.sim.devices import inventory, sharing
from kubedyno.sim.devices.identity import gpu_uuid
from kubedyno.sim.devices.inventory import Inventory, Mig
from kubedyno.sim.devices.occupying import Holder
from kubedyno.sim.devices.versions import V1BETA2

pytestmark = pytest.mark.unit

World = Any
GPU = "nvidia.com/gpu"
BOTH = Inventory(model="H100", count=8, show=("extended", "dra"))
LOST = '[{"kind": "gpu-lost", "gpus": [3]}]'


def capacity(node: Object, name: str = GPU) -> str | None:
    found: str | None = node["status"]["capacity"].get(name)
    return found


def allocatable(node: Object, name: str = GPU) -> str | None:
    found: str | None = node["status"]["allocatable"].get(name)
    return found


def generation(one: Object) -> int:
    found: int = one["spec"]["pool"]["generation"]
    return found


def test_devices_appear_on_a_ready_node(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        created = await world.node("n", BOTH)
        node = await world.node_until("n", lambda node: allocatable(node) == "8")
        assert capacity(node) == "8"
        (one,) = await world.slices_until(lambda found: found)
        assert one["metadata"]["name"].startswith("00000-gpu.nvidia.com-n-")
        assert one["metadata"]["ownerReferences"] == [
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": created["metadata"]["uid"], "controller": True}
        ]
        assert one["spec"]["pool"] == {"name": "n", "generation": 1, "resourceSliceCount": 1}
        assert (one["spec"]["nodeName"], len(one["spec"]["devices"])) == ("n", 8)
        classes = await world.until(DEVICE_CLASSES, lambda found: len(found) == 2)
        assert {item["metadata"]["name"] for item in classes} == {"gpu.nvidia.com", "mig.nvidia.com"}

    world(play)


def test_devices_appear_with_the_plugins_delay_after_the_node_is_ready(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> float:
        await world.node("n", Inventory(model="H100", count=8, delay_seconds=30.0), ready=False)
        await world.clock.sleep(100)
        assert capacity(await world.client.get(NODES, "n")) is None
        await world.ready("n")
        await world.node_until("n", lambda node: capacity(node) == "8")
        passed: float = world.passed_s()
        return passed

    assert 129 <= world(play) <= 131


def test_nodes_without_devices_are_left_alone(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        before = await world.node("plain")
        await world.node("n", BOTH)
        await world.slices_until(lambda found: found)
        now = await world.client.get(NODES, "plain")
        assert now["status"]["capacity"] == before["status"]["capacity"]

    world(play)


def test_gpus_that_are_a_number_only_are_lost_and_come_back(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", gpus=8)
        await world.annotate("n", **{marks.FAULTS: '[{"kind": "gpu-lost", "gpus": [0, 7, 8]}]'})
        node = await world.node_until("n", lambda node: allocatable(node) == "6")
        assert capacity(node) == "8"
        await world.annotate("n", **{marks.FAULTS: None})
        await world.node_until("n", lambda node: allocatable(node) == "8")
        await world.annotate(
            "n", **{marks.FAULTS: f'[{{"kind": "gpu-lost", "gpus": [1], "until": "{world.stamp(60)}"}}]'}
        )
        await world.node_until("n", lambda node: allocatable(node) == "7")
        await world.node_until("n", lambda node: allocatable(node) == "8")

    world(play)


def test_what_others_say_of_gpus_without_a_fault_stays(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", gpus=8)
        fewer = {"status": {"allocatable": {GPU: "5"}}}
        await world.client.patch(NODES, "n", fewer, kind="merge", subresource="status")
        await world.annotate("n", **{marks.FAULTS: '[{"kind": "slow-start", "factor": 2}]'})
        await world.clock.sleep(60)
        assert allocatable(await world.client.get(NODES, "n")) == "5"

    world(play)


def test_a_lost_gpu_lowers_allocatable_and_taints_its_device_until_it_is_back(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        await world.slices_until(lambda found: found)
        await world.annotate("n", **{marks.FAULTS: LOST})
        node = await world.node_until("n", lambda node: allocatable(node) == "7")
        assert capacity(node) == "8"
        (one,) = await world.slices_until(lambda found: generation(found[0]) == 2)
        (tainted,) = [device for device in one["spec"]["devices"] if "taints" in device]
        assert tainted["name"] == "gpu-3"
        assert (tainted["taints"][0]["key"], tainted["taints"][0]["effect"]) == (
            "gpu.nvidia.com/gpu-lost",
            "NoSchedule",
        )
        await world.annotate("n", **{marks.FAULTS: None})
        await world.node_until("n", lambda node: allocatable(node) == "8")
        (one,) = await world.slices_until(lambda found: generation(found[0]) == 3)
        assert not [device for device in one["spec"]["devices"] if "taints" in device]

    world(play)


def test_a_fault_that_ends_by_itself_is_over_without_anybody_writing(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> float:
        await world.node("n", BOTH)
        await world.node_until("n", lambda node: allocatable(node) == "8")
        began_s, stamp = world.passed_s(), world.stamp(60)
        await world.annotate("n", **{marks.FAULTS: f'[{{"kind": "gpu-lost", "gpus": [0], "until": "{stamp}"}}]'})
        await world.node_until("n", lambda node: allocatable(node) == "7")
        await world.node_until("n", lambda node: allocatable(node) == "8")
        lasted: float = world.passed_s() - began_s
        return lasted

    assert 58 <= world(play) <= 61


def test_a_node_that_is_down_publishes_nothing_until_it_is_back(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        await world.slices_until(lambda found: found)
        await world.annotate("n", **{marks.FAULTS: '[{"kind": "crash"}, {"kind": "gpu-lost", "gpus": [3]}]'})
        await world.clock.sleep(60)
        assert allocatable(await world.client.get(NODES, "n")) == "8"
        await world.annotate("n", **{marks.FAULTS: LOST})
        await world.node_until("n", lambda node: allocatable(node) == "7")

    world(play)


def test_a_changed_inventory_changes_what_is_shown_in_place(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        (before,) = await world.slices_until(lambda found: found)
        cut = Inventory(model="H100", count=8, show=("extended", "dra"), mig=Mig(layout={"1g.10gb": 7}))
        await world.annotate("n", **{marks.DEVICES: inventory.written(cut)})
        node = await world.node_until("n", lambda node: capacity(node, "nvidia.com/mig-1g.10gb") == "56")
        assert capacity(node) is None
        (after,) = await world.slices_until(lambda found: generation(found[0]) == 2)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert len(after["spec"]["devices"]) == 56

    world(play)


def test_partitions_come_in_a_slice_per_gpu_and_one_for_the_counters(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", Inventory(model="H100", count=8, show=("dra",), partitionable=True))
        found = await world.slices_until(lambda found: len(found) == 9)
        assert {one["spec"]["pool"]["resourceSliceCount"] for one in found} == {9}
        assert [len(one["spec"].get("sharedCounters") or []) for one in found] == [8, *[0] * 8]
        await world.annotate("n", **{marks.DEVICES: inventory.written(BOTH)})
        (one,) = await world.slices_until(lambda found: len(found) == 1 and generation(found[0]) == 2)
        assert len(one["spec"]["devices"]) == 8

    world(play)


def test_slices_go_when_they_are_no_longer_shown(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        await world.node("m", BOTH)
        await world.slices_until(lambda found: len(found) == 2)
        await world.annotate("n", **{marks.DEVICES: inventory.written(Inventory(model="H100", count=8))})
        await world.annotate("m", **{marks.DEVICES: None})
        await world.slices_until(lambda found: not found)

    world(play)


def test_slices_go_with_their_node_and_come_again_with_a_new_one(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        (before,) = await world.slices_until(lambda found: found)
        await world.client.delete(NODES, "n")
        await world.slices_until(lambda found: not found)
        again = await world.node("n", BOTH)
        (after,) = await world.slices_until(
            lambda found: [one for one in found if one["metadata"]["uid"] != before["metadata"]["uid"]]
        )
        assert after["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]

    world(play)


def test_what_somebody_else_does_to_a_slice_is_put_right(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        (one,) = await world.slices_until(lambda found: found)
        await world.client.delete(RESOURCE_SLICES, one["metadata"]["name"])
        (one,) = await world.slices_until(lambda found: found and found[0]["metadata"]["uid"] != one["metadata"]["uid"])
        one["spec"]["devices"] = []
        await world.client.update(RESOURCE_SLICES, one)
        await world.slices_until(lambda found: len(found[0]["spec"].get("devices") or []) == 8)

    world(play)


def test_an_annotation_that_cannot_be_read_changes_nothing(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        await world.node_until("n", lambda node: capacity(node) == "8")
        await world.annotate("n", **{marks.DEVICES: '{"model": "H1000", "count": 4}'})
        await world.clock.sleep(10)
        assert capacity(await world.client.get(NODES, "n")) == "8"

    world(play)


def test_all_is_published_in_spite_of_lost_requests_and_answers(world: Callable[..., Any]) -> None:
    names = [f"n{index}" for index in range(30)]

    async def play(world: World, transport: Any) -> None:
        for name in names:
            await world.node(name, BOTH)
        await world.until(NODES, lambda found: all(capacity(node) == "8" for node in found))
        transport.losses = 0.0  # what was created twice is noticed and goes
        await world.slices_until(lambda found: sorted(one["spec"]["nodeName"] for one in found) == sorted(names))

    world(play, losses=0.4)


def test_a_server_that_is_away_at_first_is_waited_for(world: Callable[..., Any]) -> None:
    async def play(world: World, transport: Any) -> None:
        await world.node("n", BOTH)
        await world.clock.sleep(60)
        transport.is_away = False
        await world.slices_until(lambda found: found)

    world(play, away=True)


def test_nodes_of_other_simulators_are_left_alone(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("mine", BOTH)
        await world.node("theirs", BOTH)
        (one,) = await world.slices_until(lambda found: found)
        assert one["spec"]["nodeName"] == "mine"
        await world.clock.sleep(60)
        assert len(await world.slices_until(lambda found: found)) == 1

    world(play, manages=lambda name: name == "mine")


def test_slices_can_be_written_in_the_older_version(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.node("n", BOTH)
        (one,) = await world.slices_until(lambda found: found)
        assert len(one["spec"]["devices"]) == 8
        gpus = await world.client.get(DEVICE_CLASSES, "gpu.nvidia.com")
        assert "extendedResourceName" not in gpus["spec"]

    world(play, api_version=V1BETA2)


RESERVATION = "kai-resource-reservation"


def reserved(pod: Object) -> str:
    found: str = pod["metadata"].get("annotations", {}).get(sharing.RESERVED, "")
    return found


def test_reservation_pods_of_a_node_learn_of_different_gpus(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.namespace(RESERVATION)
        await world.node("n", Inventory(model="H100", count=4))
        for index in range(4):
            await world.run_pod(f"r{index}", RESERVATION, "n", labels={"app": RESERVATION}, limits={GPU: "1"})
        pods = await world.until(PODS, lambda found: len(found) == 4 and all(map(reserved, found)))
        assert {reserved(pod) for pod in pods} == {gpu_uuid("n", index) for index in range(4)}
        await world.client.delete(PODS, "r2", namespace=RESERVATION, grace_s=0)
        await world.run_pod("again", RESERVATION, "n", labels={"app": RESERVATION}, limits={GPU: "1"})
        pods = await world.until(PODS, lambda found: len(found) == 4 and all(map(reserved, found)))
        assert {reserved(pod) for pod in pods} == {gpu_uuid("n", index) for index in range(4)}

    world(play)


def test_a_reservation_pod_says_which_gpu_its_kubelet_gave_it(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.namespace(RESERVATION)
        await world.node("n", Inventory(model="H100", count=4))
        await world.run_pod("r", RESERVATION, "n", labels={"app": RESERVATION}, limits={GPU: "1"})
        (pod,) = await world.until(PODS, lambda found: all(map(reserved, found)))
        assert reserved(pod) == gpu_uuid("n", 1)

    world(play, given=lambda _: {0: [Holder("a", "b", "c")], 1: [Holder(RESERVATION, "r", "main")]})


def test_reservation_pods_on_real_nodes_speak_for_themselves(world: Callable[..., Any]) -> None:
    async def play(world: World, _: Any) -> None:
        await world.namespace(RESERVATION)
        await world.node("real")
        await world.annotate("real", **{"kwok.x-k8s.io/node": None})
        await world.run_pod("r", RESERVATION, "real", labels={"app": RESERVATION}, limits={GPU: "1"})
        await world.clock.sleep(60)
        assert not reserved(await world.client.get(PODS, "r", namespace=RESERVATION))

    world(play)
