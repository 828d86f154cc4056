"""Victims on random small clusters, against an exhaustive search over all that could be evicted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import pytest
from tests.rooms import capacity_of, gang, nodes, real_room_of, room_of

from kubedyno.model.fairshare import fair_shares
from kubedyno.model.feasibility import can_place
from kubedyno.model.queues import Queue, Share
from kubedyno.schedulers.reference.cycle import decide
from kubedyno.schedulers.reference.jobs import Decisions, Job, Task
from kubedyno.schedulers.reference.settings import Settings

pytestmark = pytest.mark.unit

GPUS = 4


class Case:
    """A cluster with running jobs, and one that waits."""

    def __init__(self, seed: int, queues: Sequence[str]) -> None:
        rng = Random(seed)  # noqa: S311 - simulation
        self.cluster = nodes(rng.randint(1, 4), gpus=GPUS)
        free = dict.fromkeys(self.cluster, GPUS)
        self.running: list[Job] = []
        for i in range(rng.randint(1, 6)):
            gpus, pods = rng.choice([1, 1, 2, 4]), rng.choice([1, 1, 2, 3])
            on = []
            for _ in range(pods):
                usable = [name for name, amount in free.items() if amount >= gpus]
                if usable:
                    on.append(rng.choice(usable))
                    free[on[-1]] -= gpus
            if on:
                self.running.append(
                    gang(
                        f"r{i}",
                        queue=rng.choice(queues),
                        pods=len(on),
                        gpus=gpus,
                        least=rng.randint(1, len(on)),
                        on=on,
                        priority=rng.choice([25, 50, 75, 100]),
                        created=rng.randint(0, 50),
                    )
                )
        self.free = free
        pods = rng.randint(1, 3)
        self.new = gang(
            "new", queue=queues[0], pods=pods, gpus=rng.randint(1, GPUS), priority=rng.choice([50, 75, 125]), created=60
        )
        self.rng = rng

    def decide(self, known: dict[str, Queue], *, is_real: bool, preemptees: int = 0) -> Decisions:
        """What is decided in the room that the scheduler uses, or in the slow one."""
        jobs = [*self.running, self.new]
        room = (real_room_of if is_real else room_of)(self.cluster, self.running)
        settings = Settings(consolidation_preemptees=preemptees)
        return decide(jobs, known, capacity_of(self.cluster), room, settings=settings)

    def fits(self, evicted: Sequence[Task], again: Sequence[Task] = ()) -> bool:
        """Whether the job fits once these are evicted, and those as well that come again."""
        free = dict(self.free)
        for task in evicted:
            assert task.node is not None
            free[task.node] += task.needs.gpus // 1000
        return can_place(free, [task.needs.gpus // 1000 for task in (*self.new.pending, *again)])


def sets_of(jobs: Sequence[Job]) -> Iterator[tuple[Task, ...]]:
    """All that could be evicted of jobs: of each nothing, some of what is beyond its least number, or all."""
    choices: list[list[tuple[Task, ...]]] = []
    for job in jobs:
        beyond = job.running[job.least :]
        choices.append([tuple(part) for n in range(len(beyond) + 1) for part in combinations(beyond, n)])
        choices[-1].append(job.running)

    def each(rest: list[list[tuple[Task, ...]]]) -> Iterator[tuple[Task, ...]]:
        if not rest:
            yield ()
            return
        for tail in each(rest[1:]):
            for head in rest[0]:
                yield head + tail

    return each(choices)


def is_proper(decisions: Decisions, jobs: Sequence[Job]) -> bool:
    """Whether each job keeps at least its least number of tasks, or none."""
    gone = Counter(eviction.job for eviction in decisions.evictions)
    return all(gone[job.key] <= len(job.running) - job.least or gone[job.key] == len(job.running) for job in jobs)


rooms = pytest.mark.parametrize("is_real", [False, True], ids=["slow room", "real room"])


@rooms
def test_preemption_finds_victims_if_and_only_if_there_are_any(is_real: bool) -> None:
    """Within one queue: the job runs if evicting all that it may displace makes room; and no victim is in vain.

    In vain: a smaller set within the one that was chosen would do. That it is the smallest of all is not promised: the
    newest go first, which takes more of them now and then.
    """
    seen: Counter[str] = Counter()
    for seed in range(200):
        case = Case(seed, ["q"])
        decisions = case.decide({"q": Queue(name="q")}, is_real=is_real)
        weaker = [job for job in case.running if job.preemptible and job.priority < case.new.priority]
        gone = [eviction.task for eviction in decisions.evictions]
        possible = case.fits([task for job in weaker for task in job.running])
        assert bool(decisions.placements) == possible, seed
        assert {eviction.job for eviction in decisions.evictions} <= {job.key for job in weaker}
        assert is_proper(decisions, case.running)
        assert case.fits(gone) or not possible
        if gone:
            good = [tasks for tasks in sets_of(weaker) if case.fits(tasks)]
            assert not any(set(tasks) < set(gone) for tasks in good), seed
            seen["with victims"] += 1
            seen["as few as can be"] += len(gone) == min(map(len, good))
    assert seen["with victims"] > 50
    assert seen["as few as can be"] > 0.85 * seen["with victims"]


class Law:
    """What the rules of reclaim say in a case with queues `mine`, `a` and `b`, by their GPUs."""

    def __init__(self, case: Case, known: dict[str, Queue]) -> None:
        self.case = case
        self.quotas = {name: queue.gpu.quota for name, queue in known.items()}
        self.held = dict.fromkeys(known, 0)
        fixed = 0
        for job in case.running:
            self.held[str(job.queue)] += gpus(job.running)
            fixed += gpus(job.running) if job.queue == "mine" and not job.preemptible else 0
        asked = gpus(case.new.pending)
        wanted = {name: {"gpu": float(held + (asked if name == "mine" else 0))} for name, held in self.held.items()}
        total = {"gpu": float(GPUS * len(case.cluster))}
        self.fair = {name: share["gpu"] for name, share in fair_shares(known, wanted, total).items()}
        self.fits_quota = case.new.preemptible or fixed + asked <= self.quotas["mine"]
        self.may_take = self.fits_quota and self.held["mine"] + asked <= self.fair["mine"]
        self.is_owed = self.held["mine"] + asked <= self.quotas["mine"]
        self.others = [job for job in case.running if job.preemptible and job.queue != "mine"]

    def allows(self, tasks: Sequence[Task], *, in_order: bool) -> bool:
        """Before each victim goes its queue has more than its share, or than its quota if ours stays within its own.

        In the order in which victims are taken, or else in any.
        """
        gone = {task.uid for task in tasks}
        for name in ("a", "b"):
            floor = self.quotas[name] if self.is_owed else max(self.quotas[name], self.fair[name])
            sizes = [gpus(unit) for unit in self._units(name, gone)]
            ordered = sizes if in_order else sorted(sizes)
            if ordered and self.held[name] - sum(ordered[:-1]) <= floor:
                return False
        return True

    def _units(self, queue: str, gone: set[str]) -> list[Sequence[Task]]:
        units: list[tuple[object, Sequence[Task]]] = []
        for job in self.others:
            part = [task for task in job.running if task.uid in gone]
            whole = len(part) == len(job.running)
            age = (-job.priority, job.created, job.key)
            if job.queue == queue and whole:
                units.append(((-job.priority, 0, *age), part[: job.least]))
            if job.queue == queue:
                beyond = part[job.least :] if whole else part
                units += [((-job.priority, 1, *age, i), [task]) for i, task in enumerate(beyond)]
        return [unit for _, unit in sorted(units, key=lambda pair: pair[0], reverse=True)]


def gpus(tasks: Sequence[Task]) -> int:
    return sum(task.needs.gpus for task in tasks) // 1000


@rooms
def test_reclaim_finds_victims_if_the_rules_allow_any_and_only_then(is_real: bool) -> None:
    """Between queues: the job runs if the rules allow a set of victims, in their order, that makes room for it.

    Whatever is chosen, the rules allow in some order, and nobody is chosen in vain.
    """
    seen: Counter[str] = Counter()
    for seed in range(300):
        case = Case(seed, ["mine", "a", "b"])
        total = GPUS * len(case.cluster)
        known = {
            name: Queue(name=name, gpu=Share(quota=float(case.rng.randint(0, total)))) for name in ("mine", "a", "b")
        }
        decisions, law = case.decide(known, is_real=is_real), Law(case, known)
        if case.fits(()):
            assert bool(decisions.placements) == law.fits_quota
            continue
        if any(eviction.action == "preempt" for eviction in decisions.evictions):
            continue
        good = [tasks for tasks in sets_of(law.others) if case.fits(tasks) and law.allows(tasks, in_order=True)]
        gone = [eviction.task for eviction in decisions.evictions]
        if law.may_take and good:
            assert decisions.placements, seed
        assert is_proper(decisions, case.running)
        if decisions.placements:
            assert law.may_take, seed
            assert case.fits(gone), seed
            assert law.allows(gone, in_order=False), seed
            assert not any(set(tasks) < set(gone) for tasks in good), seed
            seen["as few as can be"] += len(gone) == min(map(len, good), default=len(gone))
        seen["placed" if decisions.placements else "not placed"] += 1
    assert min(seen["placed"], seen["not placed"]) > 20
    assert seen["as few as can be"] > 0.9 * seen["placed"]


@rooms
def test_whatever_is_moved_fits_elsewhere(is_real: bool) -> None:
    """Consolidation: all that is evicted fits again beside the job, and no more jobs are moved than may be."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        case = Case(seed, ["q"])
        case.new = gang(
            "new", queue="q", pods=len(case.new.pending), gpus=case.new.pending[0].needs.gpus // 1000, priority=10
        )
        most = case.rng.choice([1, 2, -1])
        decisions = case.decide({"q": Queue(name="q")}, is_real=is_real, preemptees=most)
        gone = [eviction.task for eviction in decisions.evictions]
        if case.fits(()):
            assert not gone
            continue
        movable = [job for job in case.running if job.preemptible]
        good = [
            tasks
            for tasks in sets_of(movable)
            if case.fits(tasks, tasks) and (most < 0 or len({task.uid.split("-")[0] for task in tasks}) <= most)
        ]
        seen["possible"] += bool(good)
        seen["found"] += bool(gone)
        assert bool(gone) == bool(decisions.placements)
        assert not gone or good
        if gone:
            assert case.fits(gone, gone), seed
            assert most < 0 or len({eviction.job for eviction in decisions.evictions}) <= most
            assert {eviction.job for eviction in decisions.evictions} <= {job.key for job in movable}
    assert seen["possible"] > 10
    assert seen["found"] > 0.9 * seen["possible"]
