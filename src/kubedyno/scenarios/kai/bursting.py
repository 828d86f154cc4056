"""Gangs of all sizes at once, far more than the cluster holds, that work for a while and end."""

import functools
import operator
from collections import Counter
from typing import Annotated

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.lab.shapes import distributed
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount

_STALLED_AFTER_S = 300.0


@scenario("kai/burst", tags=("big-cluster", "burst"), needs=("gangs",))
async def burst(
    lab: Lab,
    *,
    nodes: NodeCount = sizes.KAI_NODES,
    per_size: Annotated[int, Range(0, 10_000)] = 0,
    runs_for: str = "uniform(20s, 40s)",
) -> None:
    """Gangs of 1, 2, 4 ... whole nodes come in one burst while the scheduler works, run, and end.

    Every pod of every gang is accounted for from the recording, though the garbage collector removes pods that have
    ended: what succeeded, failed, waits or vanished adds up to what was submitted, and all of it succeeded.

    Parameters:
        nodes: size of the cluster, of eight GPUs each; no gang is larger
        per_size: gangs of each size; 0 means 90 from 500 nodes on, and fewer in proportion below
        runs_for: how long pods work, a duration or a distribution
    """
    wanted = sizes.burst(nodes, per_size=per_size)
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue("team")
    with lab.timed():
        batches = [
            await lab.submit(
                distributed(workers=size, gpus=sizes.GPUS_PER_NODE, runs_for=runs_for),
                count=wanted.per_size,
                queue=queue,
                name=f"gang-of-{size}",
            )
            for size in wanted.sizes
        ]
        gangs = functools.reduce(operator.or_, batches)
        completed = await lab.completed(gangs, stalled_after_s=_STALLED_AFTER_S)
    lab.measure("time until all completed", since=gangs.submitted, until=completed)
    for size, batch in zip(wanted.sizes, batches, strict=True):
        lab.measure_latency(f"latency of gangs of {size}", batch, since="created", until="scheduled")
    _account(lab, gangs)


def _account(lab: Lab, gangs: Workloads) -> None:
    ends = Counter(pod.end or "pending" for pod in lab.standing.pods(sorted(gangs.names)))
    for end in ("succeeded", "failed", "pending", "deleted"):
        lab.record(f"pods {end}", "pods", ends[end])
    known = sum(ends.values())
    told = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    lab.expect("every pod is accounted for", known == gangs.pods, f"{told}; {gangs.pods} were submitted")
    lab.expect("every pod succeeded", ends["succeeded"] == gangs.pods, told)
    outcomes.expect_untouched(lab, gangs, "nobody was taken away")
