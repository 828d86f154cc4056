"""Where queues stand during a cycle: what they have against what they may have, and the rules that follow from it.

The rules are KAI's: nobody beyond its limit, nothing that is not preemptible beyond quota, and who may take from whom.
Whatever is without limit is infinite here.
"""

import math
from collections.abc import Mapping
from typing import Final

from kubedyno.model.fairshare import RESOURCES, fair_shares, lineage
from kubedyno.model.queues import UNLIMITED, Queue
from kubedyno.schedulers.reference.jobs import Job
from kubedyno.schedulers.reference.sharing import NOTHING, Books, Triple, exceeds, minus, plus, within

_UNITS: Final = ((1.0, "GPUs"), (1e3, "CPU cores"), (1e3, "GB of memory"))
_NO_SHARE: Final = 1000.0
"""How heavily use counts where a queue has no share at all."""


class Account:
    """A queue: what it has now, and what it may have."""

    __slots__ = ("allocatable", "allocated", "fair", "fixed", "limit", "line", "name", "number", "priority", "quota")

    def __init__(self, queue: Queue, number: int, fair: Mapping[str, float]) -> None:
        self.name = queue.name
        self.number = number
        """Its place among the queues as they were told."""
        self.priority = queue.priority
        self.quota = _triple([getattr(queue, resource).quota for resource in RESOURCES])
        self.limit = _triple([getattr(queue, resource).limit for resource in RESOURCES])
        self.fair: Triple = (fair["gpu"], fair["cpu"], fair["memory"])
        self.allocatable = _triple(
            [
                limit if quota == math.inf else min(limit, max(quota, share))
                for quota, limit, share in zip(self.quota, self.limit, self.fair, strict=True)
            ]
        )
        """What nobody takes from it."""
        self.allocated = NOTHING
        self.fixed = NOTHING
        """The part of it that is not preemptible."""
        self.line: list[Account] = []
        """Itself and those above it."""

    def order(
        self, total: Triple, *, asked: Triple = NOTHING, lost: Triple = NOTHING, going: Triple = NOTHING
    ) -> tuple[float | Triple, ...]:
        """What sorts queues with one parent: the one that should get something first is the least.

        `asked` is what its next job asks for; `lost` what it has lost to others in the plan at hand, `going` what it
        would lose next.
        """
        has = minus(self.allocated, lost)
        had = plus(has, asked)
        return (
            all(share < used for share, used in zip(self.fair, has, strict=True)),
            not within(had, self.quota),
            -self.priority,
            any(share == 0 and used > 0 for share, used in zip(self.allocatable, had, strict=True)),
            self._dominant(minus(had, going), total),
            self._dominant(has, total),
            self.allocatable,
            self.number,
        )

    def _dominant(self, used: Triple, total: Triple) -> float:
        """The greatest part of its own share that it uses, over all resources."""
        most = 0.0
        for share, amount, whole in zip(self.allocatable, used, total, strict=True):
            part = whole if share == math.inf else share
            most = max(most, amount * _NO_SHARE if part == 0 else amount / part)
        return most


class Standing:
    """The accounts of all queues, as a cycle changes them."""

    def __init__(self, books: Books, capacity: Mapping[str, float]) -> None:
        queues = books.queues
        self.total: Triple = (capacity.get("gpu", 0.0), capacity.get("cpu", 0.0), capacity.get("memory", 0.0))
        wanted = {
            name: dict(zip(RESOURCES, sums.wanted, strict=True)) for name, sums in books.sums.items() if name in queues
        }
        shares = fair_shares(queues, wanted, capacity)
        self.accounts = {name: Account(queue, i, shares[name]) for i, (name, queue) in enumerate(queues.items())}
        self.parents = {queue.parent for queue in queues.values()}
        for name, account in self.accounts.items():
            account.line = [self.accounts[above] for above in lineage(queues, name)]
        for name, sums in books.sums.items():
            if name in queues:
                self.take(name, sums.taken, fixed=sums.fixed)
        self._queues = queues

    def trouble(self, name: str | None) -> str:
        """Why no job of a queue can run, whatever it is; empty: jobs can."""
        if name is None:
            return ""
        if name not in self.accounts:
            return f"queue {name} does not exist"
        top = self._queues[self.accounts[name].line[-1].name]
        if top.parent is not None:
            return f"queue {top.name} names {top.parent} as its parent, which does not exist"
        if name in self.parents:
            return f"queue {name} has queues below it: jobs go to those"
        return ""

    def take(self, name: str | None, amounts: Triple, *, fixed: Triple = NOTHING) -> None:
        """A queue, and those above it, have so much more."""
        for account in self.line(name):
            account.allocated = plus(account.allocated, amounts)
            account.fixed = plus(account.fixed, fixed)

    def line(self, name: str | None) -> list[Account]:
        """A queue and those above it."""
        return self.accounts[name].line if name in self.accounts and name is not None else []

    def refusal(self, job: Job, asked: Triple, lost: Mapping[str, Triple]) -> tuple[str, str] | None:
        """Why a job may not have what it asks for even if there is room, as a reason of KAI's and a sentence."""
        for account in self.line(job.queue):
            has = minus(account.allocated, lost.get(account.name, NOTHING))
            for (unit, what), limit, used, more in zip(_UNITS, account.limit, has, asked, strict=True):
                if more and exceeds(used + more, limit):
                    return "OverLimit", (
                        f"queue {account.name} is at its limit of {limit / unit:g} {what}: {used / unit:g} are in use, "
                        f"and the job asks for {more / unit:g}"
                    )
        if job.preemptible:
            return None
        for account in self.line(job.queue):
            for (unit, what), quota, used, more in zip(_UNITS, account.quota, account.fixed, asked, strict=True):
                if more and exceeds(used + more, quota):
                    return "NonPreemptibleOverQuota", (
                        f"queue {account.name} has a quota of {quota / unit:g} {what}, of which jobs that are not "
                        f"preemptible use {used / unit:g}, and this one asks for {more / unit:g}; a preemptible job "
                        "could go beyond"
                    )
        return None

    def may_reclaim(self, job: Job, asked: Triple) -> bool:
        """Whether a job may take from other queues at all: its own stays within its fair share."""
        line = self.line(job.queue)
        return (
            bool(line)
            and within(plus(line[0].allocated, asked), line[0].fair)
            and (job.preemptible or all(within(plus(account.fixed, asked), account.quota) for account in line))
        )

    def free_gpus(self) -> float:
        """How many GPUs no queue has, which is more than are free where others have some."""
        tops = (account for account in self.accounts.values() if len(account.line) == 1)
        return self.total[0] - sum(account.allocated[0] for account in tops)

    def may_lose(self, mine: str | None, asked: Triple, other: str | None, lost: Mapping[str, Triple]) -> bool:
        """Whether one more victim may be taken from another queue, from which `lost` was taken so far.

        Of the two queues with one parent below which they are, that of the victim must have more than its share; or
        more than its quota, when the other one stays within its own.
        """
        reclaimer = victim = None
        for reclaimer, victim in zip(reversed(self.line(mine)), reversed(self.line(other)), strict=False):
            if reclaimer is not victim:
                break
        if reclaimer is None or victim is None:
            return False
        left = minus(victim.allocated, lost.get(victim.name, NOTHING))
        if not within(left, victim.allocatable):
            return True
        return within(plus(reclaimer.allocated, asked), reclaimer.quota) and not within(left, victim.quota)

    def stays_fair(self, mine: str | None, asked: Triple, lost: Mapping[str, Triple]) -> bool:
        """Whether no queue above the one that takes would be further beyond its share than one that gave."""
        for account in self.line(mine):
            parent = self._queues[account.name].parent
            has = plus(minus(account.allocated, lost.get(account.name, NOTHING)), asked)
            for name, amounts in lost.items():
                if name == account.name or self._queues[name].parent != parent:
                    continue
                sibling = self.accounts[name]
                left = minus(sibling.allocated, amounts)
                for more, gone, used, share, rest, theirs in zip(
                    asked, amounts, has, account.fair, left, sibling.fair, strict=True
                ):
                    beyond = _part(used, share)
                    if (more or gone) and theirs > 0 and exceeds(beyond, 1) and beyond >= _part(rest, theirs):
                        return False
        return True


def _triple(values: list[float]) -> Triple:
    gpu, cpu, memory = (math.inf if value == UNLIMITED else value for value in values)
    return gpu, cpu, memory


def _part(used: float, share: float) -> float:
    if share == 0:
        return math.inf if used > 0 else 0.0
    return used / share
