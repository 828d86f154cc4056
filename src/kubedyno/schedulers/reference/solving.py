"""Finds the units to evict so that a job gets room: first by the order of victims, then node by node.

All of it happens in the room, which is left as the solution has it, or as it was where there is none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

from kubedyno.schedulers.reference.jobs import Job, JobKey, Room, Task
from kubedyno.schedulers.reference.planning import Placed, Plan
from kubedyno.schedulers.reference.sharing import Triple, minus, total_of
from kubedyno.schedulers.reference.victims import Losses, Rules, Unit

_FEW: Final = 16
"""So many units are looked at one by one."""
_VERY_FEW: Final = 10
"""Of so many all sets are looked at."""


class Solution(NamedTuple):
    """Who goes, and where the job goes then."""

    units: list[Unit]
    placed: Placed


class Search:
    """The search for victims for one job."""

    def __init__(self, plan: Plan, job: Job, tasks: tuple[Task, ...]) -> None:
        self.room: Room = plan.room
        self.job, self.tasks = job, tasks
        self.asked = total_of(tasks)
        self.sample = max(tasks, key=lambda task: task.needs.gpus)
        """The task that is hardest to place."""
        self.is_uniform = all(task.needs == self.sample.needs for task in tasks)
        self._standing = plan.standing
        refused = plan.standing.refusal(job, self.asked, {})
        self.is_limited = refused is not None
        """Whether its queue is at a limit, which victims of the same queue may change."""
        self.is_hopeless = refused is not None and refused[0] != "OverLimit"
        self._needs_some = False
        """Whether it was seen that it does not go without victims."""
        self._lacking_gpus = self.asked[0] - plan.standing.free_gpus()

    def place(self, units: Iterable[Unit]) -> Placed:
        """Nodes for the tasks if they can have them now that units are evicted."""
        if self.is_limited and not self._within_limits(Losses.of(self._standing, units).amounts):
            return ()
        return self.room.place(self.job, only=self.tasks)

    def without_victims(self) -> Solution | None:
        """The job fits as things are."""
        placed = self.place(())
        self._needs_some = not placed
        return Solution([], placed) if placed else None

    def _within_limits(self, lost: dict[str, Triple]) -> bool:
        return self._standing.refusal(self.job, self.asked, lost) is None

    def evict(self, units: Iterable[Unit]) -> None:
        """Free what units hold."""
        for unit in units:
            for task in unit.tasks:
                self.room.evict(task)

    def in_order(self, units: Iterator[Unit]) -> Solution | None:
        """The first units of an order, as few as do, without those among them that turn out to be unnecessary."""
        start = self.room.mark()
        taken: list[Unit] = []
        freed = 0.0
        while True:
            before, too_few = self.room.mark(), len(taken)
            more: list[Unit] = []
            while len(more) < max(too_few, 1) or freed < self._lacking_gpus:
                one = next(units, None)
                if one is None:
                    break
                more.append(one)
                freed += one.amounts[0]
                if freed < self._lacking_gpus:
                    too_few = len(taken) + len(more)
            if not more:
                self.room.back(start)
                return None
            self.evict(more)
            taken += more
            placed = self.place(taken)
            if placed and len(taken) - too_few <= 1:
                return self.spare(taken, placed, start)
            if placed:
                self.room.back(before)
                self.evict(taken[len(taken) - len(more) : too_few])
                return self._fewest(taken, too_few, start)

    def _fewest(self, taken: list[Unit], too_few: int, start: int) -> Solution:
        """The shortest beginning of `taken` that is enough, of which more than `too_few` are needed.

        The room is as if that many were evicted.
        """
        enough = len(taken)
        while enough - too_few > 1:
            middle = (enough + too_few) // 2
            before = self.room.mark()
            self.evict(taken[too_few:middle])
            if self.place(taken[:middle]):
                self.room.back(before)
                enough = middle
            else:
                too_few = middle
        self.evict(taken[too_few:enough])
        return self.spare(taken[:enough], self.place(taken[:enough]), start)

    def spare(self, units: list[Unit], placed: Placed, start: int) -> Solution:
        """Give those their room back whose room is not needed, the last first: they had the most right to stay.

        `start` is the mark from before any was evicted.
        """
        if len(units) == 1 and self._needs_some:
            return Solution(units, placed)
        lost = Losses.of(self._standing, units).amounts if self.is_limited else {}
        kept: list[Unit] = []
        broken: set[JobKey] = set()
        for unit in reversed(units):
            # What a job has beyond its least number cannot stay when the rest goes.
            if (unit.core or unit.job not in broken) and self._restored(unit, lost):
                continue
            kept.append(unit)
            if unit.core:
                broken.add(unit.job)
        return self._tightened(kept[::-1], placed, start)

    def _tightened(self, units: list[Unit], placed: Placed, start: int) -> Solution:
        """Leave out, one by one, those without whom the job fits as well, if only elsewhere."""
        freed = sum(unit.amounts[0] for unit in units)
        if len(units) > _FEW or all(freed - unit.amounts[0] < self._lacking_gpus for unit in units):
            return Solution(units, placed)
        kept = units
        for unit in reversed(units):
            fewer = [one for one in kept if one is not unit]
            if not unit.core and any(one.core and one.job == unit.job for one in fewer):
                continue
            self.room.back(start)
            self.evict(fewer)
            if self.place(fewer):
                kept = fewer
        self.room.back(start)
        self.evict(kept)
        return Solution(kept, self.place(kept))

    def _restored(self, unit: Unit, lost: dict[str, Triple]) -> bool:
        without = dict(lost)
        if self.is_limited:
            for account in self._standing.line(unit.queue):
                without[account.name] = minus(lost[account.name], unit.amounts)
            if not self._within_limits(without):
                return False
        before = self.room.mark()
        if all(self.room.restore(task) for task in unit.tasks):
            lost.update(without)
            return True
        self.room.back(before)
        return False


class Step(NamedTuple):
    """Units on a node that must go so that one more task fits there, with all that went for those before."""

    cost: float
    """Tasks that are evicted for each that gains a place."""
    first: int
    """Where the first of its units is in the order of victims."""
    node: str
    places: int
    units: tuple[Unit, ...]


def steps(search: Search, units: Sequence[Unit]) -> list[Step]:
    """What it costs to make places for tasks of the job, node by node, the cheapest first."""
    beyond: dict[JobKey, list[Unit]] = {}
    on_node: dict[str, list[tuple[int, Unit]]] = {}
    for i, unit in enumerate(units):
        if not unit.core:
            beyond.setdefault(unit.job, []).append(unit)
        for node in {task.node for task in unit.tasks if task.node is not None}:
            on_node.setdefault(node, []).append((i, unit))
    found = [step for node, there in on_node.items() for step in _steps_on(search, node, there, beyond)]
    return sorted(found, key=lambda step: step[:3])


def _steps_on(
    search: Search, node: str, there: list[tuple[int, Unit]], beyond: Mapping[JobKey, list[Unit]]
) -> Iterator[Step]:
    """Evict the units that have tasks on a node, one after another, and see when it takes one task more.

    Big ones by themselves as well: rules may forbid to take those that come before them too.
    """
    before = search.room.mark()
    places = base = search.room.takes(search.sample, node)
    going: dict[str, Unit] = {}
    for i, unit in there:
        whole = [*(beyond.get(unit.job, ()) if unit.core else ()), unit]
        more = [one for one in whole if one.tasks[0].uid not in going]
        going.update((one.tasks[0].uid, one) for one in more)
        search.evict(more)
        now = search.room.takes(search.sample, node)
        if now > places:
            yield Step(_cost(going.values(), now - base), there[0][0], node, now - base, tuple(going.values()))
            if len(going) > len(whole) and unit.amounts[0] >= search.sample.needs.gpus / 1e3:
                yield Step(_cost(whole, 1), i, node, 1, tuple(whole))
            places = now
    search.room.back(before)


def _cost(units: Iterable[Unit], places: int) -> float:
    return sum(len(unit.tasks) for unit in units) / places


def by_node(search: Search, choices: Iterable[Step], rules: Rules, order: Mapping[str, int]) -> Solution | None:
    """Evict step by step, the cheapest first and none that the rules forbid, until the job fits."""
    start = search.room.mark()
    taken: dict[str, Unit] = {}
    done = tried = 0
    for step in choices:
        more = [unit for unit in step.units if unit.tasks[0].uid not in taken]
        if not rules.take(more):
            continue
        search.evict(more)
        taken.update((unit.tasks[0].uid, unit) for unit in more)
        done += 1
        # Trying is what costs most: it is done less and less often, and what was taken in vain is given back.
        if done > tried + tried // 4:
            tried = done
            if placed := search.place(taken.values()):
                return search.spare(_sorted(taken.values(), order), placed, start)
    if done > tried and (placed := search.place(taken.values())):
        return search.spare(_sorted(taken.values(), order), placed, start)
    search.room.back(start)
    return None


def among_few(search: Search, units: Sequence[Unit], rules: Callable[[], Rules]) -> Solution | None:
    """Where there are but few candidates: the smallest set of them that the rules allow and that makes room.

    Rules let the last victim be bigger than what its queue has too much of, so it can matter which one is the last.
    """
    if len(units) > _VERY_FEW:
        return None
    start = search.room.mark()
    for some in chain.from_iterable(combinations(units, count) for count in range(1, len(units) + 1)):
        if _is_whole(some, units) and rules().take(some):
            search.evict(some)
            if placed := search.place(some):
                return Solution(list(some), placed)
            search.room.back(start)
    return None


def _is_whole(some: Sequence[Unit], units: Sequence[Unit]) -> bool:
    """Whether of no job the part goes that it needs, and a part stays."""
    broken = {unit.job for unit in some if unit.core}
    return sum(unit.job in broken for unit in some) == sum(unit.job in broken for unit in units)


def _sorted(units: Iterable[Unit], order: Mapping[str, int]) -> list[Unit]:
    return sorted(units, key=lambda unit: order[unit.tasks[0].uid])
