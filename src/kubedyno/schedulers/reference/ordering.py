"""Whose turn it is: jobs within their queue, and queues within the hierarchy, as KAI orders them."""

import functools
import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from kubedyno.schedulers.reference.jobs import Job, Task
from kubedyno.schedulers.reference.sharing import total_of
from kubedyno.schedulers.reference.standing import Account, Standing

Rank: TypeAlias = tuple[int, int, str, tuple[str | int, ...], str, str]

_NUMBERS: Final = re.compile(r"(\d+)")

BELOW, AT, ABOVE = range(3)
"""How a job stands to its least number of tasks."""


def stage(job: Job) -> int:
    """Whether fewer tasks than its least number run, just as many, or more."""
    if len(job.groups) == 1:
        running, least = len(job.running), job.groups[0].least
        return BELOW if running < least else AT if running == least else ABOVE
    counts = Counter(task.group for task in job.running)
    if any(counts[group.name] < group.least for group in job.groups):
        return BELOW
    return ABOVE if any(counts[group.name] > group.least for group in job.groups) else AT


def rank(job: Job) -> Rank:
    """What sorts the jobs of a queue: by priority, those first that lack tasks they must have, then by age.

    Of two that are equally old the one with the lower number in its name is taken for the older.
    """
    kind, namespace, name = job.key
    return -job.priority, stage(job), job.created, _numbered(name), namespace, kind


@functools.lru_cache(maxsize=65536)
def _numbered(name: str) -> tuple[str | int, ...]:
    """A name that sorts by its numbers: what is created in one second is often numbered."""
    return tuple(int(part) if place % 2 else part for place, part in enumerate(_NUMBERS.split(name)))


def next_tasks(job: Job) -> tuple[Task, ...]:
    """What a job asks for next: all that it lacks of its least number; when it has that, one more task."""
    if len(job.pending) == 1:
        return job.pending
    if len(job.groups) == 1:
        return job.pending[: max(job.groups[0].least - len(job.running), 1)]
    counts = Counter(task.group for task in job.running)
    waiting: dict[str, list[Task]] = {}
    for task in job.pending:
        waiting.setdefault(task.group, []).append(task)
    lacking = [
        task
        for group in job.groups
        if counts[group.name] < group.least
        for task in waiting.get(group.name, [])[: group.least - counts[group.name]]
    ]
    if lacking:
        return tuple(lacking)
    sizes = {group.name: max(group.least, 1) for group in job.groups}
    emptiest = min(waiting, key=lambda name: counts[name] / sizes.get(name, 1))
    return (waiting[emptiest][0],)


def missing(job: Job) -> str:
    """Which tasks that must start together do not exist yet, in words; empty: all do."""
    if len(job.groups) == 1:
        count = len(job.pending) + len(job.running)
        if count >= job.groups[0].least:
            return ""
        have = {job.groups[0].name: count}
    else:
        have = Counter(task.group for task in (*job.pending, *job.running))
    for group in job.groups:
        if have.get(group.name, 0) < group.least:
            where = f" of sub-group {group.name}" if group.name else ""
            return f"waiting for {group.least} pods{where}, of which {have.get(group.name, 0)} exist"
    return ""


def with_placed(job: Job, placed: Iterable[tuple[Task, str]]) -> Job:
    """The job once these tasks have their nodes."""
    nodes = {task.uid: node for task, node in placed}
    started = tuple(msgspec.structs.replace(task, node=nodes[task.uid]) for task in job.pending if task.uid in nodes)
    left = tuple(task for task in job.pending if task.uid not in nodes)
    return msgspec.structs.replace(job, pending=left, running=(*job.running, *started))


def without(job: Job, gone: frozenset[str]) -> Job:
    """The job once tasks with these uids are evicted."""
    return msgspec.structs.replace(job, running=tuple(task for task in job.running if task.uid not in gone))


Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Leaf(Protocol[Item_co]):
    """What waits for its turn in one queue."""

    def first(self) -> Item_co | None:
        """The next one; None: there is none left."""
        ...

    def pop(self) -> Item_co | None:
        """Take it."""
        ...


class _Branch(Generic[Item]):
    """A queue, or the root of all: those below it by whose turn it is, or what it holds itself."""

    __slots__ = ("account", "children", "heap", "leaf", "parent")

    def __init__(self, account: Account | None, parent: "_Branch[Item] | None", leaf: Leaf[Item] | None) -> None:
        self.account, self.parent, self.leaf = account, parent, leaf
        self.heap: list[tuple[object, int, _Branch[Item]]] = []
        self.children = 0
        if parent is not None:
            parent.children += 1

    def first(self) -> Item | None:
        """What would come of it next."""
        if self.leaf is not None:
            return self.leaf.first()
        return self.heap[0][2].first() if self.heap else None


class Turns(Generic[Item]):
    """Things by queue, taken one by one from the queue whose turn it is: the top-most first, then those below it.

    `key` sorts queues of one parent, the least first, by what they are and their next thing. It is asked again for a
    queue and those above it whenever something was taken from it, and for no other.
    """

    def __init__(
        self, standing: Standing, leaves: dict[str | None, Leaf[Item]], key: Callable[[Account | None, Item], object]
    ) -> None:
        self._key = key
        self._root: _Branch[Item] = _Branch(None, None, None)
        self._branches: dict[str | None, _Branch[Item]] = {}
        self._numbers = 0
        self._taken: _Branch[Item] | None = None
        for name, leaf in leaves.items():
            if leaf.first() is not None:
                self._add(standing, name, leaf)
        depths = {name: len(standing.line(name)) for name in self._branches}
        for name in sorted(self._branches, key=lambda name: -depths[name]):
            self._enter(self._branches[name])

    def _add(self, standing: Standing, name: str | None, leaf: Leaf[Item]) -> None:
        parent = self._root
        for account in reversed(standing.line(name)[1:]):
            if account.name not in self._branches:
                self._branches[account.name] = _Branch(account, parent, None)
            parent = self._branches[account.name]
        own = standing.accounts[name] if name is not None else None
        self._branches[name] = _Branch(own, parent, leaf)

    def _enter(self, branch: _Branch[Item]) -> None:
        """Put a branch in its place among those of its parent, if anything is left in it."""
        first = branch.first()
        if branch.parent is not None and first is not None:
            self._numbers += 1
            key = self._key(branch.account, first) if branch.parent.children > 1 else None
            heapq.heappush(branch.parent.heap, (key, self._numbers, branch))

    def pop(self) -> Item | None:
        """The next one; None: nothing is left."""
        self._settle()
        branch = self._root
        while branch.leaf is None:
            if not branch.heap:
                return None
            branch = heapq.heappop(branch.heap)[2]
        self._taken = branch
        return branch.leaf.pop()

    def _settle(self) -> None:
        """The queue of which was taken last, and those above it, go to the places that are theirs now."""
        branch, self._taken = self._taken, None
        while branch is not None:
            self._enter(branch)
            branch = branch.parent


class _Waiting:
    """The jobs of one queue that wait."""

    __slots__ = ("_again", "_sorted")

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._sorted = sorted(((rank(job), job) for job in jobs), key=lambda pair: pair[0], reverse=True)
        self._again: list[tuple[Rank, Job]] = []

    def first(self) -> Job | None:
        """The next job."""
        source = self._source()
        return source[-1 if source is self._sorted else 0][1] if source else None

    def pop(self) -> Job:
        """Take it."""
        source = self._source()
        return source.pop()[1] if source is self._sorted else heapq.heappop(source)[1]

    def push(self, job: Job) -> None:
        """It waits again, for something else."""
        heapq.heappush(self._again, (rank(job), job))

    def _source(self) -> list[tuple[Rank, Job]]:
        if not self._again or (self._sorted and self._sorted[-1][0] < self._again[0][0]):
            return self._sorted
        return self._again


class Line:
    """Jobs that wait, in the order in which they are tried; queues are looked at anew after each."""

    def __init__(self, standing: Standing, jobs: Iterable[Job]) -> None:
        by_queue: dict[str | None, list[Job]] = {}
        for job in jobs:
            by_queue.setdefault(job.queue, []).append(job)
        self._queues = {name: _Waiting(members) for name, members in by_queue.items()}
        self._turns: Turns[Job] = Turns(standing, dict(self._queues), functools.partial(_key, standing))

    def pop(self) -> Job | None:
        """The next job; None: there is none left."""
        return self._turns.pop()

    def next_of(self, queue: str | None) -> Job | None:
        """The job that would come next of a queue."""
        return self._queues[queue].first()

    def skip(self, queue: str | None) -> None:
        """Leave that one out."""
        self._queues[queue].pop()

    def push(self, job: Job) -> None:
        """The job that was taken last waits again, with what it still lacks."""
        self._queues[job.queue].push(job)


def _key(standing: Standing, account: Account | None, job: Job) -> object:
    """Queues by their order; what is in no queue gets what they leave."""
    if account is None:
        return (1,)
    return (0, account.order(standing.total, asked=total_of(next_tasks(job))))
