"""Running jobs are moved together so that a job fits which the free room was too scattered for."""

from collections.abc import Hashable, Iterable, Sequence

import msgspec

from kubedyno.schedulers.reference.allocating import signature
from kubedyno.schedulers.reference.displacing import by_domain
from kubedyno.schedulers.reference.jobs import Job, JobKey, Task
from kubedyno.schedulers.reference.ordering import Line, next_tasks
from kubedyno.schedulers.reference.planning import Plan
from kubedyno.schedulers.reference.sharing import exceeds
from kubedyno.schedulers.reference.solving import Search, Solution, Step, steps
from kubedyno.schedulers.reference.victims import Unit, Victims


def consolidate(plan: Plan, victims: Victims, *, most: int) -> None:
    """For preemptible jobs that wait: move others, at most so many jobs for each of them; -1: as many as it takes.

    Only what fits elsewhere is evicted; its room there is kept for it during this cycle.
    """
    waiting = [job for job in plan.waiting.values() if job.preemptible]
    if most == 0 or not waiting:
        return
    line = Line(plan.standing, waiting)
    failed: set[Hashable] = set()
    while (job := line.pop()) is not None:
        tasks = next_tasks(job)
        alike = signature(job, tasks)
        if (alike is not None and alike in failed) or job.key in plan.robbed:
            continue
        search = Search(plan, job, tasks)
        solution = _solve(plan, victims, search, most)
        if solution is None:
            failed.add(alike)
            continue
        for unit in solution.units:
            plan.evict(unit.tasks, plan.job(unit.job), "consolidation", job.key)
        victims.take(solution.units)
        plan.place(job, solution.placed)


def _solve(plan: Plan, victims: Victims, search: Search, most: int) -> Solution | None:
    if search.is_limited or exceeds(search.asked[0], plan.standing.free_gpus()):
        return None
    if solution := search.without_victims():
        return solution
    units = [unit for queue in plan.books.running for unit in victims.of(queue) if unit.job != search.job.key]
    choices = steps(search, units)
    domains = search.room.domains(search.job)
    for some in by_domain(search, choices, domains) if domains else [choices]:
        moving = _Moving(plan, search, most)
        solution = moving.solve_in_one(some) if domains else moving.solve(some)
        if solution is not None:
            return solution
    return None


class _Moving:
    """The search for jobs to move for one job."""

    def __init__(self, plan: Plan, search: Search, most: int) -> None:
        self._plan, self._search, self._room = plan, search, plan.room
        self._most = most
        self._units: dict[str, Unit] = {}
        self._moved: set[JobKey] = set()

    def solve(self, choices: Iterable[Step]) -> Solution | None:
        """Move step by step, the cheapest first, as long as each brings the job on and all that is moved fits."""
        start = self._room.mark()
        left = self._placeable(self._search.tasks)
        for step in choices:
            if not left:
                break
            left = left[self._bring_on(step, left) :]
        self._room.back(start)
        # Step by step is how they were found; what counts is that all of it works at once.
        return None if left else self._at_once(list(self._units.values()))

    def solve_in_one(self, choices: Iterable[Step]) -> Solution | None:
        """The same for a job that must be in one domain: it cannot be brought on task by task."""
        for step in choices:
            units = {**self._units, **{unit.tasks[0].uid: unit for unit in step.units}}
            if 0 <= self._most < len({unit.job for unit in units.values()}):
                continue
            self._units = units
            if solution := self._at_once(list(units.values())):
                return solution
        return None

    def _at_once(self, units: list[Unit]) -> Solution | None:
        start = self._room.mark()
        self._search.evict(units)
        placed = self._search.place(units)
        if placed and self._all_fit(units):
            return Solution(units, placed)
        self._room.back(start)
        return None

    def _placeable(self, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
        """Place as many as there is room for without moving anybody; returns the rest."""
        groups = tuple(msgspec.structs.replace(group, least=0) for group in self._search.job.groups)
        relaxed = msgspec.structs.replace(self._search.job, groups=groups, closeness=None)
        found = {task.uid for task, _ in self._room.place(relaxed, only=tasks)}
        return tuple(task for task in tasks if task.uid not in found)

    def _bring_on(self, step: Step, left: tuple[Task, ...]) -> int:
        """Move what a step says; returns how many more tasks of the job are placed then."""
        more = [unit for unit in step.units if unit.tasks[0].uid not in self._units]
        moved = self._moved | {unit.job for unit in more}
        if not more or 0 <= self._most < len(moved):
            return 0
        before = self._room.mark()
        self._search.evict(more)
        rest = self._placeable(left)
        if len(rest) == len(left) or not self._all_fit(more):
            self._room.back(before)
            return 0
        self._moved = moved
        self._units.update((unit.tasks[0].uid, unit) for unit in more)
        return len(left) - len(rest)

    def _all_fit(self, units: Sequence[Unit]) -> bool:
        """Whether all that is evicted finds room again, which is taken then."""
        tasks: dict[JobKey, list[Task]] = {}
        for unit in units:
            tasks.setdefault(unit.job, []).extend(unit.tasks)
        return all(self._fits_again(self._plan.job(key), gone) for key, gone in _biggest_first(tasks))

    def _fits_again(self, job: Job, gone: list[Task]) -> bool:
        uids = {task.uid for task in gone}
        # Whoever comes in their place are others.
        waiting = tuple(msgspec.structs.replace(task, uid=f"{task.uid}+", node=None) for task in gone)
        staying = tuple(task for task in job.running if task.uid not in uids)
        again = msgspec.structs.replace(job, pending=waiting, running=staying)
        return len(self._room.place(again)) == len(gone)


def _biggest_first(tasks: dict[JobKey, list[Task]]) -> list[tuple[JobKey, list[Task]]]:
    return sorted(tasks.items(), key=lambda pair: -max(task.needs.gpus for task in pair[1]))
