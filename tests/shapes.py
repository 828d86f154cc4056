"""A cluster for shapes of workloads: 4 racks of 2 nodes with 8 GPUs, what is submitted to it, and what became of it."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.labs import lab_in_process

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Informer
from kubedyno.controllers.podfacts import is_deleting
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    JOBS,
    KAI_POD_GROUPS,
    KAI_QUEUES,
    NODES,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    Resource,
)
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab
from kubedyno.model.dialects import Dialect
from kubedyno.model.features import Feature, missing
from kubedyno.model.lifecycles import Shown
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness, Workload
from kubedyno.schedulers import shows
from kubedyno.sim.devices import sharing
from kubedyno.sim.pools import Gpus, Level, Pool, Topology, applying, base
from kubedyno.sim.pools.pool import level_label

RACKS, NODES_PER_RACK, GPUS_PER_NODE = 4, 2, 8
NODE_COUNT = RACKS * NODES_PER_RACK
GPU_COUNT = NODE_COUNT * GPUS_PER_NODE
POOL = "racks"
RACK = level_label("rack")
WITHIN_S = 30.0

in_one_rack = Closeness(topology=POOL, required=RACK)
near_a_rack = Closeness(topology=POOL, preferred=RACK)


class Cluster:
    """A lab with the nodes; every test has it for itself, empty."""

    def __init__(self, lab: RunningLab, pods: Informer, racks: Mapping[str, str]) -> None:
        self.lab = lab
        self.client = lab.client
        self.pods = pods
        self.victims: dict[str, str] = {}
        """Pods that were evicted, and by whom; empty where nobody said so.

        KAI writes the condition of a victim beside its deletion, which may come first.
        """
        self._ours: set[str] = set()
        self._racks = racks
        self._queues: dict[str, Queue] = {}
        pods.subscribe(self._hear)

    @property
    def dialect(self) -> Dialect:
        assert self.lab.plan.scheduler is not None
        return self.lab.plan.scheduler.dialect

    def needs(self, *features: Feature) -> None:
        """Skip what the scheduler cannot express: it says so itself."""
        assert self.lab.plan.scheduler is not None
        lacking = missing(features, self.lab.plan.scheduler.lacks)
        if lacking:
            pytest.skip("; ".join(lacking))

    def _hear(self, change: Change) -> None:
        state = change.new or change.old
        assert state is not None
        for shown in shows.pod(state):
            if shown.phase == "evicted":
                self.victims[state["metadata"]["name"]] = shown.detail
        name = state["metadata"]["name"]
        if change.new is None and state["spec"].get("nodeName") and name not in self._ours:
            self.victims.setdefault(name, "")

    async def queue(self, name: str, *, quota: float = -1.0, limit: float = -1.0, parent: str | None = None) -> str:
        self._queues[name] = Queue(name=name, parent=parent, gpu=Share(quota=quota, limit=limit))
        await installing.install_objects(self.client, self.dialect.queues((self._queues[name],)))
        return name

    async def submit(self, shape: Workload, *, queue: str | None = None, count: int = 1) -> list[str]:
        """Create workloads one after another, so that the last is the newest; their names."""
        shape = msgspec.structs.replace(shape, queue=queue or shape.queue)
        names = [shape.name] if count == 1 else [f"{shape.name}-{index}" for index in range(count)]
        for name in names:
            for document in self.dialect.objects(msgspec.structs.replace(shape, name=name)):
                await self.client.create(await self.client.resource_of(document), document, field_validation="Strict")
        return names

    def of(self, workload: str) -> list[Object]:
        """Pods of a workload that are there."""
        return [pod for pod in self.pods.items if meta.labels(pod).get("kubedyno/workload") == workload]

    def placed(self, workload: str) -> list[str]:
        """Nodes of the pods of a workload that have one."""
        nodes = (pod["spec"].get("nodeName") for pod in self.of(workload) if not is_deleting(pod))
        return sorted(node for node in nodes if node)

    def rack(self, pod: Object) -> str:
        """The rack of the node that a pod has."""
        return self._racks[pod["spec"]["nodeName"]]

    def racks(self, workload: str) -> Counter[str]:
        return Counter(self._racks[node] for node in self.placed(workload))

    async def runs(self, workload: str, count: int = 1) -> None:
        """Wait until so many pods of a workload run."""

        def all_run(_: Informer) -> bool:
            running = [pod for pod in self.of(workload) if pod["status"].get("phase") == "Running"]
            return len([pod for pod in running if not is_deleting(pod)]) == count

        await self.pods.wait_until(all_run, timeout_s=WITHIN_S, what=f"{count} running pods of {workload}")

    async def is_refused(self, workload: str) -> None:
        """Wait until a workload shows that it is unschedulable; then none of its pods has a node."""

        def is_shown(_: Informer) -> bool:
            return any(shown.phase == "unschedulable" for pod in self.of(workload) for shown in shows.pod(pod))

        await self.pods.wait_until(is_shown, timeout_s=WITHIN_S, what=f"{workload} to be refused")
        assert self.placed(workload) == []

    async def shown(
        self, resource: Resource, name: str, shows_of: Callable[[Object], Iterable[Shown]], phase: str
    ) -> Object:
        """The object, once it shows a phase."""

        def is_shown(found: Informer) -> bool:
            state = found.get(("default", name))
            return state is not None and any(shown.phase == phase for shown in shows_of(state))

        async with Informer(self.client, resource, namespace="default") as objects:
            await objects.wait_until(is_shown, timeout_s=WITHIN_S, what=f"{name} to be {phase}")
            state = objects.get(("default", name))
            assert state is not None
            return state

    async def group_made(self, workload: str) -> Object:
        """The PodGroup that podgrouper makes of a Job's pod, once it is there."""

        def made(found: Informer) -> list[Object]:
            stem = f"pg-{workload}-"
            return [group for group in found.items if group["metadata"]["name"].startswith(stem)]

        async with Informer(self.client, KAI_POD_GROUPS, namespace="default") as groups:
            await groups.wait_until(lambda found: bool(made(found)), timeout_s=WITHIN_S, what=f"group of {workload}")
            [group] = made(groups)
            return group

    async def reservations(self) -> list[Object]:
        """The pods that hold GPUs for fractions."""
        found = await self.client.list_all(PODS, label_selector=sharing.SELECTOR)
        return list(found.items)

    async def delete(self, workload: str) -> None:
        """Take a workload away and wait until its pods are gone."""
        self._ours |= {pod["metadata"]["name"] for pod in self.of(workload)}
        for resource in (JOBS, KAI_POD_GROUPS, POD_GROUPS, RESOURCE_CLAIM_TEMPLATES):
            await self._delete(resource, workload)
        for pod in self.of(workload):
            await self._delete(PODS, pod["metadata"]["name"])
        await self.pods.wait_until(lambda _: not self.of(workload), timeout_s=WITHIN_S, what=f"{workload} to be gone")

    async def clear(self) -> None:
        """Take everything away, as after every test."""
        for resource in (JOBS, KAI_POD_GROUPS, POD_GROUPS, RESOURCE_CLAIM_TEMPLATES):
            with contextlib.suppress(ApiError):
                await self.client.delete_collection(resource, namespace="default", propagation="Background")
        await self.client.delete_collection(PODS, namespace="default")
        await self.pods.wait_until(lambda pods: not pods.items, timeout_s=WITHIN_S, what="all pods to be gone")
        for name in reversed(self._queues):
            await self._delete(KAI_QUEUES, name)
        self._queues.clear()
        self.victims.clear()
        self._ours.clear()

    async def _delete(self, resource: Resource, name: str) -> None:
        try:
            await self.client.delete(
                resource,
                name,
                namespace="default" if resource.namespaced else None,
                propagation="Background",
            )
        except ApiError as error:
            if not error.is_not_found:
                raise


@contextlib.asynccontextmanager
async def device_node(cluster: Cluster) -> AsyncIterator[str]:
    """One more node, with DRA devices; not for all tests: kube-scheduler gives them to any pod that asks for GPUs."""
    pool = msgspec.structs.replace(
        base("devices", 1), gpus=Gpus(model="H100", count=GPUS_PER_NODE, show=("dra",)), labels={}
    )
    await applying.apply(cluster.client, [pool])
    yield "devices-0"
    await cluster.clear()
    await applying.delete(cluster.client, ["devices"])


@contextlib.asynccontextmanager
async def shapes_cluster(folder: Path, **options: Any) -> AsyncIterator[Cluster]:
    """A lab with racks of nodes."""
    racks = Pool(
        name=POOL,
        count=NODE_COUNT,
        gpus=GPUS_PER_NODE,
        topology=Topology(levels=(Level(level="rack", count=RACKS), Level(level="node", count=NODES_PER_RACK))),
    )
    async with lab_in_process(folder, **options) as lab:
        await applying.apply(lab.client, [racks])
        nodes = (await lab.client.list_all(NODES)).items
        places = {node["metadata"]["name"]: meta.labels(node).get(RACK, "") for node in nodes}
        async with Informer(lab.client, PODS, namespace="default") as pods:
            yield Cluster(lab, pods, places)
