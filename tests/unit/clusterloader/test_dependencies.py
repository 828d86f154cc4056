"""Dependencies on the embedded engine, in virtual time: what they bring, change in place, and leave."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.dependencies import DEPENDENCIES
from kubedyno.clusterloader.dependencies.depending import Dependency, Surroundings
from kubedyno.clusterloader.measurements.measuring import Background
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, DEVICE_CLASSES, NAMESPACES, NODES, RESOURCE_SLICES, Resource
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.measure.records import Verdict
from kubedyno.sim.kubelet import settings
from kubedyno.sim.kubelet.plans import JobTimes
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


def around(lab: Lab, **options: Any) -> Surroundings:
    return Surroundings(
        client=lab.client, background=Background(asyncio.TaskGroup()), run_id=lab.run_id, remarks=[], **options
    )


def made(lab: Lab, method: str, **options: Any) -> Dependency:
    return DEPENDENCIES[method].make(around(lab, **options))


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


async def shows_controller(lab: Lab) -> bool:
    """Whether the namespace in which people look for KWOK is there, and does not go away."""
    found = {one["metadata"]["name"]: one["metadata"] for one in await there(lab, NAMESPACES)}
    return "kwok-system" in found and "deletionTimestamp" not in found["kwok-system"]


async def written_as(lab: Lab, resource: Resource) -> set[str]:
    """In which versions we wrote these."""
    return {
        field["apiVersion"]
        for one in await there(lab, resource)
        for field in one["metadata"]["managedFields"]
        if field["manager"].startswith("kubedyno")
    }


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ({}, "resource.k8s.io/v1beta2"),
        ({"apiVersion": "resource.k8s.io/v1beta2"}, "resource.k8s.io/v1beta2"),
        ({"apiVersion": "resource.k8s.io/v1"}, "resource.k8s.io/v1"),
    ],
)
def test_the_beta_is_written_unless_v1_is_asked_for(asked: dict[str, str], written: str) -> None:
    async def story(lab: Lab) -> None:
        await made(lab, "kwok-dra").set_up(params(**asked))
        assert await written_as(lab, RESOURCE_SLICES) == {written}
        assert await written_as(lab, DEVICE_CLASSES) == {written}

    on_lab(story)


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        DEPENDENCIES["kwok-dra"].brings_nodes(params(apiVersion="resource.k8s.io/v2"))
    assert str(caught.value) == (
        "kwok-dra: apiVersion is 'resource.k8s.io/v2': write resource.k8s.io/v1beta2 or resource.k8s.io/v1"
    )


def test_pods_on_its_nodes_work_as_long_as_it_says_whoever_plays_them() -> None:
    async def story(lab: Lab) -> None:
        await made(lab, "kwok-dra", job_times=JobTimes(7.0, 70.0)).set_up(params(nodes=1))
        (node,) = await there(lab, NODES)
        assert settings.of(node).work == {"short-lived": 7.0, "long-running": 70.0}

    on_lab(story)


def own_class(expression: str = f"device.driver == '{DRIVER}'") -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def test_a_class_that_others_have_is_used_and_stays() -> None:
    async def story(lab: Lab) -> None:
        await lab.client.create(DEVICE_CLASSES, own_class())
        before = await there(lab, DEVICE_CLASSES)
        dependency = made(lab, "kwok-dra", is_foreign=True)
        await dependency.set_up(params())
        await dependency.tear_down()
        assert await there(lab, DEVICE_CLASSES) == before

    on_lab(story)


def test_a_class_that_others_have_for_something_else_is_refused_and_nothing_is_left() -> None:
    async def story(lab: Lab) -> None:
        await lab.client.create(DEVICE_CLASSES, own_class("true"))
        before = await there(lab, DEVICE_CLASSES)
        dependency = made(lab, "kwok-dra", is_foreign=True, drives_nodes=True)
        with pytest.raises(UsageError, match=r"has a DeviceClass cl2-gpu\.kwok\.x-k8s\.io that says something else"):
            await dependency.set_up(params())
        await dependency.tear_down()
        assert await there(lab, DEVICE_CLASSES) == before
        assert await there(lab, NODES) == []
        assert not await shows_controller(lab)

    on_lab(story)


def test_a_pool_that_others_have_is_refused_and_stays() -> None:
    async def story(lab: Lab) -> None:
        await lab.nodes(Pool(name="kwok-node", count=1))
        dependency = made(lab, "kwok-dra")
        with pytest.raises(UsageError, match="the cluster has a pool kwok-node of its own: take another cluster, or"):
            await dependency.set_up(params())
        await dependency.tear_down()
        assert len(await there(lab, NODES)) == 1

    on_lab(story)


def test_what_a_run_left_that_was_killed_is_taken_over() -> None:
    async def story(lab: Lab) -> None:
        on_cluster = {"is_foreign": True, "drives_nodes": True}
        await made(lab, "kwok-dra", **on_cluster).set_up(params(nodes=3))
        again = made(lab, "kwok-dra", **on_cluster)
        await again.set_up(params(nodes=1, gpusPerNode=2))
        assert [one["metadata"]["name"] for one in await there(lab, NODES)] == ["kwok-node-0"]
        assert await shows_controller(lab)
        await again.tear_down()
        kinds = (NODES, RESOURCE_SLICES, DEVICE_CLASSES)
        assert [await there(lab, kind) for kind in kinds] == [[], [], []]
        assert not await shows_controller(lab)

    on_lab(story)


def test_kwok_system_of_others_is_left_alone() -> None:
    async def story(lab: Lab) -> None:
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kwok-system"}}
        before = await lab.client.create(NAMESPACES, document)
        dependency = made(lab, "kwok-dra", is_foreign=True, drives_nodes=True)
        await dependency.set_up(params())
        names = [one["metadata"]["name"] for one in await there(lab, CONFIG_MAPS)]
        assert "kwok-controller" not in names
        await dependency.tear_down()
        after = await lab.client.get(NAMESPACES, "kwok-system")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert "deletionTimestamp" not in after["metadata"]

    on_lab(story)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"is_foreign": True}, "see its log (of KWOK: kubectl -n kwok-system logs deployment/kwok-controller)"),
        ({"is_foreign": True, "drives_nodes": True}, "they are driven by this command: see what it tells with --debug"),
    ],
)
def test_nodes_that_do_not_get_ready_say_where_their_controller_is(options: dict[str, bool], told: str) -> None:
    async def story(lab: Lab) -> None:
        dependency = made(lab, "kwok-dra", **options)
        with pytest.raises(EngineError) as caught:
            await dependency.set_up(params(nodes=1, timeout="1ms"))
        assert told in str(caught.value)
        assert "or give it more time (params.timeout)" in str(caught.value)
        await dependency.tear_down()

    on_lab(story, time="real", kubelet="none")
