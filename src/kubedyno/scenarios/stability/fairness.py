"""Quotas and fair shares while jobs come and go."""

from typing import Annotated

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.lab.shapes import training
from kubedyno.scenarios import sharing, sizes
from kubedyno.scenarios.parameters import NodeCount, Seconds
from kubedyno.scenarios.sharing import Team

_RUNS_FOR_S = 60.0
_BACKLOG = 1.5
"""So much more work than the time has room for: no queue runs dry."""
_SAMPLE_EVERY_S = 1.0


def teams(nodes: int) -> tuple[Team, ...]:
    """Four teams that all want the whole cluster: with a quota, with a quota and weight, capped, and with neither."""
    gpus = sizes.all_gpus(nodes)
    return (
        Team(name="plain", quota=gpus / 4, wants=gpus),
        Team(name="heavy", quota=gpus / 4, weight=3, wants=gpus),
        Team(name="capped", quota=gpus / 8, limit=gpus / 8, wants=gpus),
        Team(name="guest", quota=0, weight=1, wants=gpus),
    )


@scenario("stability/quota-fairness", tags=("stability", "fairness"), needs=("quotas", "reclaim"))
async def quota_fairness(
    lab: Lab,
    *,
    nodes: NodeCount = 50,
    duration_s: Seconds = 180.0,
    tolerance: Annotated[float, Range(0.0, 1.0)] = 0.1,
) -> None:
    """Four queues with more work than there is room for keep to their fair shares while jobs end and others start.

    The queue without a quota comes first and has all of the cluster to itself; then the others come. From when the
    first jobs have ended on, the GPUs of each queue are looked at every second, and compared with the oracle's shares.

    Parameters:
        nodes: size of the cluster, of eight GPUs each
        duration_s: how long the queues are watched
        tolerance: how far from its fair share a queue may be for half of the time, as a share of the cluster
    """
    planned = teams(nodes)
    gpus = sizes.all_gpus(nodes)
    fair = sharing.shares(planned, gpus)
    await lab.nodes("gpu", count=nodes, gpus=sizes.GPUS_PER_NODE)
    await sharing.create(lab, planned)
    work: dict[str, Workloads] = {}
    turns = (duration_s + 2 * _RUNS_FOR_S) / _RUNS_FOR_S
    for name in ("guest", "plain", "heavy", "capped"):
        count = round(max(fair[name] * turns * _BACKLOG, gpus if name == "guest" else 0))
        shape = training(gpus=1, runs_for=f"uniform({_RUNS_FOR_S / 2:g}s, {_RUNS_FOR_S * 1.5:g}s)")
        work[name] = await lab.submit(shape, count=count, queue=name, name=name)
        if name == "guest":
            await lab.settled(quiet_s=2.0)
    await lab.clock.sleep(2 * _RUNS_FOR_S)
    with lab.timed():
        seen = await _watched(lab, work, duration_s)
    for name, share in fair.items():
        errors = [abs(moment[name] - share) / gpus for moment in seen]
        lab.record(f"fair-share error of {name}", "of the cluster", errors)
        lab.expect_at_most(f"fair-share error of {name}", tolerance)
        mean = sum(moment[name] for moment in seen) / len(seen)
        lab.record(f"GPUs of {name}", "GPUs", mean)
    most = max(moment["capped"] for moment in seen)
    limit = gpus / 8
    lab.expect("a queue with a limit never has more", most <= limit, f"capped had {most} GPUs; its limit is {limit:g}")


async def _watched(lab: Lab, work: dict[str, Workloads], duration_s: float) -> list[dict[str, int]]:
    seen = []
    for _ in range(max(1, round(duration_s / _SAMPLE_EVERY_S))):
        await lab.clock.sleep(_SAMPLE_EVERY_S)
        seen.append(sharing.held(lab, work))
    return seen
