"""Simulated nodes as tests meet them: made, broken, and looked at as a user of kubectl would."""

from collections.abc import Callable
from typing import Any

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kit.clock import Clock
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS, Resource, for_object
from kubedyno.sim import marks
from kubedyno.sim.devices import inventory
from kubedyno.sim.devices.inventory import Inventory
from kubedyno.sim.faults.injecting import Injection, Injector, Trouble
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def simulated_node(
    name: str, found: Inventory | None = None, *, labels: dict[str, str] | None = None, gpus: int = 0
) -> Object:
    """A node with room for pods, and with devices: by an inventory, or as a number of GPUs."""
    room = {"cpu": "32", "memory": "256Gi", "pods": "110", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    devices = {} if found is None else {marks.DEVICES: inventory.written(found)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            "annotations": {marks.FAKE: "fake", **devices},
        },
        "status": {"capacity": room, "allocatable": room},
    }


def taints(node: Object) -> set[tuple[str, str]]:
    """Keys and effects."""
    return {(taint["key"], taint["effect"]) for taint in (node.get("spec") or {}).get("taints") or ()}


def health_taints(key: str) -> set[tuple[str, str]]:
    """Those of a node that is not well, for as long as the controller has known it."""
    return {(key, "NoSchedule"), (key, "NoExecute")}


class Cluster:
    """What a test does and sees: mostly what a user of kubectl could."""

    def __init__(self, client: Client, clock: Clock, *, within_s: float) -> None:
        self.client = client
        self.clock = clock
        self._within_s = within_s
        self.injections: list[Injection] = []
        self.injector = Injector(client, clock, tell=self.injections.append)

    async def create(self, obj: Object) -> Object:
        resource = for_object(obj)
        return await self.client.create(resource, obj, namespace="default" if resource.namespaced else None)

    async def add_nodes(self, *names: str, gpus: int = 8, **labels: str) -> None:
        devices = Inventory(count=gpus, model="H100", show=("extended", "dra"))
        for name in names:
            await self.create(simulated_node(name, devices, labels={marks.POOL: "p", **labels}))

    async def add_pod(self, name: str, node: str, *, gpus: int = 0, **fields: Any) -> Object:
        """A pod that is bound already; `fields` go into its spec."""
        container: Object = {"name": "main", "image": "example/image"}
        if gpus:
            container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
        metadata = {"name": name, "labels": {"app": "test"}, **fields.pop("metadata", {})}
        spec = {"nodeName": node, "containers": [container], **fields}
        return await self.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    async def node(self, name: str) -> Object:
        return await self.client.get(NODES, name)

    async def pod(self, name: str) -> Object:
        return await self.client.get(PODS, name, namespace="default")

    async def fail(self, trouble: Trouble, *names: str, timing: Timing | None = None) -> None:
        await self.injector.fail(trouble, Selection(names=names), timing or Timing())

    async def recover(self, *names: str) -> None:
        await self.injector.recover(Selection(names=names))

    async def until(self, resource: Resource, predicate: Callable[[dict[str, Object]], object]) -> dict[str, Object]:
        """Wait for a state of all objects of a kind, by name."""

        def named(informer: Informer) -> dict[str, Object]:
            return {meta.key(obj)[1]: obj for obj in informer.items}

        async with Informer(self.client, resource) as informer:
            await informer.wait_until(
                lambda found: bool(predicate(named(found))), timeout_s=self._within_s, what="state"
            )
            return named(informer)

    async def until_ready(self, name: str, status: str = "True") -> Object:
        """The node when its Ready condition has that status."""

        def is_so(nodes: dict[str, Object]) -> bool:
            return (meta.condition(nodes[name], "Ready") or {}).get("status") == status

        return (await self.until(NODES, is_so))[name]

    async def until_running(self, *names: str) -> None:
        """All of them are ready."""
        await self.until(
            PODS,
            lambda pods: all(name in pods and meta.is_condition_true(pods[name], "Ready") for name in names),
        )
