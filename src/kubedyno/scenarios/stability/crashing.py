"""The scheduler dies in the middle of its work, and begins anew."""

from typing import Annotated

from kubedyno.kit import tasks
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.lab.shapes import training
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount, Seconds


@scenario("stability/scheduler-crash", tags=("stability", "faults"))
async def scheduler_crash(
    lab: Lab,
    *,
    nodes: NodeCount = sizes.KAI_NODES,
    crashes: Annotated[int, Range(1, 100)] = 3,
    over_s: Seconds = 20.0,
) -> None:
    """The scheduler is killed several times while the cluster fills, and the fill completes as if nothing had been.

    No job may be lost, bound twice or evicted, and no node hold more than it has, which the invariants see.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        crashes: how often it is killed
        over_s: time in which the jobs come; the scheduler dies at even distances within it
    """
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue("team")
    bound = []
    with lab.timed():
        async with tasks.owning() as group:
            count = sizes.all_gpus(nodes)
            fill = lab.submit(training(gpus=1), count=count, queue=queue, over_s=over_s)
            filling = group.create_task(fill, name="fill")
            for _ in range(crashes):
                await lab.clock.sleep(over_s / (crashes + 1))
                await lab.scheduler.kill()
                bound.append(lab.standing.bound)
                await lab.scheduler.restart()
        jobs = filling.result()
        scheduled = await lab.scheduled(jobs)
    lab.measure("time to fill", since=jobs.submitted, until=scheduled)
    lab.record("pods bound when the scheduler was killed", "pods", bound)
    lab.expect("it was killed in the middle", bound[0] < jobs.pods, f"{bound[0]} of {jobs.pods} were bound")
    outcomes.expect_all_placed(lab, jobs)
    outcomes.expect_full(lab, jobs, nodes)
    outcomes.expect_untouched(lab, jobs, "nobody was taken away")
    outcomes.expect_no_others(lab, jobs)
