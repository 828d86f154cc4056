"""Real programs of a control plane work on the embedded engine: kube-scheduler, and KWOK as the kubelet."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, LEASES, NODES, POD_GROUPS, PODS, Resource
from kubedyno.lab.starting import RunningLab
from kubedyno.model.settings import Evidence
from kubedyno.model.workloads import Workload, pod
from kubedyno.schedulers.dialects.kube import KUBE

pytestmark = pytest.mark.local


async def submit(client: Client, workload: Workload) -> None:
    for obj in KUBE.objects(workload):
        await client.create(POD_GROUPS if obj["kind"] == "PodGroup" else PODS, obj, namespace="default")


async def awaited(
    client: Client, reached: Callable[[list[Object]], bool], resource: Resource = PODS, **selected: str
) -> list[Object]:
    """The objects, when they are as they should be."""
    async with Informer(client, resource, **selected) as found:
        await found.wait_until(lambda seen: reached(list(seen.items)), timeout_s=60, what=resource.plural)
        return list(found.items)


def of(name: str) -> str:
    return f"kubedyno/workload={name}"


def is_bound(one: Object) -> bool:
    return bool(one["spec"].get("nodeName"))


def condition(obj: Object, kind: str) -> dict[str, Any]:
    found = obj.get("status", {}).get("conditions", ())
    return next((entry for entry in found if entry["type"] == kind), {})


@pytest.fixture(scope="module")
async def scheduled_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """kube-scheduler on 100 nodes of 8 GPUs."""
    folder = tmp_path_factory.mktemp("scheduled") / "lab"
    async with lab_in_process(folder, engine="embedded", scheduler="kube-scheduler", nodes=100) as lab:
        yield lab


async def test_kube_scheduler_tells_that_it_speaks_json(scheduled_lab: RunningLab) -> None:
    [found] = [setting for setting in scheduled_lab.settings if setting.field == "clientConnection.contentType"]
    assert (found.value, found.evidence) == ("application/json", Evidence.REPORTED)


async def test_kube_scheduler_binds_a_thousand_pods(scheduled_lab: RunningLab) -> None:
    client = scheduled_lab.client
    alike = {"thousand": "yes"}
    on_gpus, on_cpus = Workload(name="gpu", labels=alike), Workload(name="cpu", gpus=0, cpu="100m", labels=alike)
    for shape, count in ((on_gpus, 800), (on_cpus, 200)):
        pods = [pod(shape, index, scheduler_name="default-scheduler") for index in range(count)]
        await asyncio.gather(*(client.create(PODS, one, namespace="default") for one in pods))
    placed = await awaited(
        client, lambda seen: len(seen) == 1000 and all(map(is_bound, seen)), label_selector="thousand=yes"
    )
    gpus: dict[str, int] = {}
    for spec in (found["spec"] for found in placed):
        asked = int(spec["containers"][0]["resources"]["limits"].get("nvidia.com/gpu", 0))
        gpus[spec["nodeName"]] = gpus.get(spec["nodeName"], 0) + asked
    assert set(gpus.values()) == {8}
    await client.delete_collection(PODS, namespace="default", label_selector="thousand=yes")
    await awaited(client, lambda seen: not seen, label_selector="thousand=yes")


async def test_kube_scheduler_says_why_a_pod_fits_nowhere(scheduled_lab: RunningLab) -> None:
    client = scheduled_lab.client
    await submit(client, Workload(name="large", gpus=9))
    [refused] = await awaited(
        client, lambda seen: any(condition(one, "PodScheduled") for one in seen), label_selector=of("large")
    )
    why = condition(refused, "PodScheduled")
    assert (why["status"], why["reason"]) == ("False", "Unschedulable")
    assert why["message"].startswith("0/100 nodes are available: 100 Insufficient nvidia.com/gpu.")
    [event] = await awaited(client, bool, CORE_EVENTS, field_selector="involvedObject.name=large-0")
    assert (event["type"], event["reason"], event["reportingComponent"]) == (
        "Warning",
        "FailedScheduling",
        "default-scheduler",
    )
    assert event["message"] == why["message"]
    await client.delete(PODS, "large-0", namespace="default")


async def test_kube_scheduler_places_a_gang_whole_or_not_at_all(scheduled_lab: RunningLab) -> None:
    client = scheduled_lab.client
    await submit(client, Workload(name="whole", pods=4, gpus=8))
    await awaited(client, lambda seen: len(seen) == 4 and all(map(is_bound, seen)), label_selector=of("whole"))
    # 96 nodes are free: 97 pods of a whole node each do not fit.
    await submit(client, Workload(name="crowd", pods=97, gpus=8))
    pods = await awaited(
        client,
        lambda seen: len(seen) == 97 and all(condition(one, "PodScheduled") for one in seen),
        label_selector=of("crowd"),
    )
    assert not any(map(is_bound, pods))


async def test_kwok_keeps_nodes_runs_pods_and_ends_them(tmp_path: Path) -> None:
    async with lab_in_process(
        tmp_path / "lab", engine="embedded", scheduler="reference", kubelet="kwok", nodes=5
    ) as lab:
        client = lab.client
        await awaited(
            client, lambda nodes: [condition(node, "Ready").get("status") for node in nodes] == ["True"] * 5, NODES
        )
        [lease, *_] = await awaited(client, lambda leases: len(leases) == 5, LEASES, namespace="kube-node-lease")
        assert set(lease["spec"]) == {"holderIdentity", "leaseDurationSeconds", "renewTime"}
        assert lease["metadata"]["ownerReferences"][0]["kind"] == "Node"
        await submit(client, Workload(name="seen", pods=3))
        await awaited(
            client,
            lambda seen: [one["status"].get("phase") for one in seen] == ["Running"] * 3,
            label_selector=of("seen"),
        )
        for index in range(3):
            await client.delete(PODS, f"seen-{index}", namespace="default", grace_s=30)
        await awaited(client, lambda seen: not seen, label_selector=of("seen"))


async def test_a_scheduler_that_speaks_protobuf_works_as_well(tmp_path: Path) -> None:
    settings = {"kube-scheduler": {"clientConnection.contentType": "application/vnd.kubernetes.protobuf"}}
    async with lab_in_process(
        tmp_path / "lab", engine="embedded", scheduler="kube-scheduler", nodes=2, settings=settings
    ) as lab:
        await submit(lab.client, Workload(name="both", pods=2, gpus=8))
        await awaited(lab.client, lambda seen: len(seen) == 2 and all(map(is_bound, seen)))
