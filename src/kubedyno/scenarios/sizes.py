"""How large things are on a cluster of so many nodes: KAI's own sizes at 500 nodes, and what they come to at others."""

import itertools
import math
from typing import Final

import msgspec

GPUS_PER_NODE: Final = 8
KAI_NODES: Final = 500
"""The size of cluster that KAI's scale tests have by default."""

_WORKERS: Final = 10
_BURST_PER_SIZE: Final = 90
_BURST_LARGEST: Final = 512


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A topology of zones, blocks in each zone, racks in each block, and nodes in each rack."""

    zones: int
    blocks: int
    racks: int
    nodes_per_rack: int = 2

    @property
    def levels(self) -> dict[str, int]:
        """The tree as pools take it, the outermost level first."""
        return {"zone": self.zones, "block": self.blocks, "rack": self.racks, "node": self.nodes_per_rack}

    @property
    def nodes(self) -> int:
        """All of its nodes."""
        return math.prod(self.levels.values())

    @property
    def nodes_per_block(self) -> int:
        """Nodes of one block."""
        return self.racks * self.nodes_per_rack

    @property
    def nodes_per_zone(self) -> int:
        """Nodes of one zone."""
        return self.blocks * self.nodes_per_block


KAI_TREE: Final = Tree(zones=4, blocks=8, racks=8)


def tree_near(nodes: int, *, fewest_zones: int = 1) -> Tree:
    """The tree of KAI's proportions whose size is nearest to `nodes`; of two as near the smaller one."""
    zones = _around(KAI_TREE.zones * (nodes / KAI_TREE.nodes) ** (1 / 3), least=fewest_zones)
    trees = [
        Tree(zones=zone_count, blocks=blocks, racks=racks)
        for zone_count in zones
        for side in (math.sqrt(nodes / zone_count / KAI_TREE.nodes_per_rack),)  # of a zone: as many blocks as racks
        for blocks, racks in itertools.product(_around(side), repeat=2)
    ]
    return min(trees, key=lambda tree: (abs(tree.nodes - nodes), tree.nodes, -tree.racks, -tree.blocks))


def _around(number: float, *, least: int = 1) -> range:
    return range(max(least, math.floor(number)), max(least, math.ceil(number)) + 1)


def all_gpus(nodes: int) -> int:
    """The GPUs of the cluster: so many one-GPU jobs fill it."""
    return nodes * GPUS_PER_NODE


def share_of_gpus(nodes: int, share: float) -> int:
    """So many one-GPU jobs ask for this share of the cluster: 0.1 of 500 nodes are KAI's 400 pending jobs."""
    return round(all_gpus(nodes) * share)


def workers(nodes: int) -> int:
    """Pods of a distributed job: 10, on less than 20 nodes half as many as there are nodes."""
    return max(1, min(_WORKERS, nodes // 2))


class OneTooMany(msgspec.Struct, frozen=True, kw_only=True):
    """A gang of whole nodes for which one GPU too few can be reclaimed."""

    workers: int
    gpus: int
    """What the gang asks for."""
    quota: int
    """What the victims' queue deserves, so that it must give up one GPU less than the gang needs."""


def one_too_many(nodes: int) -> OneTooMany:
    """Ten whole nodes are asked for, and all GPUs but 79 are the victims' right: at 500 nodes 3,921."""
    gpus = workers(nodes) * GPUS_PER_NODE
    return OneTooMany(workers=workers(nodes), gpus=gpus, quota=all_gpus(nodes) - gpus + 1)


class Gangs(msgspec.Struct, frozen=True, kw_only=True):
    """So many gangs of `workers` pods with `gpus` GPUs each."""

    count: int
    workers: int
    gpus: int

    @property
    def pods(self) -> int:
        """Pods of all gangs."""
        return self.count * self.workers

    @property
    def all_gpus(self) -> int:
        """GPUs of all gangs."""
        return self.pods * self.gpus


def one_on_each_node(nodes: int) -> Gangs:
    """Gangs whose pods take more than half of a node, so that each node holds one: 50 of 10 pods with 5 GPUs."""
    return Gangs(count=nodes // workers(nodes), workers=workers(nodes), gpus=GPUS_PER_NODE // 2 + 1)


FREED_PER_NODE: Final = 5
"""Jobs that end on each node before the others are moved together."""


def after_moving(nodes: int) -> Gangs:
    """Gangs that fit the freed GPUs, but only if others move: no node has 6 free. At 500 nodes 41 of 10 pods."""
    gpus = FREED_PER_NODE + 1
    return Gangs(count=nodes * FREED_PER_NODE // (workers(nodes) * gpus), workers=workers(nodes), gpus=gpus)


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    """Gangs of whole nodes: `per_size` of each size."""

    sizes: tuple[int, ...]
    """Pods of a gang, each with all GPUs of a node."""
    per_size: int

    @property
    def gangs(self) -> int:
        """How many gangs."""
        return len(self.sizes) * self.per_size

    @property
    def pods(self) -> int:
        """Pods of all gangs."""
        return sum(self.sizes) * self.per_size


def burst(nodes: int, *, per_size: int = 0) -> Burst:
    """Sizes 1, 2, 4 ... that fit the cluster, at most 512; 90 gangs of each, fewer in proportion below 500 nodes."""
    sizes = tuple(
        itertools.takewhile(lambda size: size <= min(nodes, _BURST_LARGEST), (2**power for power in range(10)))
    )
    usual = max(1, min(_BURST_PER_SIZE, round(_BURST_PER_SIZE * nodes / KAI_NODES)))
    return Burst(sizes=sizes, per_size=per_size or usual)


HALVES_PER_NODE: Final = 12
WHOLES_PER_NODE: Final = 2
"""Pods with half a GPU, and with a whole one: together they fill a node, and 500 nodes hold 7,000 of them."""
