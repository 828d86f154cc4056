"""Jobs come and go for a long time: nothing may slow down or be left behind."""

import functools
import operator
from typing import Annotated

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.lab.shapes import training
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount, Seconds

_PARTS = ("first", "second", "last")
_MORE_S = 1.0
"""So much may be added to a latency by the moment at which a job meets the scheduler's cycle."""


@scenario("stability/churn", tags=("stability",))
async def churn(
    lab: Lab,
    *,
    nodes: NodeCount = sizes.KAI_NODES,
    duration_s: Seconds = 240.0,
    rate: Annotated[float, Range(0.001, 100.0)] = 0.1,
    load: Annotated[float, Range(0.01, 1.0)] = 0.8,
    slowdown: Annotated[float, Range(1.0, 1000.0)] = 2.0,
) -> None:
    """One-GPU jobs come at a steady rate, work, and end: latency at the end is what it was at the beginning.

    They work for as long as keeps the wanted share of GPUs busy. Every job must complete, and none may be evicted.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        duration_s: how long jobs come
        rate: jobs a second for each node
        load: share of the GPUs that is busy on average
        slowdown: by how much the median latency of the last third may exceed that of the first
    """
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue("team")
    part_s = duration_s / len(_PARTS)
    works_s = load * sizes.GPUS_PER_NODE / rate
    shape = training(gpus=1, runs_for=f"uniform({works_s / 2:g}s, {works_s * 1.5:g}s)")
    count = max(1, round(rate * nodes * part_s))
    with lab.timed():
        parts = {
            part: await lab.submit(shape, count=count, queue=queue, name=f"job-{part}", over_s=part_s)
            for part in _PARTS
        }
    medians = {}
    for part, jobs in parts.items():
        await lab.completed(jobs, stalled_after_s=2 * works_s + 60)
        name = f"pod scheduling latency of the {part} third"
        medians[part] = lab.measure_latency(name, jobs, since="created", until="scheduled").value
    every = functools.reduce(operator.or_, parts.values())
    outcomes.expect_untouched(lab, every, "nobody was taken away")
    outcomes.expect_no_others(lab, every)
    kept_up = medians["last"] <= medians["first"] * slowdown + _MORE_S
    told = f"{medians['last']:.3f} s after {medians['first']:.3f} s"
    lab.expect("the last third waits no longer than the first", kept_up, told)
