"""Jobs of several sizes come and go, and leave holes that large pods cannot use."""

from collections import Counter

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import training
from kubedyno.model.feasibility import fitting, fragmentation, free_gpus
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount

_MIX = {4: 0.5, 2: 1.0, 1: 2.0}
"""Jobs of so many GPUs for each node, large ones first: they fill three quarters of it."""


@scenario("stability/fragmentation", tags=("stability",))
async def fragment(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES) -> None:
    """Half of the jobs of a mixed cluster end at random, small ones come, and pods of whole nodes must find the rest.

    How broken up the free GPUs are is measured, before and after the small jobs came: a scheduler that packs puts them
    into the holes. Then as many pods of whole nodes come as the oracle finds nodes for, and all must run; one more must
    be declared unschedulable.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
    """
    pool = await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue("team")
    mixed = []
    for gpus, per_node in _MIX.items():
        jobs = await lab.submit(
            training(gpus=gpus), count=max(2, round(nodes * per_node)), queue=queue, name=f"of-{gpus}"
        )
        await lab.running(jobs)
        mixed.append(jobs)
    left = [await _halved(lab, jobs) for jobs in mixed]
    _fragmentation(lab, "fragmentation after jobs ended", left, pool.names)
    small = await lab.submit(training(gpus=1), count=nodes, queue=queue, name="small")
    await lab.running(small)
    free = _fragmentation(lab, "fragmentation after small jobs came", [*left, small], pool.names)
    whole = fitting(free, sizes.GPUS_PER_NODE)
    lab.record("whole nodes free", "nodes", whole)
    lab.record("whole nodes that could be free", "nodes", sum(free.values()) // sizes.GPUS_PER_NODE)
    shape = training(gpus=sizes.GPUS_PER_NODE)
    if whole:
        with lab.timed():
            large = await lab.submit(shape, count=whole, queue=queue, name="large")
            await lab.scheduled(large)
        lab.measure_latency("latency of whole nodes", large, since="created", until="scheduled")
    more = await lab.submit(shape, queue=queue, name="one-more")
    await lab.unschedulable(more)
    outcomes.expect_none_placed(lab, more, "a pod for which no node is free waits")


async def _halved(lab: Lab, jobs: Workloads) -> Workloads:
    ended = set(lab.rng.sample(sorted(jobs.names), len(jobs.names) // 2))
    await lab.delete(jobs.part(ended))
    return jobs.part(jobs.names - ended)


def _fragmentation(lab: Lab, name: str, running: list[Workloads], nodes: tuple[str, ...]) -> dict[str, int]:
    """Record how broken up the free GPUs are; how many each node has."""
    taken = Counter[str]()
    for jobs in running:
        for node in lab.placement(jobs).values():
            taken[node] += jobs.shape.gpus
    all_of = dict.fromkeys(nodes, sizes.GPUS_PER_NODE)
    free = free_gpus(all_of, taken.items())
    lab.record(name, "of the free GPUs", fragmentation(free, all_of))
    return {node: int(gpus) for node, gpus in free.items()}
