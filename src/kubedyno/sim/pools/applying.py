"""Making a cluster have the pools: everything in parallel, and done when the new nodes can be used."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from kubedyno.client.rest import Client
from kubedyno.client.versions import first_served
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, NODES
from kubedyno.sim import marks
from kubedyno.sim.pools import definitions, ranges, topology
from kubedyno.sim.pools.arriving import arrivals
from kubedyno.sim.pools.changing import NOTHING, Changes, Written, changes, is_of_pool, patch_of, written_by
from kubedyno.sim.pools.checking import check
from kubedyno.sim.pools.definitions import Definition
from kubedyno.sim.pools.nodes import NodeMaker, device_resources, node_name
from kubedyno.sim.pools.pool import Pool
from kubedyno.sim.pools.sending import (
    change_node,
    create_node,
    delete_object,
    in_parallel,
    put_object,
    replace_node,
)


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes of a pool were touched, and in what way; `size` is how many it has now."""

    pool: str
    size: int
    created: int = 0
    changed: int = 0
    replaced: int = 0
    deleted: int = 0


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What one pool needs. Nodes to create are made as they are sent: thousands need not be held at once."""

    pool: Pool
    create: Iterable[Object]
    created: tuple[str, ...]
    changes: Changes
    before: Written
    now: Written
    later: frozenset[str]
    known: Definition | None

    @property
    def applied(self) -> Applied:
        return Applied(
            pool=self.pool.name,
            size=self.pool.size,
            created=len(self.created),
            changed=len(self.changes.patch),
            replaced=len(self.changes.replace),
            deleted=len(self.changes.delete),
        )


async def apply(client: Client, pools: Sequence[Pool], *, dry_run: bool = False) -> list[Applied]:
    """Make the cluster have these pools, and say what that took; other pools stay as they are.

    Returns when all new nodes are Ready and free of the taint of their creation. With `dry_run` nothing is written.
    """
    plans = await _planned(client, [check(pool) for pool in pools])
    if not dry_run:
        await _carry_out(client, plans)
    return [plan.applied for plan in plans]


async def scale(client: Client, counts: Mapping[str, int], *, dry_run: bool = False) -> list[Applied]:
    """Change the sizes of pools and nothing else; a pool that the cluster does not know is a UsageError."""
    known = await defined(client)
    wanted = []
    for name, count in counts.items():
        pool = _known(name, known).pool
        wanted.append(msgspec.structs.replace(pool, count=count, nodes=pool.nodes[:count]))
    return await apply(client, wanted, dry_run=dry_run)


async def delete(client: Client, names: Iterable[str], *, dry_run: bool = False) -> list[Applied]:
    """Delete pools: their nodes, what a scheduler was told of their topology, and their definitions."""
    known = await defined(client)
    applied = []
    for definition in [_known(name, known) for name in dict.fromkeys(names)]:
        name = definition.pool.name
        live = (await client.list_all(NODES, label_selector=f"{marks.POOL}={name}")).items
        applied.append(Applied(pool=name, size=0, deleted=len(live)))
        if not dry_run:
            await in_parallel(functools.partial(delete_object, client), changes((), live).delete)
            await in_parallel(functools.partial(delete_object, client), await _topologies(client, definition.pool))
            # Last, so that an interrupted deletion can be repeated.
            await delete_object(client, definitions.config_map(definition))
    return applied


async def defined(client: Client) -> dict[str, Definition]:
    """The pools that the cluster remembers, by name."""
    found = await client.list_all(CONFIG_MAPS, namespace=definitions.NAMESPACE, label_selector=marks.POOL)
    return {definition.pool.name: definition for definition in map(definitions.read, found.items)}


def _known(name: str, known: Mapping[str, Definition]) -> Definition:
    if name not in known:
        raise UsageError(f"the cluster has no pool {name!r}: {suggestion(name, known)}")
    return known[name]


async def _planned(client: Client, pools: Sequence[Pool]) -> list[_Plan]:
    known = await defined(client)
    # One list for both questions: which nodes the pools have, and which ranges are taken.
    everywhere = (await client.list_all(NODES)).items
    free = ranges.free({slot for node in everywhere for slot in ranges.of_node(node)})
    now = seconds_text(client.clock.wall_ns())
    plans = [_plan(pool, known.get(pool.name), everywhere, free, now) for pool in pools]
    total = len(everywhere) + sum(len(plan.created) - len(plan.changes.delete) for plan in plans)
    if total > ranges.COUNT:
        raise UsageError(f"the cluster would have {total} nodes, and at most {ranges.COUNT} can be: ask for fewer")
    return plans


def _plan(pool: Pool, known: Definition | None, everywhere: Iterable[Object], free: Iterator[int], now: str) -> _Plan:
    live = {node["metadata"]["name"]: node for node in everywhere if is_of_pool(node, pool.name)}
    names = {node_name(pool.name, index) for index in range(pool.size)}
    for node in everywhere:
        name = node["metadata"]["name"]
        if name in names and name not in live:
            raise UsageError(
                f"pool {pool.name}: the cluster has a node {name} that is not of this pool; "
                "rename the pool, or delete the node"
            )
    maker = NodeMaker(pool, now=now)
    later = frozenset(device_resources(pool))
    existing, missing = [], []
    for index in range(pool.size):
        there = live.get(node_name(pool.name, index))
        if there is None:
            missing.append(index)
        else:
            existing.append(_as_live(maker.node(index, _slot(there, free)), there))
    before = known.written if known else NOTHING
    # All nodes have the same names on them, unless the pool says something of single ones.
    written = written_by((maker.node(i, 0) for i in range(pool.size if pool.nodes else 1)), later=later)
    return _Plan(
        pool=pool,
        create=(maker.node(index, slot) for index, slot in zip(missing, free, strict=False)),
        created=tuple(node_name(pool.name, index) for index in missing),
        changes=changes(existing, live.values(), written=before, later=later),
        before=before,
        now=written,
        later=later,
        known=known,
    )


def _slot(live: Object, free: Iterator[int]) -> int:
    """The number of the range that the node has; a free one if it has none of ours."""
    own = ranges.of_node(live)
    return own[0] if len(own) == 1 else next(free)


def _as_live(wanted: Object, live: Object) -> Object:
    """The wanted node with the range of addresses that it has been given already."""
    given = live.get("spec") or {}
    for field in ("podCIDR", "podCIDRs"):
        if given.get(field):
            wanted["spec"][field] = given[field]
    return wanted


async def _carry_out(client: Client, plans: Sequence[_Plan]) -> None:
    for plan in plans:
        # Until all nodes are changed they may have what the pool had before, too.
        if plan.known is None or plan.known.pool != plan.pool or plan.before != plan.now:
            await _remember(client, plan.pool, plan.before | plan.now)
        topologies = await _topologies(client, plan.pool)
        kept = [document["metadata"]["name"] for document in topologies]
        for document in await _topologies(client, plan.known.pool) if plan.known else ():
            if document["metadata"]["name"] not in kept:
                await delete_object(client, document)
        for document in topologies:
            await put_object(client, document)
    awaited = [
        name for plan in plans for name in (*plan.created, *(node["metadata"]["name"] for node in plan.changes.replace))
    ]
    async with arrivals(client, [plan.pool.name for plan in plans], awaited) as arrived:
        for plan in plans:
            again = functools.partial(patch_of, written=plan.before, later=plan.later)
            await in_parallel(functools.partial(delete_object, client), plan.changes.delete)
            await in_parallel(functools.partial(change_node, client, again=again), plan.changes.patch)
            await in_parallel(functools.partial(replace_node, client), plan.changes.replace)
            await in_parallel(functools.partial(create_node, client), plan.create)
        await arrived()
    for plan in plans:
        if plan.before | plan.now != plan.now:
            await _remember(client, plan.pool, plan.now)


async def _remember(client: Client, pool: Pool, written: Written) -> None:
    await put_object(client, definitions.config_map(Definition(pool=pool, written=written)))


async def _topologies(client: Client, pool: Pool) -> list[Object]:
    """The Topology objects of the pool for the schedulers whose API this cluster has."""
    if pool.topology is None:
        return []
    newest = [await first_served(client, versions) for versions in topology.KINDS]
    return topology.documents(pool, {(one.api_version, one.kind) for one in newest if one is not None})
