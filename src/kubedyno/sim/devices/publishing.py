"""Publishing the devices of all simulated nodes: extended resources in their status, ResourceSlices beside them.

This is what a device plugin and a DRA driver on every node would do. Whoever plays the kubelets does not matter.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.client.watching import ChangeType, Event, Glance, Heed, Listed
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S, Clock, parse_rfc3339_ns
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, Resource, by_kind
from kubedyno.sim import marks
from kubedyno.sim.devices import classes, inventory, plugin, slices
from kubedyno.sim.devices.inventory import NVIDIA_DRIVER, Inventory
from kubedyno.sim.devices.occupying import GivenGpus
from kubedyno.sim.devices.plugin import Resources
from kubedyno.sim.devices.reserving import reserve_gpus
from kubedyno.sim.devices.versions import served_version, slices_of
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.fault import Faults, GpuLost
from kubedyno.sim.following import follow, present

_WORKERS: Final = 16
_MOST_BACKOFF_S: Final = 5.0
_MARKS: Final = (marks.DEVICES.encode(), marks.FAULTS.encode())
_log = Log("sim.devices")


async def publish_devices(
    client: Client,
    *,
    clock: Clock,
    seed: int,
    manages: Callable[[str], bool] | None = None,
    given: GivenGpus | None = None,
    api_version: str | None = None,
) -> None:
    """Publish until cancelled what the annotations of nodes say, and give reservation pods their GPUs.

    Of nodes whose GPUs are a number in their capacity only, those are published that are lost.
    `manages` says by name which nodes are ours; without it all are. `given` knows which GPUs the kubelets gave to
    pods. `api_version` of ResourceSlices is the newest that the server has, unless one is named.
    """
    async with tasks.owning() as group:
        version = api_version or await served_version(client)
        publisher = _Publisher(client, clock, group, version, manages or (lambda _: True))
        rng = randomness.stream(seed, "devices")
        nodes = follow(client, NODES, publisher.hear_nodes, rng=rng, heeds=publisher.heeds)
        group.create_task(nodes, name="nodes with devices")
        if version is not None:
            rng = randomness.stream(seed, "resource slices")
            published = follow(client, slices_of(version), publisher.hear_slices, rng=rng)
            group.create_task(published, name="resource slices")
        reservations = reserve_gpus(client, clock=clock, seed=seed, manages=manages, given=given)
        group.create_task(reservations, name="reservation pods")
        for number in range(_WORKERS):
            group.create_task(publisher.work(), name=f"devices {number}")


class _Node:
    """What is remembered of a node with devices."""

    __slots__ = ("driver", "faults", "inventory", "is_shown", "loses", "published", "ready_ns", "resources", "uid")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.inventory: Inventory | None = None
        self.faults: Faults = ()
        self.loses = False
        """Whether its faults name lost GPUs, or did so when it was published last."""
        self.ready_ns: int | None = None
        """Since when it is ready; None while it is not."""
        self.resources = Resources()
        self.driver = ""
        """By which its slices are published; empty while there are none of ours."""
        self.is_shown = False
        """Once its devices were shown they stay, ready or not."""
        self.published: tuple[Inventory, frozenset[int]] | None = None
        """What its slices say, and which GPUs are lost there; None when they must be looked at."""

    def learn(self, node: Object) -> None:
        """Take over what the node says; what cannot be read is told, and what was known stays."""
        self.resources = plugin.shown(node)
        ready = meta.condition(node, "Ready")
        is_ready = ready is not None and ready.get("status") == "True"
        since = (ready or {}).get("lastTransitionTime")
        self.ready_ns = (parse_rfc3339_ns(since) if since else 0) if is_ready else None
        try:
            self.inventory = inventory.of(node)
            self.faults = fault.of(node)
        except UsageError as error:
            _log.warning(f"node {node['metadata']['name']}: {error}")
            return
        self.loses = self.loses or self.names_lost

    @property
    def names_lost(self) -> bool:
        """Whether its faults name GPUs that are, were or will be lost."""
        return any(isinstance(one, GpuLost) for one in self.faults)


class _Publisher:
    """The memory of all nodes and slices, and the work on them. Work on a node begins when both are known."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        group: asyncio.TaskGroup,
        version: str | None,
        manages: Callable[[str], bool],
    ) -> None:
        self._client = client
        self._manages = manages
        self._clock = clock
        self._version = version
        self._nodes: dict[str, _Node] = {}
        self._slices: dict[str, dict[str, slices.Live]] = {}
        """By driver and node's name (`_pool_key`), then by the slice's name."""
        self._slices_known = version is None
        self._understood: dict[bytes, bytes] = {}
        """What the server made of contents, where it is not what it was given."""
        self._names: WorkQueue[str] = WorkQueue(clock, group.create_task, most_s=_MOST_BACKOFF_S)
        self._classes = asyncio.Lock()
        self._classes_there = False

    def heeds(self, kind: ChangeType, glance: Glance, raw: bytes) -> Heed:
        """Nodes without devices are many, and change often: they are not even read."""
        if kind == "DELETED":
            return "metadata"
        if glance.metadata.name in self._nodes or any(mark in raw for mark in _MARKS):
            return "whole"
        return "not"

    def hear_nodes(self, event: Event) -> None:
        for node in present(event, self._nodes, self._node_gone, lambda node: str(node["metadata"]["name"])):
            if self._manages(node["metadata"]["name"]):
                self._node_seen(node)

    def _node_gone(self, name: str) -> None:
        # Its slices are its dependents: the garbage collector takes them.
        self._nodes.pop(name, None)

    def _node_seen(self, obj: Object) -> None:
        name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
        node = self._nodes.get(name)
        if node is None and not _may_have_news(obj):
            return
        if node is None or node.uid != uid:
            node = _Node(uid)
        node.learn(obj)
        if node.inventory is None and not node.driver and not node.loses:
            self._nodes.pop(name, None)
            return
        self._nodes[name] = node
        self._names.add(name)

    def hear_slices(self, event: Event) -> None:
        if isinstance(event, Listed):
            touched = set(self._slices)
            self._slices.clear()
            for obj in event.items:
                touched.add(self._slice_seen(obj))
            if not self._slices_known:
                self._slices_known = True
                for name in self._nodes:
                    self._names.add(name)
        elif event.type == "DELETED":
            touched = {_pool_key(event.object)}
            self._slices.get(_pool_key(event.object), {}).pop(event.object["metadata"]["name"], None)
        else:
            touched = {self._slice_seen(event.object)}
        for key in touched:
            name = key.partition(" ")[2]
            if name in self._nodes:
                self._nodes[name].published = None
                self._names.add(name)

    def _slice_seen(self, obj: Object) -> str:
        key, seen = _pool_key(obj), slices.live(obj)
        pool = self._slices.setdefault(key, {})
        known = pool.get(seen.name)
        # News of a state before our last write may still come.
        if known is None or known.uid != seen.uid or known.generation <= seen.generation:
            pool[seen.name] = seen
        return key

    async def work(self) -> None:
        """Work off the nodes that changed, until cancelled."""
        while True:
            name = await self._names.get()
            try:
                await self._publish(name)
            except (ApiError, Unreachable) as error:
                if isinstance(error, ApiError) and (error.is_not_found or error.is_conflict):
                    _log.debug("devices changed meanwhile", node=name, error=error)
                elif not may_pass(error):
                    _log.warning(f"the devices of node {name} are not published: {error}")
                self._names.retry(name)
            else:
                self._names.forget(name)
            finally:
                self._names.done(name)

    async def _publish(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is None or not self._slices_known:
            return
        now_ns = self._clock.wall_ns()
        change_ns = fault.next_change_ns(node.faults, now_ns)
        if change_ns is not None:
            self._names.add_after(name, (change_ns - now_ns) / NS_PER_S)
        if fault.is_down(node.faults, now_ns):
            return  # nobody is there to publish anything
        if node.inventory is None:
            await self._withdraw(name, node)
            if node.loses:
                await self._publish_plain(name, node, fault.lost_gpus(node.faults, now_ns))
            return
        wait_s = self._wait_s(name, node, now_ns)
        if wait_s is None:
            return  # the node is looked at again when it gets ready
        if wait_s > 0:
            self._names.add_after(name, wait_s)
            return
        node.is_shown = True
        lost = fault.lost_gpus(node.faults, now_ns) & frozenset(range(node.inventory.count))
        await self._publish_all(name, node, node.inventory, lost)

    def _wait_s(self, name: str, node: _Node, now_ns: int) -> float | None:
        """Seconds until the devices are shown; None while the node is not ready."""
        found = node.inventory
        assert found is not None  # noqa: S101 - the caller looked
        existing = self._slices.get(f"{found.driver} {name}", {}).values()
        if node.is_shown or node.resources.capacity or any(one.owner == node.uid for one in existing):
            return 0.0
        if node.ready_ns is None:
            return None
        return max(0.0, (node.ready_ns - now_ns) / NS_PER_S + found.delay_seconds)

    async def _publish_all(self, name: str, node: _Node, found: Inventory, lost: frozenset[int]) -> None:
        if found.plain is None:
            await self._publish_resources(name, node, plugin.node_resources(found, lost))
        if "dra" in found.show:
            await self._publish_slices(name, node, found, lost)
        elif node.driver:
            await self._withdraw(name, node)

    async def _publish_plain(self, name: str, node: _Node, lost: frozenset[int]) -> None:
        named = node.names_lost
        await self._publish_resources(name, node, plugin.plain_resources(node.resources, lost))
        # Faults may have come or gone meanwhile: then the node is looked at once more.
        node.loses = named or node.names_lost

    async def _publish_resources(self, name: str, node: _Node, wanted: Resources) -> None:
        patch = plugin.status_patch(node.resources, wanted)
        if patch is None:
            return
        # The uid guards against a new node of the same name.
        patch["metadata"] = {"uid": node.uid}
        await self._client.patch(NODES, name, patch, kind="merge", subresource="status")
        node.resources = wanted

    async def _publish_slices(self, name: str, node: _Node, found: Inventory, lost: frozenset[int]) -> None:
        if node.published == (found, lost):
            return
        node.published = (found, lost)
        try:
            await self._put_slices_right(name, node, found, lost)
        except BaseException:
            node.published = None
            raise

    async def _put_slices_right(self, name: str, node: _Node, found: Inventory, lost: frozenset[int]) -> None:
        if self._version is None:
            _log.warning(f"node {name} shows devices by DRA, and the server has no ResourceSlices")
            return
        if found.driver == NVIDIA_DRIVER:
            await self._provide_classes(self._version)
        if node.driver and node.driver != found.driver:
            await self._withdraw(name, node)
        node.driver = found.driver
        wanted = slices.contents(name, found, lost)
        existing = self._slices.setdefault(f"{found.driver} {name}", {})
        digests = [slices.digest(content) for content in wanted]
        understood = [self._understood.get(one, one) for one in digests]
        plan = slices.plan(understood, existing.values(), owner=node.uid)
        if plan is None:
            return
        version = (found.plain.api_version if found.plain is not None else "") or self._version
        resource = slices_of(version)
        pool = slices.pool(name, plan.generation, len(wanted))
        for obsolete in plan.delete:
            await self._delete(resource, existing, obsolete)
        for index, known in plan.update:

            def change(obj: Object, content: Object = wanted[index]) -> None:
                slices.renew(obj, pool, content)

            self._written(await self._client.modify(resource, known.name, change), digests[index])
        for index in plan.create:
            new = slices.new_slice(
                found.driver, index, pool, wanted[index], owner=node.uid, is_labelled=found.plain is not None
            )
            self._slice_seen(await self._client.create(resource, {"apiVersion": version, "kind": resource.kind} | new))

    def _written(self, answer: Object, wanted: bytes) -> None:
        """Take over the server's answer. A server that lacks a feature drops its fields: that must do."""
        self._slice_seen(answer)
        made = slices.digest(answer["spec"])
        if made != wanted:
            self._understood[wanted] = made

    async def _withdraw(self, name: str, node: _Node) -> None:
        """Delete the slices that were published before and are no longer shown."""
        existing = self._slices.get(f"{node.driver} {name}", {})
        if self._version is not None:
            for obsolete in list(existing.values()):
                await self._delete(slices_of(self._version), existing, obsolete)
        node.driver, node.published = "", None

    async def _delete(self, resource: Resource, existing: dict[str, slices.Live], obsolete: slices.Live) -> None:
        try:
            await self._client.delete(resource, obsolete.name, uid=obsolete.uid)
        except ApiError as error:
            if not (error.is_not_found or error.is_conflict):
                raise
        existing.pop(obsolete.name, None)

    async def _provide_classes(self, version: str) -> None:
        """Create the driver's DeviceClasses once, where nobody else has."""
        async with self._classes:
            if self._classes_there:
                return
            for wanted in classes.device_classes(version):
                try:
                    await self._client.create(by_kind(version, "DeviceClass"), wanted)
                except ApiError as error:
                    if not error.is_already_exists:
                        raise
            self._classes_there = True


def _may_have_news(node: Object) -> bool:
    """Whether a node that is not known yet has devices to publish: its own, or plain ones that may be lost."""
    annotations = meta.annotations(node)
    return marks.DEVICES in annotations or (marks.FAULTS in annotations and marks.FAKE in annotations)


def _pool_key(obj: Object) -> str:
    spec = obj["spec"]
    return f"{spec['driver']} {(spec.get('pool') or {}).get('name', '')}"
