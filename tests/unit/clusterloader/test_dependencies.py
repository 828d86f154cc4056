"""Dependencies on the embedded engine, in virtual time: what they bring, change in place, and leave."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.dependencies import DEPENDENCIES
from kubedyno.clusterloader.dependencies.depending import Dependency, Surroundings
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import EngineError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, DEVICE_CLASSES, NODES, RESOURCE_SLICES, Resource
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.measure.records import Verdict
from kubedyno.sim.pools import Pool
from kubedyno.testing import try_scenario

pytestmark = pytest.mark.unit

DRIVER = "cl2-gpu.kwok.x-k8s.io"


def params(**values: Any) -> Params:
    return Params(values, of="dependency", place=Place("config.yaml", 1))


def on_lab(story: Callable[[Lab], Awaitable[None]], *, time: str = "virtual", **lab: Any) -> None:
    """Runs a story on a lab of its own; what it asserts must hold."""

    @scenario("story")
    async def told(lab: Lab) -> None:
        await story(lab)

    record = try_scenario(told, time=time, lab=lab)
    assert record.verdict == Verdict.PASSED, record.message


def made(lab: Lab, method: str) -> Dependency:
    return DEPENDENCIES[method].make(Surroundings(client=lab.client))


async def there(lab: Lab, resource: Resource) -> list[Object]:
    return (await lab.client.list_all(resource)).items


async def devices(lab: Lab) -> Mapping[str, list[Object]]:
    """Devices by node."""
    found: dict[str, list[Object]] = {}
    for piece in await there(lab, RESOURCE_SLICES):
        found.setdefault(piece["spec"]["nodeName"], []).extend(piece["spec"]["devices"])
    return found


def test_kwok_dra_brings_the_nodes_and_devices_that_its_documents_promise() -> None:
    async def story(lab: Lab) -> None:
        dependency = made(lab, "kwok-dra")
        await dependency.set_up(params())
        nodes = await there(lab, NODES)
        assert sorted(node["metadata"]["name"] for node in nodes) == ["kwok-node-0", "kwok-node-1"]
        labels = nodes[0]["metadata"]["labels"]
        assert labels["type"] == "kwok"
        assert labels["kubernetes.io/hostname"] == nodes[0]["metadata"]["name"]
        assert nodes[0]["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
        assert nodes[0]["spec"]["taints"] == [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]
        allocatable = nodes[0]["status"]["allocatable"]
        assert {name: allocatable[name] for name in ("cpu", "memory", "pods")} == {
            "cpu": "32",
            "memory": "256Gi",
            "pods": "110",
        }
        pieces = await there(lab, RESOURCE_SLICES)
        assert [piece["metadata"]["labels"] for piece in pieces] == [{"resource.k8s.io/driver": DRIVER}] * 2
        assert pieces[0]["spec"]["driver"] == DRIVER
        found = (await devices(lab))["kwok-node-0"]
        assert [device["name"] for device in found] == [f"gpu{number}" for number in range(8)]
        assert found[0]["capacity"] == {f"{DRIVER}/gpu": {"value": "1"}}
        assert found[0]["attributes"] == {
            "gpu_type": {"string": "kwok-gpu"},
            "memory": {"string": "8Gi"},
            "compute_capability": {"string": "7.5"},
        }
        assert [one["metadata"]["name"] for one in await there(lab, DEVICE_CLASSES)] == [DRIVER]
        await dependency.tear_down()
        assert [await there(lab, kind) for kind in (NODES, RESOURCE_SLICES, DEVICE_CLASSES)] == [[], [], []]
        left = [one["metadata"]["name"] for one in await there(lab, CONFIG_MAPS)]
        assert not any("kwok-node" in name for name in left)

    on_lab(story)


def test_a_second_set_up_changes_counts_and_devices_in_place() -> None:
    async def story(lab: Lab) -> None:
        await made(lab, "kwok-dra").set_up(params(nodes=3, gpusPerNode=2))
        before = {node["metadata"]["name"]: node["metadata"]["uid"] for node in await there(lab, NODES)}
        again = made(lab, "DRAKWOKDriver")
        await again.set_up(params(nodes="2", gpusPerNode=300.0, timeout="1m"))
        after = {node["metadata"]["name"]: node["metadata"]["uid"] for node in await there(lab, NODES)}
        assert after == {name: before[name] for name in ("kwok-node-0", "kwok-node-1")}
        assert {name: len(found) for name, found in (await devices(lab)).items()} == dict.fromkeys(after, 300)
        # More than a slice may hold.
        assert len(await there(lab, RESOURCE_SLICES)) == 6
        await again.tear_down()
        await again.tear_down()  # also of what is gone already
        assert await there(lab, NODES) == []

    on_lab(story)


def test_a_set_up_that_nobody_answers_is_late_and_says_why() -> None:
    async def story(lab: Lab) -> None:
        dependency = made(lab, "kwok-dra")
        with pytest.raises(EngineError) as caught:
            await dependency.set_up(params(nodes=1, gpusPerNode=4, timeout="1s"))
        assert str(caught.value) == (
            "kwok-dra: 1 nodes with GPUs were not there within 1 s: 0 of 4 devices were published, of 0 nodes; see "
            "whether somebody plays the kubelets of the cluster's nodes, or give it more time (params.timeout)"
        )
        await dependency.tear_down()
        assert await there(lab, NODES) == []

    on_lab(story, time="real", kubelet="none")


def test_the_example_driver_puts_devices_on_the_nodes_that_are_there() -> None:
    async def story(lab: Lab) -> None:
        await lab.nodes(Pool(name="node", count=2))
        dependency = made(lab, "DRATestDriver")
        await dependency.set_up(params(ExtendedResourceName="example.com/gpu"))
        assert {name: len(found) for name, found in (await devices(lab)).items()} == {"node-0": 8, "node-1": 8}
        (kind,) = await there(lab, DEVICE_CLASSES)
        assert kind["metadata"]["name"] == "gpu.example.com"
        assert kind["spec"]["extendedResourceName"] == "example.com/gpu"
        await dependency.tear_down()
        await lab.clock.sleep(5)
        assert await there(lab, DEVICE_CLASSES) == []
        assert await there(lab, RESOURCE_SLICES) == []
        assert len(await there(lab, NODES)) == 2

    on_lab(story)


def test_the_example_driver_needs_nodes() -> None:
    async def story(lab: Lab) -> None:
        with pytest.raises(EngineError, match="the cluster has no simulated nodes to put devices on: give --nodes"):
            await made(lab, "DRATestDriver").set_up(params())

    on_lab(story)
