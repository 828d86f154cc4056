"""A cluster that is full of others' jobs: a queue takes back what it has a right to."""

import functools
import operator

from kubedyno.kit.clock import NS_PER_S
from kubedyno.lab.handles import Stamp, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed, training
from kubedyno.scenarios import beside, outcomes, sizes
from kubedyno.scenarios.occupying import Occupied, entitle, occupied
from kubedyno.scenarios.parameters import Count, NodeCount, Rate, Share


@scenario(
    "kai/reclaim-unschedulable", tags=("big-cluster", "whole-gpu", "reclaim"), needs=("gangs", "quotas", "reclaim")
)
async def reclaim_unschedulable(
    lab: Lab,
    *,
    nodes: NodeCount = sizes.KAI_NODES,
    samples: Count = 10,
    background: Share = 0.0,
    churn: Rate = 0.0,
) -> None:
    """How long it takes to say no: a gang for which exactly one GPU too few can be reclaimed.

    The victims' queue keeps a right to all but 79 GPUs, and the gang asks for 80. It must be declared unschedulable
    without a victim, as often as there are samples. Then the right is lowered by one GPU, and the same gang must run:
    so it was that one GPU.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        samples: gangs that are submitted one after another
        background: other jobs that wait all the time, as a share of the cluster's GPUs
        churn: other jobs a second that come and go without a GPU
    """
    wanted = sizes.one_too_many(nodes)
    world = await occupied(lab, nodes, quota=wanted.quota)
    shape = distributed(workers=wanted.workers, gpus=sizes.GPUS_PER_NODE)
    async with beside.load(lab, nodes, background=background, churn=churn):
        seconds = []
        wrong: dict[str, str] = {}
        with lab.timed():
            for number in range(samples):
                gang = await lab.submit(shape, queue=world.reclaimers, name=f"refused-{number}")
                seconds.append(_between(gang.submitted, await lab.unschedulable(gang)))
                wrong |= lab.placement(gang)
                await lab.delete(gang)
        lab.record("time to declare unschedulable", "s", seconds)
        lab.expect(
            "no gang runs for which one GPU is missing",
            not wrong,
            f"{len(wrong)} pods had a node{outcomes.listed(wrong)}",
        )
        outcomes.expect_untouched(lab, world.victims, "nobody is taken for a gang that cannot run")
        await entitle(lab, wanted.quota - 1)
        gang = await lab.submit(shape, queue=world.reclaimers, name="accepted")
        await lab.scheduled(gang)
    outcomes.expect_all_placed(lab, gang)
    outcomes.expect_reclaimed(lab, victims=world.victims, reclaimers=gang, gpus=wanted.gpus)


@scenario("kai/reclaim-large", tags=("big-cluster", "whole-gpu", "reclaim"), needs=("gangs", "quotas", "reclaim"))
async def reclaim_large(
    lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES, background: Share = 0.0, churn: Rate = 0.0
) -> None:
    """One gang of half of all nodes reclaims them from one-GPU jobs.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        background: other jobs that wait all the time, as a share of the cluster's GPUs
        churn: other jobs a second that come and go without a GPU
    """
    world = await occupied(lab, nodes)
    async with beside.load(lab, nodes, background=background, churn=churn):
        await _reclaim_whole_nodes(lab, world, nodes // 2)
    await _expect_shared_out(lab, world, nodes, reclaimed=sizes.all_gpus(nodes // 2))


@scenario("kai/reclaim-latency", tags=("big-cluster", "whole-gpu", "reclaim"), needs=("quotas", "reclaim"))
async def reclaim_latency(
    lab: Lab,
    *,
    nodes: NodeCount = sizes.KAI_NODES,
    samples: Count = 10,
    background: Share = 0.0,
    churn: Rate = 0.0,
) -> None:
    """One-GPU jobs, one after another, each reclaim a GPU of a full cluster.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        samples: jobs that are submitted one after another
        background: other jobs that wait all the time, as a share of the cluster's GPUs
        churn: other jobs a second that come and go without a GPU
    """
    world = await occupied(lab, nodes)
    async with beside.load(lab, nodes, background=background, churn=churn):
        jobs = []
        seconds = []
        with lab.timed():
            for number in range(samples):
                job = await lab.submit(training(gpus=1), queue=world.reclaimers, name=f"reclaimer-{number}")
                seconds.append(_between(job.submitted, await lab.scheduled(job)))
                jobs.append(job)
        lab.record("time to reclaim a GPU", "s", seconds)
    reclaimers = functools.reduce(operator.or_, jobs)
    outcomes.expect_all_placed(lab, reclaimers)
    outcomes.expect_reclaimed(lab, victims=world.victims, reclaimers=reclaimers, gpus=samples)
    await _expect_shared_out(lab, world, nodes, reclaimed=samples)


@scenario("kai/reclaim-many", tags=("big-cluster", "whole-gpu", "reclaim"), needs=("quotas", "reclaim"))
async def reclaim_many(
    lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES, background: Share = 0.0, churn: Rate = 0.0
) -> None:
    """As many one-GPU jobs as there are GPUs reclaim the whole cluster from as many others.

    They are created while the scheduler is paused.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        background: other jobs that wait all the time, as a share of the cluster's GPUs
        churn: other jobs a second that come and go without a GPU
    """
    world = await occupied(lab, nodes)
    async with beside.load(lab, nodes, background=background, churn=churn):
        async with lab.scheduler.paused():
            jobs = await lab.submit(training(gpus=1), count=sizes.all_gpus(nodes), queue=world.reclaimers)
            await lab.created(jobs)
        await _reclaimed(lab, world, jobs, since=lab.scheduler.resumed_at)
    await _expect_shared_out(lab, world, nodes, reclaimed=sizes.all_gpus(nodes))


@scenario(
    "kai/reclaim-distributed",
    tags=("big-cluster", "whole-gpu", "reclaim", "distributed"),
    needs=("gangs", "quotas", "reclaim"),
)
async def reclaim_distributed(
    lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES, background: Share = 0.0, churn: Rate = 0.0
) -> None:
    """Gangs with a pod of five GPUs for each node reclaim from one-GPU jobs, which keep three on each node.

    They are created while the scheduler is paused. No two of their pods fit one node.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        background: other jobs that wait all the time, as a share of the cluster's GPUs
        churn: other jobs a second that come and go without a GPU
    """
    wanted = sizes.one_on_each_node(nodes)
    world = await occupied(lab, nodes)
    async with beside.load(lab, nodes, background=background, churn=churn):
        async with lab.scheduler.paused():
            shape = distributed(workers=wanted.workers, gpus=wanted.gpus)
            gangs = await lab.submit(shape, count=wanted.count, queue=world.reclaimers)
        await _reclaimed(lab, world, gangs, since=lab.scheduler.resumed_at)
    await _expect_shared_out(lab, world, nodes, reclaimed=wanted.all_gpus)


@scenario(
    "kai/reclaim-full-nodes",
    tags=("big-cluster", "whole-gpu", "reclaim", "full-nodes"),
    needs=("gangs", "quotas", "reclaim"),
)
async def reclaim_full_nodes(
    lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES, background: Share = 0.0, churn: Rate = 0.0
) -> None:
    """One gang of all nodes reclaims them from jobs that have a whole node each.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        background: other jobs that wait all the time, as a share of the cluster's GPUs
        churn: other jobs a second that come and go without a GPU
    """
    world = await occupied(lab, nodes, gpus=sizes.GPUS_PER_NODE)
    async with beside.load(lab, nodes, background=background, churn=churn):
        await _reclaim_whole_nodes(lab, world, nodes)
    await _expect_shared_out(lab, world, nodes, reclaimed=sizes.all_gpus(nodes))


async def _reclaim_whole_nodes(lab: Lab, world: Occupied, workers: int) -> None:
    gang = await lab.submit(distributed(workers=workers, gpus=sizes.GPUS_PER_NODE), queue=world.reclaimers)
    await _reclaimed(lab, world, gang, since=gang.submitted)


async def _reclaimed(lab: Lab, world: Occupied, reclaimers: Workloads, *, since: Stamp) -> None:
    """Wait until they run, measure since when, and check whom that cost what."""
    with lab.timed(since=since):
        scheduled = await lab.scheduled(reclaimers)
    lab.measure("time to reclaim", since=since, until=scheduled)
    await lab.running(reclaimers)
    outcomes.expect_all_placed(lab, reclaimers)
    gpus = reclaimers.pods * reclaimers.shape.gpus
    outcomes.expect_reclaimed(lab, victims=world.victims, reclaimers=reclaimers, gpus=gpus)


async def _expect_shared_out(lab: Lab, world: Occupied, nodes: int, *, reclaimed: int) -> None:
    await outcomes.expect_nothing_idle(lab, victims=world.victims, gpus=sizes.all_gpus(nodes) - reclaimed)


def _between(since: Stamp, until: Stamp) -> float:
    return (until.at_ns - since.at_ns) / NS_PER_S
