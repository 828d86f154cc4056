"""An empty cluster is filled with one-GPU jobs: the plainest measure of a scheduler's speed."""

from kubedyno.lab.handles import Stamp, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import training
from kubedyno.scenarios import beside, outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount, Share


@scenario("kai/fill", tags=("big-cluster", "fill"))
async def fill(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES) -> None:
    """Fill the cluster with one-GPU jobs that were all created while the scheduler was paused.

    It is only the scheduler's speed that counts: nothing is created while it works.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
    """
    await _fill_after_pause(lab, nodes)


@scenario("kai/fill-live", tags=("big-cluster", "fill"))
async def fill_live(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES) -> None:
    """Fill the cluster with one-GPU jobs while the scheduler works.

    Time counts from the first request, so it has what it costs to take jobs in while others are being created.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
    """
    queue = await _cluster(lab, nodes)
    with lab.timed():
        jobs = await lab.submit(training(gpus=1), count=sizes.all_gpus(nodes), queue=queue)
        await _filled(lab, jobs, nodes, since=jobs.submitted)


@scenario("kai/fill-with-pending", tags=("big-cluster", "whole-gpu", "fill"), needs=("quotas",))
async def fill_with_pending(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES, background: Share = 0.1) -> None:
    """Fill the cluster as `kai/fill` does, beside jobs of a queue that may have nothing: they wait for ever.

    What a scheduler looks at in vain again and again should cost the others little. None of the waiting jobs may run.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        background: jobs that wait, as a share of the cluster's GPUs
    """
    await _fill_after_pause(lab, nodes, background=background)


async def _fill_after_pause(lab: Lab, nodes: int, *, background: float = 0.0) -> None:
    queue = await _cluster(lab, nodes)
    async with beside.waiting_jobs(lab, nodes, background):
        async with lab.scheduler.paused():
            jobs = await lab.submit(training(gpus=1), count=sizes.all_gpus(nodes), queue=queue)
            await lab.created(jobs)
        resumed = lab.scheduler.resumed_at
        with lab.timed(since=resumed):
            await _filled(lab, jobs, nodes, since=resumed)


async def _cluster(lab: Lab, nodes: int) -> str:
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    return await lab.queue("team")


async def _filled(lab: Lab, jobs: Workloads, nodes: int, *, since: Stamp) -> None:
    scheduled = await lab.scheduled(jobs)
    lab.measure("time to fill", since=since, until=scheduled)
    lab.measure_latency("pod scheduling latency", jobs, since="created", until="scheduled")
    outcomes.expect_all_placed(lab, jobs)
    outcomes.expect_full(lab, jobs, nodes)
