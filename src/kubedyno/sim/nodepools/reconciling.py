"""Reconciling NodePools: the nodes of each are created, changed and deleted side by side until it is what it says."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final

from kubedyno.client.errors import MESSAGE_LIMIT, ApiError, Malformed, Unreachable
from kubedyno.client.informer import Change, Informer, Key
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.controllers.engine import all_of
from kubedyno.controllers.expecting import EXPIRY_S, Expectations, Written
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.sim import marks
from kubedyno.sim.nodepools import conditions, definition, planning
from kubedyno.sim.nodepools.conditions import Told
from kubedyno.sim.nodepools.deferring import operator_at_work
from kubedyno.sim.nodepools.definition import NODE_POOLS
from kubedyno.sim.nodepools.planning import Plan
from kubedyno.sim.nodepools.template import WRITTEN, Template
from kubedyno.sim.pools import ranges

FINALIZER: Final = "kwok.sigs.run-ai.com/finalizer"

_log = Log("nodepools")

_WORKERS = 8
_ATTEMPTS = 10
_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 60.0
_SERVED_SOON_S = 0.1
_SERVED_AGAIN_S = 5.0
_OPERATOR_GONE_S = 60.0
_BY_POOL = "pool"

Write = Callable[[], Awaitable[object]]
Failure = ApiError | Unreachable


async def reconcile_node_pools(client: Client, *, clock: Clock, seed: int) -> None:
    """Define the kind and reconcile its objects until cancelled.

    Where the kwok-operator runs it is left to that. A definition that somebody deletes is waited for.
    """
    installed, pause_s = False, _SERVED_SOON_S
    while True:
        try:
            if not installed:
                await definition.install(client)
                installed = True
            while not await definition.is_served(client):
                await clock.sleep(pause_s)
            await _follow(client, clock, seed)
        except (ApiError, Unreachable) as error:
            if not may_pass(error) and not (isinstance(error, ApiError) and error.is_not_found):
                raise
            _log.debug("NodePools are not served", error=error)
        pause_s = _SERVED_AGAIN_S
        await clock.sleep(pause_s)


async def _follow(client: Client, clock: Clock, seed: int) -> None:
    """Reconcile for as long as the kind is there. Nodes are looked at from the first pool on: most labs have none."""
    rng = randomness.stream(seed, "node pools")
    seen = asyncio.Event()
    pools = Informer(client, NODE_POOLS, rng=rng)
    stop = pools.subscribe(lambda _change: seen.set())
    async with pools, tasks.owning() as group:
        await seen.wait()
        stop()
        await _operator_gone(client, clock)
        nodes = Informer(client, NODES, indexes={_BY_POOL: _pool_names}, rng=rng)
        reconciler = _Reconciler(client, clock, group, pools, nodes)
        async with nodes:
            reconciler.look_at_all()
            for number in range(_WORKERS):
                group.create_task(reconciler.work(), name=f"node pools {number}")
            await asyncio.Event().wait()


async def _operator_gone(client: Client, clock: Clock) -> None:
    """Return when no kwok-operator runs; one that does is told of once."""
    told = False
    while (found := await operator_at_work(client)) is not None:
        if not told:
            _log.warning("NodePools are left to the kwok-operator that runs in this cluster", found=found)
            told = True
        await clock.sleep(_OPERATOR_GONE_S)


class _Reconciler:
    """All pools of a cluster. One worker at a time works on a pool."""

    def __init__(
        self, client: Client, clock: Clock, group: asyncio.TaskGroup, pools: Informer, nodes: Informer
    ) -> None:
        self._client = client
        self._clock = clock
        self._pools = pools
        self._nodes = nodes
        self._queue: WorkQueue[Key] = WorkQueue(clock, group.create_task, first_s=_FIRST_RETRY_S, most_s=_LAST_RETRY_S)
        self._expectations = Expectations(clock)
        self._written = Written()
        self._answers: dict[Key, Object] = {}
        self._templates: dict[str, tuple[int, Template]] = {}
        self._slots: set[int] = set()
        pools.subscribe(self._pool_changed)
        nodes.subscribe(self._node_changed)

    def look_at_all(self) -> None:
        """Begin with the pools that are there."""
        for pool in self._pools.items:
            self._queue.add(meta.key(pool))

    def _pool_changed(self, change: Change) -> None:
        if change.new is None:
            uid = change.object["metadata"]["uid"]
            self._answers.pop(change.key, None)
            self._templates.pop(uid, None)
            self._expectations.forget(uid)
            self._queue.forget(change.key)
        elif change.old is None or _wish(change.old) != _wish(change.new):
            # What we say of a pool ourselves is no news.
            self._queue.add(change.key)

    def _node_changed(self, change: Change) -> None:
        node = change.object
        if change.new is not None:
            _slim(node)
            if change.old is None or change.old["spec"].get("podCIDR") != node["spec"].get("podCIDR"):
                self._slots.update(ranges.of_node(node))
        else:
            self._slots.difference_update(ranges.of_node(node))
            self._written.forget(node["metadata"]["uid"])
        name = meta.labels(node).get(marks.NODE_POOL)
        pool = self._newest(("", name)) if name else None
        if pool is None or not planning.is_member(node, pool):
            return
        uid = pool["metadata"]["uid"]
        if change.new is None:
            self._expectations.deleted(uid, node["metadata"]["uid"])
        elif change.old is None:
            self._expectations.created(uid)
        elif self._template(pool).is_on(node):
            return
        self._queue.add(meta.key(pool))

    async def work(self) -> None:
        """Work off the pools that changed."""
        while True:
            key = await self._queue.get()
            try:
                done = await self._reconcile(key)
            except (ApiError, Unreachable, Malformed) as error:
                _log.debug("a NodePool is tried again", pool=key[1], error=error)
                done = False
            finally:
                self._queue.done(key)
            if done:
                self._queue.forget(key)
            else:
                self._queue.retry(key)

    async def _reconcile(self, key: Key) -> bool:
        """One look at a pool; whether all that it needed was done."""
        pool = self._newest(key)
        if pool is None:
            return True
        if not self._expectations.are_met(pool["metadata"]["uid"]):
            # The node that is waited for brings us here again; one that was never seen must not stop us for good.
            self._queue.add_after(key, EXPIRY_S + 1)
            return True
        if pool["metadata"].get("deletionTimestamp"):
            return await self._dismantle(pool)
        if meta.condition(pool, conditions.AVAILABLE) is None:
            pool = await self._tell(pool, conditions.RECONCILING)
        if FINALIZER not in _finalizers(pool):
            pool = await self._write_finalizers(pool, [*_finalizers(pool), FINALIZER])
        template = self._template(pool)
        try:
            plan = planning.plan(pool, template, self._members(pool))
        except UsageError as error:
            await self._tell(pool, conditions.refused("Reconciling", str(error)))
            return True
        if not plan:
            await self._tell(pool, conditions.READY)
            return True
        return await self._carry_out(pool, template, plan)

    async def _carry_out(self, pool: Object, template: Template, plan: Plan) -> bool:
        begun = conditions.begun(plan)
        told = conditions.told(pool)
        if told is None or told.reason != begun.reason:
            # What was refused last time stays there to be read until it is known to be otherwise.
            pool = await self._tell(pool, begun)
        problem = (
            await self._delete(pool, plan.delete)
            or await self._change(template, plan.change)
            or await self._create(pool, template, plan.create)
        )
        if problem is not None:
            await self._tell(pool, conditions.refused(begun.reason, problem))
            return False
        await self._tell(pool, conditions.READY)
        return True

    async def _dismantle(self, pool: Object) -> bool:
        """Delete the nodes of a pool that is being deleted, then let it go."""
        finalizers = _finalizers(pool)
        if FINALIZER not in finalizers or "orphan" in finalizers:
            # Who deletes a pool but not its nodes makes the garbage collector set them free first.
            return True
        pool = await self._tell(pool, conditions.DELETING)
        members = [node for node in self._members(pool) if planning.is_owned(node, pool)]
        if not members:
            await self._write_finalizers(pool, [entry for entry in _finalizers(pool) if entry != FINALIZER])
            return True
        going = [node for node in members if not node["metadata"].get("deletionTimestamp")]
        problem = await self._delete(pool, going)
        if problem is not None:
            await self._tell(pool, conditions.refused("Deleting", problem))
        return problem is None

    async def _create(self, pool: Object, template: Template, indexes: Sequence[int]) -> str | None:
        """Create nodes; the first problem in words."""
        if not indexes:
            return None
        uid = pool["metadata"]["uid"]
        try:
            # The other pools of a cluster begin at the lowest: so both can be filled at the same time.
            slots = list(islice(ranges.free(self._slots, highest_first=True), len(indexes)))
        except UsageError as error:
            return str(error)
        self._slots.update(slots)
        nodes = [template.node(index, slot=slot) for index, slot in zip(indexes, slots, strict=True)]
        self._expectations.expect_creations(uid, len(nodes))
        failures = await _first_one_then_all([partial(self._client.create, NODES, node) for node in nodes])
        for slot, failure in zip(slots, failures, strict=True):
            if failure is not None:
                self._slots.discard(slot)
                self._expectations.created(uid)
        return _problem(failures)

    async def _delete(self, pool: Object, nodes: Sequence[Object]) -> str | None:
        """Delete nodes; the first problem in words. One that is gone already is none."""
        uid = pool["metadata"]["uid"]
        metadata = [node["metadata"] for node in nodes]
        self._expectations.expect_deletions(uid, (entry["uid"] for entry in metadata))
        failures = await all_of(
            partial(self._client.delete, NODES, entry["name"], uid=entry["uid"]) for entry in metadata
        )
        for entry, failure in zip(metadata, failures, strict=True):
            if failure is not None:
                self._expectations.deleted(uid, entry["uid"])
        return _problem([None if _is_over(failure) else failure for failure in failures])

    async def _change(self, template: Template, nodes: Sequence[Object]) -> str | None:
        """Make nodes what the template says; the first problem in words. One that is gone is none."""
        behind = [node for node in nodes if not self._written.is_newer_than(node["metadata"]["uid"], node)]
        failures = await _first_one_then_all([partial(self._change_one, template, node) for node in behind])
        return _problem([None if _is_over(failure) else failure for failure in failures])

    async def _change_one(self, template: Template, node: Object) -> None:
        """Write one node; when others write it at the same time, again from what they wrote."""
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        for _ in range(_ATTEMPTS):
            try:
                status = template.status_patch(node)
                if status is not None:
                    node = await self._client.patch(NODES, name, status, kind="merge", subresource="status")
                self._written.note(uid, await self._client.patch(NODES, name, template.node_patch(node), kind="merge"))
            except ApiError as error:
                if not error.is_conflict:
                    raise
                refusal = error
            else:
                return
            node = await self._client.get(NODES, name)
            if node["metadata"]["uid"] != uid:
                return  # another one of that name: the watch will show it
        raise refusal

    def _members(self, pool: Object) -> list[Object]:
        name = pool["metadata"]["name"]
        return [node for node in self._nodes.by_index(_BY_POOL, name) if planning.is_member(node, pool)]

    def _newest(self, key: Key) -> Object | None:
        """The pool as the watch or the answer to our last write shows it, whichever is newer."""
        seen, answer = self._pools.get(key), self._answers.get(key)
        if seen is None or answer is None:
            return seen
        here, there = seen["metadata"], answer["metadata"]
        if here["uid"] == there["uid"] and int(here["resourceVersion"]) < int(there["resourceVersion"]):
            return answer
        del self._answers[key]
        return seen

    def _template(self, pool: Object) -> Template:
        uid, generation = pool["metadata"]["uid"], pool["metadata"].get("generation", 0)
        known = self._templates.get(uid)
        if known is None or known[0] != generation:
            known = self._templates[uid] = (generation, Template(pool))
        return known[1]

    async def _tell(self, pool: Object, what: Told) -> Object:
        """Write the condition unless the pool says just that; the pool afterwards."""
        if conditions.told(pool) == what:
            return pool
        status = conditions.status(pool, what, now=seconds_text(self._clock.wall_ns()))
        name = pool["metadata"]["name"]
        answer = await self._client.patch(NODE_POOLS, name, {"status": status}, kind="merge", subresource="status")
        self._answers["", name] = answer
        return answer

    async def _write_finalizers(self, pool: Object, finalizers: list[str]) -> Object:
        name = pool["metadata"]["name"]
        patch = {"metadata": {"finalizers": finalizers, "resourceVersion": pool["metadata"]["resourceVersion"]}}
        answer = await self._client.patch(NODE_POOLS, name, patch, kind="merge")
        self._answers["", name] = answer
        return answer


async def _first_one_then_all(writes: Sequence[Write]) -> list[Failure | None]:
    """Do one write and then the others side by side; what the server refuses once it would refuse of all alike."""
    first = await all_of(writes[:1])
    if any(isinstance(failure, ApiError) and _is_refusal(failure) for failure in first):
        return first * len(writes)
    return [*first, *await all_of(writes[1:])]


def _is_refusal(error: ApiError) -> bool:
    """Whether the server does not like what it was given."""
    return error.is_invalid or error.is_forbidden or error.reason == "BadRequest"


def _is_over(failure: Failure | None) -> bool:
    """Whether the node is gone, or another one has its name: the watch shows it."""
    return isinstance(failure, ApiError) and (failure.is_not_found or failure.is_conflict)


def _problem(failures: Iterable[Failure | None]) -> str | None:
    """The first failure in the server's words."""
    first = next((failure for failure in failures if failure is not None), None)
    if first is None:
        return None
    return (first.message if isinstance(first, ApiError) else str(first))[:MESSAGE_LIMIT]


def _wish(pool: Object) -> tuple[object, ...]:
    """What of a pool is news to us, other than what we write ourselves."""
    metadata = pool["metadata"]
    others = [entry for entry in _finalizers(pool) if entry != FINALIZER]
    return metadata["uid"], metadata.get("generation"), metadata.get("deletionTimestamp"), others


def _finalizers(pool: Object) -> list[str]:
    return list(pool["metadata"].get("finalizers") or ())


def _pool_names(node: Object) -> Iterable[str]:
    name = meta.labels(node).get(marks.NODE_POOL)
    return (name,) if name else ()


def _slim(node: Object) -> None:
    """Cut a node down to what is read here, in place: there may be many thousands."""
    metadata, spec = node["metadata"], node.get("spec") or {}
    ours = marks.NODE_POOL in meta.labels(node)
    kept = {name: metadata[name] for name in ("name", "uid", "resourceVersion")}
    if ours:
        kept |= {name: metadata[name] for name in ("ownerReferences", "deletionTimestamp") if name in metadata}
        kept["labels"] = {marks.NODE_POOL: meta.labels(node)[marks.NODE_POOL]}
        kept["annotations"] = {name: text for name, text in meta.annotations(node).items() if name == WRITTEN}
    fields = ("podCIDR", "taints") if ours else ("podCIDR",)
    node.clear()
    node["metadata"] = kept
    node["spec"] = {name: spec[name] for name in fields if name in spec}
