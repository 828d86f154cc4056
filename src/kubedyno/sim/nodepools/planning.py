"""What is to be done for a NodePool: which nodes are missing, too many, or made by an older template."""

from collections.abc import Iterable

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.nodepools.template import Template
from kubedyno.sim.pools.nodes import index_of


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Indexes of nodes to create, nodes to delete, and nodes to make what the template says."""

    create: tuple[int, ...]
    delete: tuple[Object, ...]
    change: tuple[Object, ...]

    def __bool__(self) -> bool:
        return bool(self.create or self.delete or self.change)


def plan(pool: Object, template: Template, members: Iterable[Object]) -> Plan:
    """From the nodes that are there to `nodeCount` nodes with the indexes from 0 on.

    Nodes with other names, which the kwok-operator made, count as well and go first when there are too many; then
    the highest indexes go.
    """
    count = wanted_count(pool)
    indexed: dict[int, Object] = {}
    others: list[Object] = []
    for node in members:
        index = index_of(template.pool, node["metadata"]["name"])
        if index is None:
            others.append(node)
        else:
            indexed[index] = node
    others.sort(key=lambda node: str(node["metadata"]["name"]))
    kept, end = others[:count], max(count - len(others), 0)
    surplus = [*others[count:], *(indexed[index] for index in sorted(indexed, reverse=True) if index >= end)]
    kept += (node for index, node in indexed.items() if index < end)
    return Plan(
        create=tuple(index for index in range(end) if index not in indexed),
        delete=tuple(node for node in surplus if not _is_going(node)),
        change=tuple(node for node in kept if not _is_going(node) and not template.is_on(node)),
    )


def wanted_count(pool: Object) -> int:
    """How many nodes the pool is to have; another definition of the kind than ours allows negative numbers."""
    count = int((pool.get("spec") or {}).get("nodeCount") or 0)
    if count < 0:
        raise UsageError(f"spec.nodeCount is {count}: write 0 or more")
    return count


def is_owned(node: Object, pool: Object) -> bool:
    """Whether the node is the pool's."""
    owner = meta.controller_owner(node)
    return owner is not None and bool(owner.get("uid") == pool["metadata"]["uid"])


def is_member(node: Object, pool: Object) -> bool:
    """Whether the node is the pool's, or has its label and belongs to nobody."""
    if meta.controller_owner(node) is None:
        return bool(meta.labels(node).get(marks.NODE_POOL) == pool["metadata"]["name"])
    return is_owned(node, pool)


def _is_going(node: Object) -> bool:
    return bool(node["metadata"].get("deletionTimestamp"))
