"""Elastic gangs give up what they can spare."""

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import elastic, training
from kubedyno.scenarios import occupying, outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount

_LEAST = 2


@scenario(
    "kai/elastic-reclaim",
    tags=("big-cluster", "elastic", "reclaim"),
    needs=("gangs", "elastic-gangs", "quotas", "reclaim"),
)
async def elastic_reclaim(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES) -> None:
    """Elastic gangs that fill the cluster shrink when half of it is reclaimed, and none of them dies.

    Each gang has eight pods of one GPU and can go on with two. Four of each eight GPUs are reclaimed by one-GPU jobs,
    which were created while the scheduler was paused: there is enough to spare for nobody to fall below its least.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
    """
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue(occupying.VICTIMS)
    shape = elastic(workers=sizes.GPUS_PER_NODE, least=_LEAST, gpus=1)
    gangs = await lab.submit(shape, count=nodes, queue=queue)
    await lab.running(gangs)
    await occupying.entitle(lab, 0)
    reclaimers = await lab.queue(occupying.RECLAIMERS)
    async with lab.scheduler.paused():
        jobs = await lab.submit(training(gpus=1), count=sizes.all_gpus(nodes) // 2, queue=reclaimers)
        await lab.created(jobs)
    with lab.timed(since=lab.scheduler.resumed_at):
        scheduled = await lab.scheduled(jobs)
    lab.measure("time to reclaim", since=lab.scheduler.resumed_at, until=scheduled)
    outcomes.expect_all_placed(lab, jobs)
    outcomes.expect_reclaimed(lab, victims=gangs, reclaimers=jobs, gpus=jobs.pods)
    dead = [f"{name} has {pods}" for name, pods in lab.placed(gangs).items() if pods < _LEAST]
    lab.expect(f"every elastic gang keeps its least of {_LEAST} pods", not dead, outcomes.told(dead))
