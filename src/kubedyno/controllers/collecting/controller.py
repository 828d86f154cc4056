"""The garbage collector: follows every resource that can be deleted, custom ones as they come and go."""

import asyncio
from functools import partial

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Change, Informer
from kubedyno.controllers.collecting import deciding
from kubedyno.controllers.collecting.deciding import Decision, Delete, OwnerState, Patch
from kubedyno.controllers.collecting.graph import ORPHAN, Graph, Node, node_of
from kubedyno.controllers.engine import Engine, all_of
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.serving import Served, served
from kubedyno.kit import randomness
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import BUILT_IN, Resource, UnknownResource

COMPONENT = "garbage-collector-controller"

_WORKERS = 20
_IGNORED = frozenset({"events", "events.events.k8s.io"})
_NEEDED_VERBS = frozenset({"delete", "list", "watch"})
_BUILT_IN = frozenset(BUILT_IN)
_ABSENT_AT_MOST = 500


class GarbageCollector:
    """Deletes what lost its owners, and sees to the finalizers `foregroundDeletion` and `orphan`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._graph = Graph()
        self._queue: WorkQueue[str] = engine.queue()
        self._absent: dict[tuple[str, str], None] = {}
        self._is_complete = False
        self._custom: dict[Resource, asyncio.Task[None]] = {}
        for resource in _followed(engine.served):
            if resource in _BUILT_IN:
                engine.informer(resource).subscribe(partial(self._changed, resource))

    def start(self) -> None:
        """Look at all that have an owner, then at what changes."""
        self._is_complete = True
        self._look_at(self._graph.unsettled())
        self._engine.work(COMPONENT, self._queue, self._attempt, workers=_WORKERS)
        self._engine.every(self._engine.settings.discovery_period_s, self._follow_custom, f"{COMPONENT} discovery")

    async def _follow_custom(self) -> None:
        """Follow the custom resources that are served now."""
        for resource in _followed(await served(self._engine.client)):
            if resource not in _BUILT_IN and resource not in self._custom:
                self._custom[resource] = self._engine.group.create_task(
                    self._follow(resource), name=f"{COMPONENT} of {resource.full_name}"
                )

    async def _follow(self, resource: Resource) -> None:
        rng = randomness.stream(self._engine.seed, f"garbage collector watch {resource.full_name}")
        informer = Informer(self._engine.client, resource, rng=rng)
        informer.subscribe(partial(self._changed, resource))
        try:
            async with informer:
                await asyncio.Event().wait()
        except (ApiError, Unreachable):
            # Its definition is gone, and with it all objects.
            for node in self._graph.of_resource(resource):
                self._look_at(self._graph.remove(node.uid))
        finally:
            del self._custom[resource]

    def _changed(self, resource: Resource, change: Change) -> None:
        if change.new is None:
            self._look_at(self._graph.remove(change.object["metadata"]["uid"]))
        else:
            if change.old is not None and change.old["metadata"]["uid"] != change.new["metadata"]["uid"]:
                self._look_at(self._graph.remove(change.old["metadata"]["uid"]))
            self._look_at(self._graph.put(node_of(resource, change.new)))

    def _look_at(self, uids: list[str]) -> None:
        if self._is_complete:
            for uid in uids:
                self._queue.add(uid)

    async def _attempt(self, uid: str) -> None:
        node = self._graph.get(uid)
        if node is None:
            return
        if node.orphans_dependents:
            await self._orphan(node)
        elif node.deletes_dependents:
            await self._carry_out(node, deciding.about_dependents(node, self._graph.dependents(uid)))
        elif not node.is_deleting and node.owners:
            states = {ref["uid"]: await self._state_of(ref, node) for ref in node.owners}
            await self._carry_out(node, deciding.about_owners(node, states, self._graph.dependents(uid)))

    async def _state_of(self, reference: Object, node: Node) -> OwnerState:
        owner = self._graph.get(reference["uid"])
        if (
            owner is not None
            and owner.namespace in {"", node.namespace}
            and (owner.resource.kind, owner.name) == (reference["kind"], reference["name"])
        ):
            return "waiting" if owner.deletes_dependents else "solid"
        key = (reference["uid"], node.namespace)
        if key in self._absent:
            return "dangling"
        try:
            resource = await self._engine.client.resource(reference["apiVersion"], reference["kind"])
        except UnknownResource:
            # A kind that nobody serves may come back: nothing is deleted on such grounds.
            self._queue.add_after(node.uid, self._engine.settings.discovery_period_s)
            return "solid"
        if resource.namespaced and not node.namespace:
            return "solid"
        found = await self._asked_for(resource, reference, node)
        if found is not None:
            if resource not in _BUILT_IN and resource not in self._custom:
                # A kind too new to be followed: nobody would tell us of the owner's end.
                self._queue.add_after(node.uid, self._engine.settings.discovery_period_s)
            return "waiting" if node_of(resource, found).deletes_dependents else "solid"
        self._absent[key] = None
        if len(self._absent) > _ABSENT_AT_MOST:
            del self._absent[next(iter(self._absent))]
        return "dangling"

    async def _asked_for(self, resource: Resource, reference: Object, node: Node) -> Object | None:
        """The very owner as the server has it."""
        try:
            found = await self._engine.client.get(
                resource, reference["name"], namespace=node.namespace if resource.namespaced else None
            )
        except ApiError as error:
            if not error.is_not_found:
                raise
            return None
        return found if found["metadata"]["uid"] == reference["uid"] else None

    async def _orphan(self, node: Node) -> None:
        dependents = self._graph.dependents(node.uid)
        outcomes = await all_of(
            [partial(self._carry_out, entry, deciding.without_owners(entry, [node.uid])) for entry in dependents]
        )
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        await self._carry_out(node, deciding.without_finalizer(node, ORPHAN))

    async def _carry_out(self, node: Node, decision: Decision) -> None:
        try:
            match decision:
                case Patch(metadata, then):
                    await self._patch(node, metadata)
                    if then is not None:
                        await self._delete(node, then, None)
                case Delete():
                    await self._delete(node, decision, node.version)
                case deciding.LookAt(uids):
                    self._look_at(list(uids))
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def _patch(self, node: Node, metadata: Object) -> None:
        await self._engine.client.patch(
            node.resource, node.name, {"metadata": metadata}, kind="merge", namespace=node.namespace or None
        )

    async def _delete(self, node: Node, decision: Delete, version: str | None) -> None:
        await self._engine.client.delete(
            node.resource,
            node.name,
            namespace=node.namespace or None,
            propagation=decision.propagation,
            uid=node.uid,
            resource_version=version,
        )


def _followed(resources: list[Served]) -> list[Resource]:
    return [
        entry.resource
        for entry in resources
        if entry.verbs >= _NEEDED_VERBS and entry.resource.full_name not in _IGNORED
    ]
