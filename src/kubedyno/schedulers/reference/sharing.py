"""Who has how much: jobs by queue, with the sums of what they take and wait for.

Amounts are triples of GPUs, thousandths of CPUs and millions of bytes, as in `model.queues`.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from kubedyno.model.queues import Queue
from kubedyno.schedulers.reference.fitting import Needs
from kubedyno.schedulers.reference.jobs import Job, JobKey, Task

Triple: TypeAlias = tuple[float, float, float]

NOTHING: Final[Triple] = (0.0, 0.0, 0.0)
_SLACK: Final = 1e-6
"""Sums of fractions are not exact."""


@functools.lru_cache(maxsize=4096)
def amounts_of(needs: Needs) -> Triple:
    """What a task with these needs counts for in its queue; pods of one template are counted once."""
    asked = dict(needs.requests)
    return needs.gpus / 1e3, float(asked.get("cpu", 0)), asked.get("memory", 0) / 1e9


def total_of(tasks: Iterable[Task]) -> Triple:
    """What tasks count for together."""
    gpu = cpu = memory = 0.0
    for task in tasks:
        one = amounts_of(task.needs)
        gpu, cpu, memory = gpu + one[0], cpu + one[1], memory + one[2]
    return gpu, cpu, memory


def plus(left: Triple, right: Triple) -> Triple:
    """Both together."""
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def minus(left: Triple, right: Triple) -> Triple:
    """The one without the other."""
    return left[0] - right[0], left[1] - right[1], left[2] - right[2]


def within(left: Triple, right: Triple) -> bool:
    """Whether no resource of the one is more than that of the other."""
    return left[0] <= right[0] + _SLACK and left[1] <= right[1] + _SLACK and left[2] <= right[2] + _SLACK


def exceeds(left: float, right: float) -> bool:
    """Whether the one is more, beyond what sums of fractions may be off."""
    return left > right + _SLACK


class Sums:
    """What the jobs of one queue take and want."""

    __slots__ = ("fixed", "taken", "wanted")

    def __init__(self) -> None:
        self.taken = NOTHING
        """By tasks that run."""
        self.fixed = NOTHING
        """The part of it that is not preemptible."""
        self.wanted = NOTHING
        """By tasks that run or wait."""


class Books:
    """Jobs by queue, kept up to date job by job, so that a cycle looks at none that did not change."""

    def __init__(self, queues: Mapping[str, Queue], jobs: Iterable[Job] = ()) -> None:
        self.queues = queues
        """May be replaced when queues change."""
        self.jobs: dict[JobKey, Job] = {}
        self.waiting: dict[JobKey, Job] = {}
        """Those with tasks that wait."""
        self.running: dict[str | None, dict[JobKey, Job]] = {}
        """Those with tasks that run, by queue."""
        self.sums: dict[str, Sums] = {}
        """By queue, without those below it."""
        for job in jobs:
            self.put(job)

    def put(self, job: Job) -> None:
        """A job is new, or is so now."""
        self.drop(job.key)
        self.jobs[job.key] = job
        if job.pending:
            self.waiting[job.key] = job
        if job.running:
            self.running.setdefault(job.queue, {})[job.key] = job
        if job.queue is not None:
            sums = self.sums.setdefault(job.queue, Sums())
            taken = total_of(job.running)
            sums.taken = plus(sums.taken, taken)
            sums.wanted = plus(sums.wanted, plus(taken, total_of(job.pending)))
            if not job.preemptible:
                sums.fixed = plus(sums.fixed, taken)

    def drop(self, key: JobKey) -> None:
        """A job is gone."""
        job = self.jobs.pop(key, None)
        if job is None:
            return
        self.waiting.pop(key, None)
        if job.running:
            del self.running[job.queue][key]
        if job.queue is not None:
            sums = self.sums[job.queue]
            taken = total_of(job.running)
            sums.taken = minus(sums.taken, taken)
            sums.wanted = minus(sums.wanted, plus(taken, total_of(job.pending)))
            if not job.preemptible:
                sums.fixed = minus(sums.fixed, taken)
