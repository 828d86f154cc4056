"""Departments with teams of all kinds, which together want more than there is."""

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed, interactive, training
from kubedyno.scenarios import outcomes, sharing, sizes
from kubedyno.scenarios.parameters import NodeCount
from kubedyno.scenarios.sharing import Team

_LEARNERS = 4
_LEARNER_GPUS = 2
_GANG_GPUS = _LEARNERS * _LEARNER_GPUS


def teams(nodes: int) -> tuple[Team, ...]:
    """Two departments of two teams. One serves less than it may, and what it leaves is lent to the other's teams."""
    return (
        Team(name="research", quota=5 * nodes),
        Team(name="production", quota=3 * nodes),
        Team(name="learning", parent="research", quota=2 * nodes, wants=_gangs(4 * nodes) * _GANG_GPUS),
        Team(name="training", parent="research", quota=3 * nodes, wants=6 * nodes),
        Team(name="serving", parent="production", quota=2 * nodes, wants=_gangs(nodes) * _GANG_GPUS),
        Team(name="notebooks", parent="production", quota=nodes, wants=nodes),
    )


def _gangs(gpus: int) -> int:
    return max(1, gpus // _GANG_GPUS)


@scenario(
    "kai/multi-queue-mix", tags=("big-cluster", "fairness"), needs=("gangs", "non-preemptible", "quotas", "reclaim")
)
async def multi_queue_mix(lab: Lab, *, nodes: NodeCount = sizes.KAI_NODES) -> None:
    """Reinforcement learning with pods of CPUs only, training, serving and notebooks share the cluster fairly.

    Research comes first and takes all of it. Production comes later and gets what it asks for, which is less than its
    quota; what is left is divided between the teams of research. Everybody's GPUs are compared with the fair share that
    the oracle works out, to within one gang. Pods without a GPU all run, and notebooks are never taken away.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
    """
    planned = teams(nodes)
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    await sharing.create(lab, planned)
    wants = {team.name: int(team.wants) for team in planned}
    gang = distributed(workers=_LEARNERS, gpus=_LEARNER_GPUS)
    rollouts = await lab.submit(training(gpus=0, cpu="2"), count=4 * nodes, queue="learning", name="rollout")
    work = {"learning": await lab.submit(gang, count=wants["learning"] // _GANG_GPUS, queue="learning", name="learner")}
    work["training"] = await lab.submit(training(gpus=1), count=wants["training"], queue="training", name="trainer")
    await lab.running(rollouts)
    await lab.settled()
    with lab.timed():
        count = wants["serving"] // _GANG_GPUS
        work["serving"] = await lab.submit(gang, count=count, queue="serving", name="server")
        work["notebooks"] = await lab.submit(interactive(gpus=1), count=wants["notebooks"], queue="notebooks")
        late = work["serving"] | work["notebooks"]
        lab.measure("time until production runs", since=late.submitted, until=await lab.running(late))
    await lab.settled(quiet_s=outcomes.SETTLED_S)
    outcomes.expect_all_placed(lab, rollouts)
    outcomes.expect_untouched(lab, work["notebooks"], "no notebook was taken away")
    _expect_fair(lab, planned, work, nodes)


def _expect_fair(lab: Lab, planned: tuple[Team, ...], work: dict[str, Workloads], nodes: int) -> None:
    fair = sharing.shares(planned, sizes.all_gpus(nodes))
    held = sharing.held(lab, work)
    for name, gpus in held.items():
        lab.record(f"GPUs of {name}", "GPUs", gpus)
        near = abs(gpus - fair[name]) <= _GANG_GPUS
        lab.expect(f"{name} has its fair share to within a gang", near, f"{gpus} GPUs; {fair[name]:g} are fair")
    used = sum(held.values())
    idle = sizes.all_gpus(nodes) - used
    lab.expect("no GPU lies idle while others wait", idle == 0, f"{used} are in use, {idle} idle")
