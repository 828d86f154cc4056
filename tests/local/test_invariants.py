"""Invariants on real servers: a crooked scheduler is caught, kube-scheduler and KAI raise no alarm."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS, PRIORITY_CLASSES
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.following import following
from kubedyno.measure.invariants.observing import Watched, watching
from kubedyno.measure.lives import Lives
from kubedyno.measure.records import Violation
from kubedyno.model.dialects import Dialect
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness, Workload, pod
from kubedyno.schedulers.dialects.kai import KAI
from kubedyno.schedulers.dialects.kube import KUBE

pytestmark = pytest.mark.local

WITHIN_S = 90.0


class Watching:
    """A namespace that is watched, and what came of it."""

    def __init__(self, client: Client, dialect: Dialect, namespace: str) -> None:
        self.client = client
        self.dialect = dialect
        self.namespace = namespace
        self.watched: Watched | None = None
        self.violations: tuple[Violation, ...] = ()
        self.lives: Lives | None = None

    async def submit(self, workload: Workload) -> None:
        """Create the objects of a workload."""
        for obj in self.dialect.objects(workload):
            await self.client.create(await self.client.resource_of(obj), obj, namespace=self.namespace)

    async def until(self, reached: Callable[[Sequence[Object]], bool], what: str) -> list[Object]:
        """The pods, when they are as they should be."""
        async with Informer(self.client, PODS, namespace=self.namespace) as found:
            await found.wait_until(lambda seen: reached(list(seen.items)), timeout_s=WITHIN_S, what=what)
            return list(found.items)

    async def placed(self, workload: str, count: int) -> list[Object]:
        """So many pods of a workload have nodes."""

        def held(pods: Sequence[Object]) -> list[Object]:
            return [
                one
                for one in pods
                if one["spec"].get("nodeName") and one["metadata"]["labels"].get("kubedyno/workload") == workload
            ]

        return held(await self.until(lambda pods: len(held(pods)) == count, f"{count} pods of {workload} to be bound"))

    def ends(self) -> dict[str, str | None]:
        """How the lives of pods ended, by name."""
        assert self.lives is not None
        return {life.name: life.end for life in self.lives.pods}


@contextlib.asynccontextmanager
async def watched(client: Client, dialect: Dialect, namespace: str) -> AsyncIterator[Watching]:
    """All that happens in the block is watched, and judged at its end."""
    await installing.ensure_namespace(client, namespace)
    await installing.await_service_account(client, namespace)
    made = Watching(client, dialect, namespace)
    kinds = dialect.lifecycle.kinds
    async with (
        watching(client, kinds, namespace=namespace) as made.watched,
        following(client, kinds, namespace=namespace, observer=made.watched) as recorded,
    ):
        yield made
        assert (await recorded.prove()).whole
        await made.watched.end(client.clock.wall_ns())
        made.violations, made.lives = made.watched.violations(), made.watched.lives()


async def test_a_scheduler_that_over_commits_a_real_server_is_caught(shared_lab: RunningLab) -> None:
    client = shared_lab.client
    node = next(iter((await client.list_all(NODES)).items))["metadata"]["name"]
    async with watched(client, KUBE, "crooked") as made:
        for name, gpus in (("fits", 8), ("does-not", 1)):
            shape = Workload(name=name, namespace="crooked", gpus=gpus, priority="")
            await client.create(PODS, pod(shape, 0, scheduler_name="crooked"), namespace="crooked")
            binding = {"metadata": {"name": f"{name}-0"}, "target": {"kind": "Node", "name": node}}
            await client.create(PODS, binding, namespace="crooked", name=f"{name}-0", subresource="binding")
        await made.placed("does-not", 1)
    (found,) = made.violations
    assert (found.invariant, found.object, found.node) == ("over-commit", "Pod crooked/does-not-0", node)
    assert found.evidence == f"node {node}: 9 GPUs bound, 8 allocatable: pods does-not-0, fits-0"
    await client.delete_collection(PODS, namespace="crooked")


async def test_kube_scheduler_with_gangs_and_preemption_raises_no_alarm(tmp_path: Path) -> None:
    async with lab_in_process(tmp_path / "lab", scheduler="kube-scheduler", nodes=4) as lab:
        client = lab.client
        classes = (("train", 50), ("build", 100))
        documents = [
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            for name, value in classes
        ]
        await installing.create_missing(client, documents)
        assert {"train", "build"} <= {
            one["metadata"]["name"] for one in (await client.list_all(PRIORITY_CLASSES)).items
        }
        namespace = "honest"
        async with watched(client, KUBE, namespace) as made:
            gangs = [Workload(name=f"low-{number}", namespace=namespace, pods=8) for number in range(3)]
            for gang in gangs:
                await made.submit(gang)
            for number in range(8):
                await made.submit(Workload(name=f"single-{number}", namespace=namespace))
            for gang in gangs:
                await made.placed(gang.name, 8)
            await made.until(
                lambda pods: sum(bool(one["spec"].get("nodeName")) for one in pods) == 32, "a full cluster"
            )
            await made.submit(Workload(name="high", namespace=namespace, pods=2, gpus=8, priority="build"))
            await made.placed("high", 2)
        assert made.violations == ()
        ends = made.ends()
        assert sum(end == "evicted" for end in ends.values()) >= 16
        assert set(ends.values()) == {"evicted", None}
        assert all(life.least == 8 for life in made.lives.pods if life.name.startswith("low"))  # type: ignore[union-attr]


def topology(name: str) -> dict[str, Any]:
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": levels},
    }


@pytest.mark.timeout(300)
async def test_kai_with_reclaim_preemption_and_topology_raises_no_alarm(tmp_path: Path) -> None:
    async with lab_in_process(tmp_path / "lab", scheduler="kai", nodes=4) as lab:
        client = lab.client
        nodes = sorted(one["metadata"]["name"] for one in (await client.list_all(NODES)).items)
        for number, name in enumerate(nodes):
            await client.patch(NODES, name, {"metadata": {"labels": {"rack": f"r{number // 2}"}}}, kind="merge")
        namespace = "honest"
        queues = (Queue(name="one", gpu=Share(quota=16)), Queue(name="two", gpu=Share(quota=16, limit=24)))
        documents = [topology("racks"), *KAI.queues(queues)]
        for document in documents:
            await client.create(await client.resource_of(document), document)
        async with watched(client, KAI, namespace) as made:
            near = Closeness(topology="racks", required="rack")
            shape = Workload(name="near", namespace=namespace, queue="two", pods=2, gpus=4, closeness=near)
            await made.submit(shape)
            await made.placed("near", 2)
            for number in range(3):
                await made.submit(Workload(name=f"low-{number}", namespace=namespace, queue="one", pods=8))
                await made.placed(f"low-{number}", 8)
            await made.submit(Workload(name="back", namespace=namespace, queue="two", pods=2, gpus=4))
            await made.placed("back", 2)
            shape = Workload(name="high", namespace=namespace, queue="one", pods=2, gpus=4, priority="build")
            await made.submit(shape)
            await made.placed("high", 2)
            await made.submit(Workload(name="too-much", namespace=namespace, queue="two", pods=2, gpus=8))
            await asyncio.sleep(4)
        assert made.violations == ()
        ends = list(made.ends().values())
        assert ends.count("evicted") >= 16
        assert set(ends) == {"evicted", None}
        assert made.lives is not None
        near_ones = [life for life in made.lives.pods if life.workload == "near"]
        assert {(life.queue, life.least, life.gpus) for life in near_ones} == {("two", 2, 4.0)}
        assert made.lives.levels == ("rack", "kubernetes.io/hostname")
        assert {(one.name, one.quota, one.limit) for one in made.lives.queues} >= {
            ("one", 16.0, -1.0),
            ("two", 16.0, 24.0),
        }
