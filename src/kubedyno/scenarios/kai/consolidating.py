"""Free GPUs are there, but on no node enough of them: running jobs must move together."""

from collections import defaultdict
from collections.abc import Mapping

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed, training
from kubedyno.scenarios import outcomes, sizes
from kubedyno.scenarios.parameters import NodeCount

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "kai": {"scheduler.max-consolidation-preemptees": "16"},
    "reference": {"reference.max-consolidation-preemptees": "16"},
}
"""The profile for scale tests turns consolidation off; here it is what is tested."""


@scenario(
    "kai/consolidate",
    tags=("big-cluster", "whole-gpu", "distributed"),
    needs=("gangs", "consolidation"),
    settings=SETTINGS,
)
async def consolidate(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES) -> None:
    """Running one-GPU jobs are moved together, so that gangs find nodes with enough free GPUs.

    A full cluster loses five jobs on each node: five GPUs are free everywhere, and the gangs' pods take six. All are in
    one queue and of one priority, so nobody may be reclaimed or preempted: only moving helps. The jobs that moved must
    run again elsewhere, and the scheduler must say that consolidation was on.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
    """
    wanted = sizes.after_moving(nodes)
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    queue = await lab.queue("team")
    jobs = await lab.submit(training(gpus=1), count=sizes.all_gpus(nodes), queue=queue, name="job")
    await lab.running(jobs)
    left = await _thinned_out(lab, jobs)
    before = _node_of(lab, left)
    async with lab.scheduler.paused():
        shape = distributed(workers=wanted.workers, gpus=wanted.gpus)
        gangs = await lab.submit(shape, count=wanted.count, queue=queue)
    with lab.timed(since=lab.scheduler.resumed_at):
        scheduled = await lab.scheduled(gangs)
    lab.measure("time to place the gangs", since=lab.scheduler.resumed_at, until=scheduled)
    again = await lab.running(left)
    lab.measure("time until all moved jobs run again", since=lab.scheduler.resumed_at, until=again)
    outcomes.expect_all_placed(lab, gangs | left)
    _expect_moved(lab, left, before, at_least=wanted.pods)


async def _thinned_out(lab: Lab, jobs: Workloads) -> Workloads:
    """End five jobs on each node; those that are left."""
    by_node: dict[str, list[str]] = defaultdict(list)
    for job, node in _node_of(lab, jobs).items():
        by_node[node].append(job)
    ended = {job for names in by_node.values() for job in lab.rng.sample(sorted(names), sizes.FREED_PER_NODE)}
    await lab.delete(jobs.part(ended))
    return jobs.part(jobs.names - ended)


def _node_of(lab: Lab, jobs: Workloads) -> dict[str, str]:
    """The node of each job of one pod, by the job's name: a moved one has a new pod."""
    return {pod.workload: pod.node for pod in lab.standing.pods(sorted(jobs.names)) if pod.holds_node and pod.node}


def _expect_moved(lab: Lab, left: Workloads, before: Mapping[str, str], *, at_least: int) -> None:
    """On each node of a gang's pod one job had to go: so many moved, and consolidation says that it was on."""
    now = _node_of(lab, left)
    moved = [job for job, node in before.items() if now.get(job, node) != node]
    taken = lab.evicted(left)
    lab.record("moved jobs", "jobs", len(moved))
    lab.record("evicted pods", "pods", len(taken))
    lab.expect("jobs moved to other nodes", len(moved) >= at_least, f"{len(moved)} moved, {at_least} had to")
    value = _setting(lab)
    lab.expect("consolidation was on", value not in {None, "0"}, f"the scheduler says {value or 'nothing of it'}")


def _setting(lab: Lab) -> str | None:
    """How many pods may be moved at once, as the scheduler itself says."""
    names = [name.split(".") for settings in SETTINGS.values() for name in settings]
    return next((value for component, field in names if (value := lab.setting(component, field)) is not None), None)
