"""The reference scheduler is a plain client: it works on the real control plane as it does on our own."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest
from tests.labs import lab_in_process

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, KAI_POD_GROUPS, PODS
from kubedyno.lab.starting import RunningLab
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.kube import KUBE
from kubedyno.schedulers.dialects.reference import REFERENCE

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """The reference scheduler on the real API server, with 4 nodes of 8 GPUs."""
    folder = tmp_path_factory.mktemp("reference") / "lab"
    async with lab_in_process(folder, engine="local", scheduler="reference", nodes=4) as lab:
        yield lab


async def create(client: Client, *objects: Object) -> None:
    for obj in objects:
        resource = await client.resource_of(obj)
        await client.create(resource, obj, namespace="default" if resource.namespaced else None)


async def pods(client: Client, count: int, *, phase: str = "Running") -> list[Object]:
    """All pods, once so many of them are in a phase."""
    async with Informer(client, PODS, namespace="default") as found:
        await found.wait_until(
            lambda seen: sum((one.get("status") or {}).get("phase") == phase for one in seen.items) == count,
            timeout_s=60,
            what=f"{count} pods {phase}",
        )
        return list(found.items)


async def clear(client: Client) -> None:
    await client.delete_collection(PODS, namespace="default", grace_s=0)
    async with Informer(client, PODS, namespace="default") as found:
        await found.wait_until(lambda seen: not seen.items, timeout_s=60, what="no pods")


async def test_queues_take_back_what_is_theirs(lab: RunningLab) -> None:
    client = lab.client
    queues = tuple(Queue(name=name, gpu=Share(quota=16)) for name in ("qa", "qb"))
    await create(client, *REFERENCE.queues(queues))
    for index in range(4):
        await create(client, *REFERENCE.objects(Workload(name=f"a{index}", queue="qa", pods=4, gpus=2)))
    await pods(client, 16)
    await create(client, *REFERENCE.objects(Workload(name="b", queue="qb", pods=2, gpus=8)))
    async with Informer(client, PODS, namespace="default") as found:
        await found.wait_until(
            lambda seen: (
                {one["metadata"]["name"] for one in seen.items if (one.get("status") or {}).get("phase") == "Running"}
                >= {"b-0", "b-1"}
            ),
            timeout_s=60,
            what="the reclaiming gang",
        )
        left = Counter(one["metadata"]["labels"]["kubedyno/workload"] for one in found.items)
    assert left == {"b": 2, "a0": 4, "a1": 4}
    async with Informer(client, CORE_EVENTS, field_selector="reason=Evict") as told:
        await told.wait_until(
            lambda seen: {one["involvedObject"]["name"] for one in seen.items} == {"a2", "a3"},
            timeout_s=60,
            what="events about both victims",
        )
    await create(client, *REFERENCE.objects(Workload(name="more", queue="qb", pods=3, gpus=8)))
    async with Informer(client, KAI_POD_GROUPS, namespace="default") as groups:
        await groups.wait_until(
            lambda seen: bool(((seen.get(("default", "more")) or {}).get("status") or {}).get("schedulingConditions")),
            timeout_s=60,
            what="the condition",
        )
    await clear(client)


async def test_fractions_and_native_gangs(lab: RunningLab) -> None:
    client = lab.client
    for index in range(4):
        await create(client, *REFERENCE.objects(Workload(name=f"half{index}", fraction=0.5)))
    found = await pods(client, 4)
    assert Counter(meta.labels(one)["runai-gpu-group"] for one in found).most_common()[0][1] == 2
    await create(client, *KUBE.objects(Workload(name="native", pods=3, gpus=8)))
    await pods(client, 7)
    await clear(client)
