"""Topology trees: where each node stands, and the object that tells a scheduler which labels are levels."""

from collections.abc import Collection, Mapping
from typing import Final

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import KAI_TOPOLOGIES, KUEUE_TOPOLOGIES
from kubedyno.sim.pools.pool import NODE_LEVEL, Level, Pool, Topology

KINDS: Final = (KUEUE_TOPOLOGIES, KAI_TOPOLOGIES)
"""That schedulers read. All of them have the same levels."""


def places(topology: Topology, index: int, name: str) -> dict[str, str]:
    """The value of each level for node `index`: `zone-0`, `zone-0-rack-3`; that of level `node` is the node's name."""
    numbers = []
    rest = index
    for level in reversed(topology.levels):
        rest, number = divmod(rest, level.count)
        numbers.append(number)
    values: dict[str, str] = {}
    path = ""
    for level, number in zip(topology.levels, reversed(numbers), strict=True):
        path = f"{path}-{level.level}-{number}" if path else f"{level.level}-{number}"
        values[level.level] = name if level.level == NODE_LEVEL else path
    return values


def labels(topology: Topology, values: Mapping[str, str]) -> dict[str, str]:
    """The labels of a node at these places."""
    return {level.key: values[level.level] for level in topology.levels}


def documents(pool: Pool, served: Collection[tuple[str, str]]) -> list[Object]:
    """The pool's Topology object for each scheduler whose API is served: `served` has (apiVersion, kind)."""
    if pool.topology is None:
        return []
    found: list[Object] = []
    for versions in KINDS:
        newest = next((one for one in versions if (one.api_version, one.kind) in served), None)
        if newest is not None:
            found.append(
                {
                    "apiVersion": newest.api_version,
                    "kind": newest.kind,
                    "metadata": {"name": pool.topology.name or pool.name},
                    "spec": {"levels": [{"nodeLabel": level.key} for level in pool.topology.levels]},
                }
            )
    return found


def tree(counts: Mapping[str, int]) -> Topology:
    """`{zone: 4, rack: 8}` as a tree."""
    return Topology(levels=tuple(Level(level=level, count=count) for level, count in counts.items()))
