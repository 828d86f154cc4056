"""The cluster before a reclaim: full of jobs whose queue has no right to so much."""

import msgspec

from kubedyno.lab.handles import Nodes, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.shapes import training
from kubedyno.scenarios import sizes

VICTIMS = "victims"
RECLAIMERS = "reclaimers"


class Occupied(msgspec.Struct, frozen=True, kw_only=True):
    """A full cluster."""

    pool: Nodes
    victims: Workloads
    """Jobs that fill it."""
    reclaimers: str
    """Name of the queue that may have what it asks for."""


async def occupied(
    lab: Lab, nodes: int, *, gpus: int = 1, quota: int = 0, tree: sizes.Tree | None = None, jobs: bool = True
) -> Occupied:
    """Nodes filled with jobs of `gpus` GPUs (or with none); then their queue is left with the right to `quota` GPUs."""
    levels = None if tree is None else tree.levels
    pool = await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE, topology=levels)
    queue = await lab.queue(VICTIMS)
    count = sizes.all_gpus(nodes) // gpus if jobs else 0
    victims = await lab.submit(training(gpus=gpus), count=count, queue=queue, name="victim")
    await lab.running(victims)
    await entitle(lab, quota)
    return Occupied(pool=pool, victims=victims, reclaimers=await lab.queue(RECLAIMERS))


async def entitle(lab: Lab, quota: int) -> None:
    """Leave the victims' queue with the right to `quota` GPUs and no part in the rest."""
    await lab.queue(VICTIMS, quota=quota, weight=0)
