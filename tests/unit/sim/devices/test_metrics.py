import asyncio
import re
from typing import Any

import aiohttp
import pytest

from kubedyno.client.rest import Client
from kubedyno.client.watching import Changed, Listed
from kubedyno.kit.clock import NS_PER_S, RealClock, VirtualClock
from kubedyno.kit.errors import EngineError
from kubedyno.kube.codec import Object
from kubedyno.model import keys
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import exposing, marks
from kubedyno.sim.devices import inventory, metrics, occupying, sharing
from kubedyno.sim.devices.exporting import GpuExporter, Usage
from kubedyno.sim.devices.identity import gpu_uuid
from kubedyno.sim.devices.inventory import Inventory, Mig, Sharing
from kubedyno.sim.devices.metrics import GpuState, Use
from kubedyno.sim.devices.occupying import Holder

pytestmark = pytest.mark.unit

GPU = "nvidia.com/gpu"
MEMORY_MIB = 81559


def listed(*items: Object) -> Listed:
    return Listed(list(items), "1", 0, 0)


def node(name: str = "n", found: Inventory | None = None, faults: str = "") -> Object:
    notes = {marks.DEVICES: inventory.written(found or Inventory(model="H100", count=4))}
    if faults:
        notes[marks.FAULTS] = faults
    return {"metadata": {"name": name, "uid": name, "annotations": notes}}


def pod(name: str, limits: dict[str, str] | None = None, **more: Any) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": name, **more.pop("metadata", {})}
    container = {"name": "main", "resources": {"limits": limits or {}, **more.pop("resources", {})}}
    phase = more.pop("phase", "Running")
    return {"metadata": metadata, "spec": {"nodeName": "n", "containers": [container]}, "status": {"phase": phase}}


def usage(*pods: Object, nodes: tuple[Object, ...] = (node(),), **more: Any) -> Usage:
    found = Usage(clock=more.pop("clock", VirtualClock()), seed=7, **more)
    found.hear_nodes(listed(*nodes))
    found.hear_pods(listed(*pods))
    return found


def users(found: Usage) -> dict[int, list[tuple[str, float, int]]]:
    return {
        state.index: [(use.pod, use.percent, use.memory_mib) for use in state.uses]
        for state in found.states()
        if state.uses
    }


def test_the_page_is_that_of_the_dcgm_exporter() -> None:
    states = [
        GpuState("n", 0, "NVIDIA H100 80GB HBM3", MEMORY_MIB, (Use("default", "p", "main", 80.0, 40000),)),
        GpuState("n", 1, 'a "b" \\c', 1000),
    ]
    first = (
        f'{{gpu="0",UUID="{gpu_uuid("n", 0)}",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n",'
        'namespace="default",pod="p",container="main"}'
    )
    second = f'{{gpu="1",UUID="{gpu_uuid("n", 1)}",device="nvidia1",modelName="a \\"b\\" \\\\c",Hostname="n"}}'
    assert "".join(metrics.render(states)) == (
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
        "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
        f"DCGM_FI_DEV_GPU_UTIL{first} 80\n"
        f"DCGM_FI_DEV_GPU_UTIL{second} 0\n"
        "# HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).\n"
        "# TYPE DCGM_FI_DEV_FB_USED gauge\n"
        f"DCGM_FI_DEV_FB_USED{first} 40000\n"
        f"DCGM_FI_DEV_FB_USED{second} 0\n"
        "# HELP DCGM_FI_DEV_FB_FREE Framebuffer memory free (in MiB).\n"
        "# TYPE DCGM_FI_DEV_FB_FREE gauge\n"
        f"DCGM_FI_DEV_FB_FREE{first} 41559\n"
        f"DCGM_FI_DEV_FB_FREE{second} 1000\n"
    )


@pytest.mark.parametrize(
    ("text", "between"),
    [
        ("80", (80.0, 80.0)),
        (" 20 - 60 ", (20.0, 60.0)),
        ("20-60", (20.0, 60.0)),
        ("12.5", (12.5, 12.5)),
        ("60-20", (60.0, 60.0)),
        ("500", (100.0, 100.0)),
        ("", None),
        ("much", None),
        ("-5", None),
    ],
)
def test_utilisation_is_a_number_or_a_range(text: str, between: tuple[float, float] | None) -> None:
    assert occupying.utilisation_range(text) == between


@pytest.mark.parametrize("name", [marks.UTILISATION, occupying.FAKE_UTILISATION])
def test_a_range_is_drawn_anew_every_ten_seconds_and_the_same_every_time(name: str) -> None:
    found = occupying.gpu_pod(pod("p", {GPU: "1"}, metadata={"annotations": {name: "20-60"}}))
    assert found is not None
    drawn = [metrics.percent_used(found, 1.0, seed=1, now_ns=at_s * NS_PER_S) for at_s in range(300)]
    assert all(len(set(drawn[at : at + 10])) == 1 for at in range(0, 300, 10))
    assert len(set(drawn)) > 10
    assert 20 <= min(drawn) < max(drawn) <= 60
    assert drawn == [metrics.percent_used(found, 1.0, seed=1, now_ns=at_s * NS_PER_S) for at_s in range(300)]


def test_pods_have_the_first_gpus_that_are_free_until_they_go() -> None:
    found = usage(pod("a", {GPU: "2"}), pod("b", {GPU: "1"}))
    assert users(found) == {
        0: [("a", 100.0, MEMORY_MIB)],
        1: [("a", 100.0, MEMORY_MIB)],
        2: [("b", 100.0, MEMORY_MIB)],
    }
    found.hear_pods(Changed("DELETED", pod("a", {GPU: "2"}), 0, 0))
    assert users(found) == {2: [("b", 100.0, MEMORY_MIB)]}
    found.hear_pods(Changed("MODIFIED", pod("b", {GPU: "1"}, phase="Succeeded"), 0, 0))
    assert users(found) == {}
    found.hear_pods(Changed("ADDED", pod("c", {GPU: "1"}), 0, 0))
    assert list(users(found)) == [0]


def test_a_relist_takes_away_what_went_meanwhile() -> None:
    found = usage(pod("a", {GPU: "1"}), nodes=(node(), node("m")))
    found.hear_pods(listed())
    found.hear_nodes(listed(node()))
    assert users(found) == {}
    assert {state.node for state in found.states()} == {"n"}


def test_pods_that_came_before_their_node_was_known_are_counted() -> None:
    found = usage(pod("a", {GPU: "1"}), nodes=())
    assert list(found.states()) == []
    found.hear_nodes(Changed("ADDED", node(), 0, 0))
    assert list(users(found)) == [0]


def test_a_pod_that_does_not_run_yet_has_its_gpu_and_does_nothing_with_it() -> None:
    assert users(usage(pod("a", {GPU: "1"}, phase="Pending"))) == {0: [("a", 0.0, MEMORY_MIB)]}


def test_more_pods_than_gpus_have_none_and_are_not_told_of() -> None:
    assert list(users(usage(*(pod(f"p{index}", {GPU: "2"}) for index in range(3))))) == [0, 1, 2, 3]


def test_time_slices_are_spread_over_gpus() -> None:
    shared = node(found=Inventory(model="H100", count=2, sharing=Sharing(replicas=2)))
    found = usage(*(pod(f"p{index}", {GPU: "1"}) for index in range(3)), nodes=(shared,))
    half = round(MEMORY_MIB / 2)
    assert users(found) == {0: [("p0", 50.0, half), ("p2", 50.0, half)], 1: [("p1", 50.0, half)]}


def test_partitions_are_a_part_of_their_gpu() -> None:
    cut = node(found=Inventory(model="H100", count=1, mig=Mig(layout={"3g.40gb": 2})))
    found = usage(pod("a", {"nvidia.com/mig-3g.40gb": "1"}), nodes=(cut,))
    assert users(found) == {0: [("a", 50.0, round(MEMORY_MIB / 2))]}


def test_lost_gpus_tell_nothing() -> None:
    found = usage(nodes=(node(faults='[{"kind": "gpu-lost", "gpus": [1]}]'),))
    assert [state.index for state in found.states()] == [0, 2, 3]


def test_fractions_stand_for_the_reservation_of_their_gpu() -> None:
    group = {keys.SHARED_GPU_LABEL: "g"}
    reservation = pod(
        "r",
        {GPU: "1"},
        metadata={
            "namespace": sharing.APPS[0],
            "labels": {**group, "app": sharing.APPS[0]},
            "annotations": {sharing.RESERVED: gpu_uuid("n", 2)},
        },
    )
    halves = [
        pod(name, metadata={"labels": group, "annotations": {keys.FRACTION_ANNOTATION: share, **more}})
        for name, share, more in (("a", "0.5", {}), ("b", "0.25", {marks.UTILISATION: "80"}))
    ]
    found = usage(reservation, *halves, pod("whole", {GPU: "1"}))
    assert users(found) == {
        0: [("whole", 100.0, MEMORY_MIB)],
        2: [("a", 50.0, round(MEMORY_MIB / 2)), ("b", 80.0, round(MEMORY_MIB / 4))],
    }


def test_claimed_devices_are_those_of_the_pods_they_are_reserved_for() -> None:
    claim = {
        "metadata": {"name": "c", "namespace": "default"},
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {"driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-3", "request": "gpu"},
                        {"driver": "other.example.com", "pool": "n", "device": "gpu-0", "request": "x"},
                    ]
                }
            },
            "reservedFor": [{"resource": "pods", "name": "a", "uid": "a"}],
        },
    }
    found = usage(pod("a", resources={"claims": [{"name": "gpu"}]}))
    found.hear_claims(listed(claim))
    assert users(found) == {3: [("a", 100.0, MEMORY_MIB)]}
    found.hear_claims(Changed("MODIFIED", {**claim, "status": {}}, 0, 0))
    assert users(found) == {}


def test_what_the_kubelets_tell_is_taken_over() -> None:
    found = usage(pod("a", {GPU: "1"}), given=lambda _: {3: [Holder("default", "a", "main")]})
    assert users(found) == {3: [("a", 100.0, MEMORY_MIB)]}


async def test_metrics_are_served_over_http_from_the_first_question_on() -> None:
    clock = RealClock()
    client = Client(InProcess(new_api(clock=clock, seed=1), clock=clock), clock=clock)
    exporter = GpuExporter(client, clock=clock, seed=1)
    exporting = asyncio.create_task(exporter.run(), name="exporting")
    async with exposing.serving({"/metrics": exporter.page}) as url, aiohttp.ClientSession() as session:
        async with session.get(f"{url}/metrics") as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            names = re.findall(r"^# TYPE (\S+) gauge$", await answer.text(), re.MULTILINE)
        async with session.get(f"{url}/") as answer:
            assert answer.status == 404
            assert await answer.text() == "the pages are /metrics\n"
    assert names == ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"]
    exporting.cancel()


async def test_a_port_that_is_taken_is_told() -> None:
    async def page() -> list[str]:
        return ["x 1\n"]

    async with exposing.serving({"/metrics": page}) as url:
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(EngineError, match=rf"metrics cannot be served on 127.0.0.1:{port}: .*name another port"):
            async with exposing.serving({"/metrics": page}, port=port):
                pass
