"""The plan that a cycle makes, action by action: what was decided so far, and how jobs and queues stand then."""

from collections.abc import Iterable, Mapping

from kubedyno.schedulers.reference.jobs import Action, Decisions, Eviction, Job, JobKey, Placement, Refusal, Room, Task
from kubedyno.schedulers.reference.ordering import missing, with_placed, without
from kubedyno.schedulers.reference.sharing import NOTHING, Books, minus, total_of
from kubedyno.schedulers.reference.standing import Standing

Placed = tuple[tuple[Task, str], ...]


class Plan:
    """What was decided so far in a cycle."""

    def __init__(self, books: Books, capacity: Mapping[str, float], room: Room) -> None:
        self.books = books
        self.room = room
        self.standing = Standing(books, capacity)
        self._jobs: dict[JobKey, Job] = {}
        self._placements: list[Placement] = []
        self._evictions: list[Eviction] = []
        self._refusals: dict[JobKey, Refusal] = {}
        self._leaving: dict[str, set[str]] = {}
        """uids of tasks that are evicted, by node."""
        self.placed: set[JobKey] = set()
        """Jobs that got something."""
        self.robbed: set[JobKey] = set()
        """Jobs that lost something."""
        self.waiting: dict[JobKey, Job] = {}
        """Jobs that can start as far as they themselves go, and still want something."""
        troubles = {queue: self.standing.trouble(queue) for queue in {job.queue for job in books.waiting.values()}}
        for key, job in books.waiting.items():
            if trouble := troubles[job.queue]:
                self.refuse(job, "QueueDoesNotExist", trouble)
            elif lacking := missing(job):
                self.refuse(job, "NotReady", lacking)
            else:
                self.waiting[key] = job

    def job(self, key: JobKey) -> Job:
        """A job as it is by the plan."""
        return self._jobs.get(key) or self.books.jobs[key]

    def place(self, job: Job, placed: Placed) -> Job:
        """A job gets nodes, which tasks that are evicted may have to leave first; returns how the job is then.

        Tasks that start together are bound together: each waits for all that any of them waits for.
        """
        gone = frozenset(uid for node in {node for _, node in placed} for uid in self._leaving.get(node, ()))
        self._placements += [Placement(task, job.key, node, gone) for task, node in placed]
        amounts = total_of(task for task, _ in placed)
        self.standing.take(job.queue, amounts, fixed=NOTHING if job.preemptible else amounts)
        self.placed.add(job.key)
        changed = self._jobs[job.key] = with_placed(job, placed)
        if changed.pending:
            self.waiting[job.key] = changed
        else:
            self.waiting.pop(job.key, None)
        return changed

    def evict(self, tasks: Iterable[Task], job: Job, action: Action, by: JobKey | None) -> None:
        """Tasks of a job lose their nodes."""
        gone = list(tasks)
        self.robbed.add(job.key)
        self._evictions += [Eviction(task, job.key, action, by) for task in gone]
        for task in gone:
            if task.node is not None:
                self._leaving.setdefault(task.node, set()).add(task.uid)
        if action == "consolidation":
            # What is moved keeps counting until it is there again.
            self._jobs[job.key] = without(self.job(job.key), frozenset(task.uid for task in gone))
            return
        amounts = minus(NOTHING, total_of(gone))
        self.standing.take(job.queue, amounts, fixed=NOTHING if job.preemptible else amounts)
        self._jobs[job.key] = without(self.job(job.key), frozenset(task.uid for task in gone))

    def refuse(self, job: Job, reason: str, message: str) -> None:
        """A job does not get what it wants, unless something later in the cycle gives it to it."""
        self._refusals[job.key] = Refusal(job.key, reason, message)

    def decisions(self) -> Decisions:
        """All of it. A job that gets something is not refused the rest in the same cycle."""
        refusals = tuple(refusal for key, refusal in self._refusals.items() if key not in self.placed)
        return Decisions(tuple(self._placements), tuple(self._evictions), refusals)
