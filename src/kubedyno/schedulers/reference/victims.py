"""Who may be evicted for others, and in which order: what KAI gives last it takes first.

Running jobs come apart in units: each task beyond the least number by itself, and the rest as a whole.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kubedyno.schedulers.reference.jobs import Job, JobKey, Task
from kubedyno.schedulers.reference.ordering import ABOVE, AT, BELOW, Turns, rank, stage
from kubedyno.schedulers.reference.planning import Plan
from kubedyno.schedulers.reference.sharing import NOTHING, Triple, plus, total_of
from kubedyno.schedulers.reference.standing import Account, Standing


class Unit(NamedTuple):
    """Tasks of a job that are evicted together or not at all."""

    job: JobKey
    queue: str | None
    priority: int
    core: bool
    """Whether the job does not run without them; then what it has beyond goes as well."""
    tasks: tuple[Task, ...]
    amounts: Triple


def units_of(jobs: Iterable[Job]) -> list[Unit]:
    """The units of jobs of one queue in the order in which they are taken.

    By priority, the lowest first; then what jobs have beyond their least number, then whole jobs, the newest first.
    """
    ranked: list[tuple[tuple[object, ...], Unit]] = []
    for job in jobs:
        priority, _, *age = rank(job)
        core, surplus = _parts(job)
        for i, task in enumerate(surplus):
            unit = Unit(job.key, job.queue, job.priority, False, (task,), total_of((task,)))  # noqa: FBT003 - a field
            ranked.append(((priority, ABOVE, *age, i), unit))
        at = BELOW if stage(job) == BELOW else AT
        unit = Unit(job.key, job.queue, job.priority, True, core, total_of(core))  # noqa: FBT003 - a field
        ranked.append(((priority, at, *age, 0), unit))
    ranked.sort(key=lambda pair: pair[0], reverse=True)
    return [unit for _, unit in ranked if unit.tasks]


def _parts(job: Job) -> tuple[tuple[Task, ...], list[Task]]:
    """The tasks that a job needs to run, and those beyond, the oldest first."""
    if len(job.groups) == 1:
        least = job.groups[0].least
        return job.running[:least], list(job.running[least:])
    least_of = {group.name: group.least for group in job.groups}
    seen: Counter[str] = Counter()
    core: list[Task] = []
    surplus: list[Task] = []
    for task in job.running:
        seen[task.group] += 1
        (core if seen[task.group] <= least_of.get(task.group, 0) else surplus).append(task)
    return tuple(core), surplus


class Victims:
    """The units of all preemptible jobs that run, by queue, found when they are first asked for."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._units: dict[str | None, list[Unit]] = {}
        """The next one last."""
        self._lowest: dict[str | None, float] = {}
        self._gone: set[str] = set()
        """uids of tasks that were taken already."""

    def of(self, queue: str | None) -> Iterator[Unit]:
        """What is left of a queue's units, in order."""
        units = self._units.get(queue)
        if units is None:
            jobs = self._plan.books.running.get(queue, {}).values()
            units = self._units[queue] = units_of(job for job in jobs if job.preemptible)[::-1]
        while units and units[-1].tasks[0].uid in self._gone:
            units.pop()
        for unit in reversed(units):
            # Who got something in this cycle does not lose the rest of it in the same.
            if unit.tasks[0].uid not in self._gone and unit.job not in self._plan.placed:
                yield unit

    def lowest(self, queue: str | None) -> float:
        """The lowest priority of the preemptible jobs that ran in a queue at first; infinite: there were none."""
        if queue not in self._lowest:
            jobs = self._plan.books.running.get(queue, {}).values()
            self._lowest[queue] = min((job.priority for job in jobs if job.preemptible), default=math.inf)
        return self._lowest[queue]

    def take(self, units: Iterable[Unit]) -> None:
        """These are evicted."""
        self._gone.update(task.uid for unit in units for task in unit.tasks)


def below(units: Iterable[Unit], priority: int, but: JobKey) -> Iterator[Unit]:
    """Those of lower priority, and not of a job itself."""
    for unit in units:
        if unit.priority >= priority:
            return
        if unit.job != but:
            yield unit


class Losses:
    """What queues, and those above them, have lost in a plan that is being made."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self.amounts: dict[str, Triple] = {}

    def add(self, unit: Unit) -> None:
        """One more unit is taken."""
        for account in self._standing.line(unit.queue):
            self.amounts[account.name] = plus(self.amounts.get(account.name, NOTHING), unit.amounts)

    @classmethod
    def of(cls, standing: Standing, units: Iterable[Unit]) -> "Losses":
        """Of these units."""
        losses = cls(standing)
        for unit in units:
            losses.add(unit)
        return losses


class _Last:
    """Sorts the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[object, ...]) -> None:
        self.key = key

    def __lt__(self, other: "_Last") -> bool:
        return other.key < self.key


class _Stock:
    """The units of one queue, as far as they may be taken."""

    __slots__ = ("_first", "_units")

    def __init__(self, units: Iterator[Unit]) -> None:
        self._units = units
        self._first = next(units, None)

    def first(self) -> Unit | None:
        """The next unit."""
        return self._first

    def pop(self) -> Unit | None:
        """Take it."""
        taken, self._first = self._first, next(self._units, None)
        return taken

    def close(self) -> None:
        """No more may be taken."""
        self._first = None


class Rules(Protocol):
    """What may be taken in one search for victims."""

    def take(self, units: Sequence[Unit]) -> bool:
        """Whether these may be taken beside those that were; then they are."""
        ...


class Anyone:
    """Nothing is forbidden beyond what candidates are chosen by."""

    def take(self, units: Sequence[Unit]) -> bool:  # noqa: ARG002 - the protocol's
        """They may."""
        return True


class Reclaiming:
    """What a job may take from other queues."""

    def __init__(self, standing: Standing, job: Job, asked: Triple) -> None:
        self._standing, self._mine, self._asked = standing, job.queue, asked
        self.losses = Losses(standing)

    def take(self, units: Sequence[Unit]) -> bool:
        """Each must come from a queue that has too much even after those before it went."""
        kept = dict(self.losses.amounts)
        for unit in units:
            if not self._standing.may_lose(self._mine, self._asked, unit.queue, self.losses.amounts):
                self.losses.amounts = kept
                return False
            self.losses.add(unit)
        return True

    def in_turn(self, units: Mapping[str, Iterator[Unit]]) -> Iterator[Unit]:
        """Units of other queues in order: always from the queue that is furthest beyond its share, until none is."""
        stocks: dict[str | None, _Stock] = {name: _Stock(members) for name, members in units.items()}
        turns: Turns[Unit] = Turns(self._standing, dict(stocks), self._key)
        while (unit := turns.pop()) is not None:
            if self.take((unit,)):
                yield unit
            else:
                stocks[unit.queue].close()

    def _key(self, account: Account | None, unit: Unit) -> object:
        if account is None:
            return _Last(())
        lost = self.losses.amounts.get(account.name, NOTHING)
        return _Last(account.order(self._standing.total, lost=lost, going=unit.amounts))
