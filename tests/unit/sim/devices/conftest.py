"""A world in virtual time: the embedded API server with its controllers, and our devices on top."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests import worlds
from tests.simulated import simulated_node
from tests.worlds import Unreliable

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES, NODES, PODS, RESOURCE_SLICES, SERVICE_ACCOUNTS
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim.devices.inventory import Inventory
from kubedyno.sim.devices.publishing import publish_devices

SETTINGS = ControllerSettings(node_grace_s=1e6, node_startup_grace_s=1e6)  # nobody renews leases here


class World(worlds.World):
    """What a test does and sees."""

    def stamp(self, later_s: int = 0) -> str:
        return seconds_text(self.clock.wall_ns() + later_s * 10**9)

    async def node(
        self, name: str, found: Inventory | None = None, *, ready: bool = True, gpus: int = 0, **annotations: str
    ) -> Object:
        """A node with an inventory, or with GPUs that are a number only."""
        node = simulated_node(name, found, gpus=gpus)
        node["metadata"]["annotations"] |= annotations
        node = await self.client.create(NODES, node)
        if ready:
            await self.ready(name)
        return node

    async def ready(self, name: str) -> None:
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": self.stamp()}
        patch = {"status": {"conditions": [condition]}}
        await self.client.patch(NODES, name, patch, kind="strategic", subresource="status")

    async def annotate(self, name: str, **annotations: str | None) -> None:
        await self.client.patch(NODES, name, {"metadata": {"annotations": annotations}}, kind="merge")

    async def run_pod(self, name: str, namespace: str, node: str, **metadata: Any) -> Object:
        """A bound pod that runs, whoever plays its kubelet."""
        limits = metadata.pop("limits", {})
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, **metadata},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
            },
        }
        await self.client.create(PODS, pod)
        return await self.phase(name, namespace, "Running")

    async def phase(self, name: str, namespace: str, phase: str) -> Object:
        patch = {"status": {"phase": phase}}
        return await self.client.patch(PODS, name, patch, kind="merge", namespace=namespace, subresource="status")

    async def namespace(self, name: str) -> None:
        await self.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await self.until(SERVICE_ACCOUNTS, lambda found: any(one["metadata"]["namespace"] == name for one in found))

    async def node_until(self, name: str, predicate: Callable[[Object], object]) -> Object:
        def look(nodes: list[Object]) -> bool:
            return any(node["metadata"]["name"] == name and predicate(node) for node in nodes)

        found = await self.until(NODES, look)
        return next(node for node in found if node["metadata"]["name"] == name)

    async def slices_until(self, predicate: Callable[[list[Object]], object]) -> list[Object]:
        found = await self.until(RESOURCE_SLICES, predicate)
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))


Play = Callable[[World, Unreliable], Awaitable[Any]]


def play_in_world(play: Play, *, losses: float = 0.0, away: bool = False, **options: Any) -> Any:
    async def main() -> Any:
        clock = LoopClock(asyncio.get_running_loop())
        api = new_api(clock=clock, seed=1)
        world = World(Client(InProcess(api, clock=clock), clock=clock), clock)
        transport = Unreliable(api, clock=clock, losses=losses)
        transport.is_away = away
        ours = Client(transport, clock=clock)
        async with tasks.owning() as group:
            controllers = group.create_task(
                run_controllers(
                    Client(InProcess(api, clock=clock), clock=clock), clock=clock, seed=1, settings=SETTINGS
                )
            )
            await world.until(SERVICE_ACCOUNTS, lambda found: found)
            publishing = group.create_task(publish_devices(ours, clock=clock, seed=1, **options))
            outcome = await play(world, transport)
            publishing.cancel()
            controllers.cancel()
        return outcome

    return tasks.run(main, virtual=True)


@pytest.fixture
def world() -> Callable[..., Any]:
    """`world(play)` runs a play in a new world; `losses` make our connection unreliable."""
    return play_in_world
