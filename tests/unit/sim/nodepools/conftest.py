"""A world in virtual time: the embedded API server, its controllers, and the reconciler of NodePools."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests import worlds
from tests.worlds import Unreliable

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim.nodepools import definition
from kubedyno.sim.nodepools.definition import NODE_POOLS
from kubedyno.sim.nodepools.reconciling import reconcile_node_pools


class World(worlds.World):
    """What a test does and sees."""

    def __init__(self, client: Client, clock: LoopClock, transport: Unreliable) -> None:
        super().__init__(client, clock)
        self._transport = transport

    def writes(self, method: str) -> list[str]:
        """Paths that the reconciler wrote to since this was last asked."""
        found = [path for made, path, _body in self._transport.writes if made == method]
        self._transport.writes.clear()
        return found

    async def condition(self, pool: str, wanted: Callable[[Object], object]) -> Object:
        """The Available condition of the pool's present generation, once it is as wanted."""

        def found(pools: list[Object]) -> Object | None:
            for entry in pools:
                status, metadata = entry.get("status") or {}, entry["metadata"]
                if metadata["name"] == pool and status.get("observedGeneration") == metadata["generation"]:
                    condition = status["conditions"][0]
                    return condition if wanted(condition) else None
            return None

        return found(await self.until(NODE_POOLS, found)) or {}

    async def ready(self, pool: str = "p") -> list[Object]:
        """Wait until the pool is available; its nodes by their names."""
        await self.condition(pool, lambda condition: condition["status"] == "True")
        return await self.nodes(pool)

    async def nodes(self, pool: str = "p") -> list[Object]:
        selector = f"kwok.x-k8s.io/controller={pool}"
        found = (await self.client.list_all(NODES, label_selector=selector)).items
        return sorted(found, key=lambda node: str(node["metadata"]["name"]))

    async def patch(self, spec: Object, pool: str = "p") -> None:
        await self.client.patch(NODE_POOLS, pool, {"spec": spec}, kind="merge")


def node_pool(count: int, *, name: str = "p", **template: Any) -> Object:
    """A NodePool as the samples of the kwok-operator write it."""
    usual = {
        "apiVersion": "v1",
        "metadata": {
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "labels": {"kubernetes.io/hostname": "kwok-node", "kubernetes.io/role": "agent", "type": "kwok"},
        },
        "spec": {},
        "status": {
            "allocatable": {"cpu": 32, "memory": "256Gi", "pods": 110},
            "capacity": {"cpu": 32, "memory": "256Gi", "pods": 110},
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "",
                "kernelVersion": "",
                "kubeProxyVersion": "fake",
                "kubeletVersion": "fake",
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "",
                "systemUUID": "",
            },
            "phase": "Running",
        },
    }
    return {
        "apiVersion": NODE_POOLS.api_version,
        "kind": NODE_POOLS.kind,
        "metadata": {"name": name},
        "spec": {"nodeCount": count, "nodeTemplate": {**usual, **template}},
    }


Play = Callable[[World], Awaitable[Any]]


@pytest.fixture
def world() -> Callable[..., Any]:
    """`world(play)` runs a play beside the reconciler; `prepare` is done before that one starts."""

    def run(play: Play, *, losses: float = 0.0, prepare: Play | None = None) -> Any:
        async def main() -> Any:
            clock = LoopClock(asyncio.get_running_loop())
            api = new_api(clock=clock, seed=1)
            transport = Unreliable(api, clock=clock, losses=losses, seed=7)
            found = World(Client(InProcess(api, clock=clock), clock=clock), clock, transport)
            if prepare is not None:
                await prepare(found)
            async with tasks.owning() as group:
                others = Client(InProcess(api, clock=clock), clock=clock)
                controllers = run_controllers(others, clock=clock, seed=1, settings=ControllerSettings())
                ours = Client(transport, clock=clock)
                running = [
                    group.create_task(controllers, name="controllers"),
                    group.create_task(reconcile_node_pools(ours, clock=clock, seed=1), name="node pools"),
                ]
                while not await definition.is_served(found.client):
                    await clock.sleep(0.1)
                outcome = await play(found)
                for task in running:
                    task.cancel()
            return outcome

        return tasks.run(main, virtual=True)

    return run


@pytest.fixture
def pool() -> Callable[..., Object]:
    """`pool(count, name=..., metadata=..., spec=..., status=...)` is a NodePool with these parts of its template."""
    return node_pool
