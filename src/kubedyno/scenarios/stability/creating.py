"""Many writers at once, burst on burst, while nodes fail."""

import functools
import operator
from typing import Annotated

from kubedyno.kit import tasks
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.lab.shapes import training
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import Count, NodeCount, Seconds
from kubedyno.sim.faults.fault import NotReady
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection


@scenario("stability/concurrent-creation", tags=("stability", "faults"))
async def concurrent_creation(
    lab: Lab,
    *,
    nodes: NodeCount = sizes.KAI_NODES,
    writers: Count = 64,
    bursts: Count = 4,
    failing: Annotated[float, Range(0.0, 0.5)] = 0.1,
    every_s: Seconds = 10.0,
) -> None:
    """Bursts of jobs from many writers at once, each while other nodes are out of order, all run in the end.

    With each burst some nodes are not ready for a while. No job is lost, none is there twice, and none was put on a
    node that was out of order, which the invariants see. All bursts together ask for as much as all nodes have.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        writers: requests of one burst that are under way at a time
        bursts: how often a burst comes
        failing: share of the nodes that is out of order with each burst
        every_s: time from one burst to the next, and for which nodes are out of order
    """
    pool = await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue("team")
    names = list(pool.names)
    batches = []
    with lab.timed():
        async with tasks.owning() as group:
            for number in range(bursts):
                if failing:
                    met = tuple(lab.rng.sample(names, max(1, round(nodes * failing))))
                    outage = lab.fail(NotReady(), Selection(names=met), Timing(for_s=every_s))
                    group.create_task(outage, name=f"outage {number}")
                count = sizes.all_gpus(nodes) * (number + 1) // bursts - sizes.all_gpus(nodes) * number // bursts
                one = lab.submit(training(gpus=1), count=count, queue=queue, name=f"burst-{number}", writers=writers)
                batches.append(group.create_task(one, name=f"burst {number}"))
                await lab.clock.sleep(every_s)
        jobs = functools.reduce(operator.or_, (batch.result() for batch in batches))
        running = await lab.running(jobs)
    lab.measure("time until all jobs run", since=jobs.submitted, until=running)
    lab.measure_latency("pod scheduling latency", jobs, since="created", until="scheduled")
    outcomes.expect_all_placed(lab, jobs)
    outcomes.expect_full(lab, jobs, nodes)
    outcomes.expect_no_others(lab, jobs)
