"""Worlds of virtual time with the reference scheduler in them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests import worlds

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, KAI_POD_GROUPS, PODS, SERVICE_ACCOUNTS
from kubedyno.lab import installing
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.reference import REFERENCE as DIALECT
from kubedyno.schedulers.reference import REFERENCE
from kubedyno.schedulers.reference.running import schedule
from kubedyno.schedulers.reference.settings import Settings
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

GPUS = 8


class World(worlds.World):
    """A cluster with KAI's kinds, and the scheduler as something that can be stopped."""

    def __init__(self, client: Client, clock: LoopClock, group: asyncio.TaskGroup, settings: Settings) -> None:
        super().__init__(client, clock)
        self._group = group
        self._settings = settings
        self._scheduler: asyncio.Task[None] | None = None

    def start(self) -> None:
        running = schedule(self.client, clock=self.clock, seed=1, cycle_s=0.01, settings=self._settings)
        self._scheduler = self._group.create_task(running)

    async def stop(self) -> None:
        assert self._scheduler is not None
        self._scheduler.cancel()
        await asyncio.wait([self._scheduler])

    async def create(self, *objects: Object) -> None:
        for obj in objects:
            resource = await self.client.resource_of(obj)
            await self.client.create(resource, obj, namespace="default" if resource.namespaced else None)

    async def nodes(self, count: int, *, prefix: str = "n", **labels: Callable[[int], str]) -> None:
        for index in range(count):
            made = {key.replace("_", "/"): value(index) for key, value in labels.items()}
            await self.create(node(f"{prefix}{index:02}", made))

    async def submit(self, workload: Workload) -> None:
        await self.create(*DIALECT.objects(workload))

    async def queues(self, *queues: Queue) -> None:
        await self.create(*DIALECT.queues(queues))

    async def pods(self) -> dict[str, Object]:
        return {one["metadata"]["name"]: one for one in (await self.client.list_all(PODS)).items}

    async def settled(self, seconds: float = 5.0) -> dict[str, str]:
        """Pods with their nodes, when nothing was new for a while; those without have none."""
        await self.clock.sleep(seconds)
        return {name: one["spec"].get("nodeName") or "" for name, one in (await self.pods()).items()}

    async def events(self, reason: str) -> list[Object]:
        return [one for one in (await self.client.list_all(CORE_EVENTS)).items if one["reason"] == reason]

    async def group(self, name: str) -> Object:
        return await self.client.get(KAI_POD_GROUPS, name, namespace="default")


def node(name: str, labels: dict[str, str] | None = None, gpus: int = GPUS) -> Object:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": None}],
        },
    }


def played(play: Callable[[World], Awaitable[Any]], *, settings: Settings | None = None, kinds: bool = True) -> Any:
    async def main() -> Any:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=1), clock=clock, cost_s=0.0001), clock=clock)
        async with tasks.owning() as group:
            world = World(client, clock, group, settings or Settings())
            controllers = group.create_task(run_controllers(client, clock=clock, seed=1, settings=ControllerSettings()))
            await world.until(
                SERVICE_ACCOUNTS, lambda found: any(one["metadata"]["namespace"] == "default" for one in found)
            )
            if kinds:
                await installing.create_missing(client, REFERENCE.definitions())
                await installing.await_crds(client, REFERENCE.definitions())
                await installing.install_objects(client, REFERENCE.base_objects())
            world.start()
            outcome = await play(world)
            await world.stop()
            controllers.cancel()
        return outcome

    return tasks.run(main, virtual=True)


def quota(name: str, gpus: float, **more: Any) -> Queue:
    return Queue(name=name, gpu=Share(quota=gpus, **more))


def bound(placed: dict[str, str], name: str) -> int:
    """How many pods of a workload have nodes."""
    return sum(1 for pod, on in placed.items() if on and pod.rpartition("-")[0] == name)
