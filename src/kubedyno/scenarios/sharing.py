"""Queues that compete: who wants what, what is everybody's fair share of it, and who has it."""

from collections.abc import Mapping

import msgspec

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.model.fairshare import fair_shares
from kubedyno.model.queues import UNLIMITED, Queue, Share


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A queue as a scenario plans it; figures are GPUs."""

    name: str
    parent: str | None = None
    quota: float = UNLIMITED
    weight: float = 1.0
    limit: float = UNLIMITED
    wants: float = 0
    """What its workloads ask for at a time; none for a queue that has others below it."""


async def create(lab: Lab, teams: tuple[Team, ...]) -> None:
    """Create the queues, those above first."""
    for team in teams:
        await lab.queue(team.name, parent=team.parent, quota=team.quota, weight=team.weight, limit=team.limit)


def shares(teams: tuple[Team, ...], gpus: int) -> dict[str, float]:
    """What each team may have of so many GPUs, by its name: the oracle's word."""
    queues = {
        team.name: Queue(
            name=team.name,
            parent=team.parent,
            gpu=Share(quota=team.quota, over_quota_weight=team.weight, limit=team.limit),
        )
        for team in teams
    }
    requested = {team.name: {"gpu": team.wants, "cpu": 0.0, "memory": 0.0} for team in teams}
    fair = fair_shares(queues, requested, {"gpu": gpus})
    return {name: share["gpu"] for name, share in fair.items()}


def held(lab: Lab, work: Mapping[str, Workloads]) -> dict[str, int]:
    """GPUs that each team holds now: `work` has alike pods of each."""
    return {name: sum(lab.placed(workloads).values()) * workloads.shape.gpus for name, workloads in work.items()}
