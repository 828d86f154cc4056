"""What the reference scheduler decides about, as data: queues, jobs with their tasks, and what comes out of a cycle."""

from typing import Literal, Protocol, TypeAlias

import msgspec

from kubedyno.model.workloads import Closeness
from kubedyno.schedulers.reference.fitting import Needs

Key: TypeAlias = tuple[str, str]
"""(namespace, name)."""
JobKey: TypeAlias = tuple[str, str, str]
"""(kind, namespace, name) of the PodGroup; ("Pod", namespace, name) for a pod without one."""

Action: TypeAlias = Literal["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]


class Task(msgspec.Struct, frozen=True):
    """A pod, as far as decisions go."""

    key: Key
    uid: str
    needs: Needs
    group: str = ""
    """Name of its sub-group; empty: the job has none."""
    node: str | None = None
    """Where it runs, or is about to; None: it waits."""
    claims: tuple[Key, ...] = ()
    """Its volume claims."""


class Subgroup(msgspec.Struct, frozen=True):
    """Tasks of a job that are counted and placed by themselves."""

    name: str
    least: int
    closeness: Closeness | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks that start together: a gang, or a single pod."""

    key: JobKey
    queue: str | None
    """Leaf queue; None: it is in none, and nothing limits it but room."""
    priority: int
    preemptible: bool
    created: str
    """RFC 3339, which sorts by time."""
    groups: tuple[Subgroup, ...]
    """At least one; a plain gang has one without a name."""
    pending: tuple[Task, ...]
    running: tuple[Task, ...]
    """Those with a node, oldest first."""
    closeness: Closeness | None = None
    """Of the whole job."""

    @property
    def least(self) -> int:
        """How many tasks must run together."""
        return sum(group.least for group in self.groups)


class Placement(msgspec.Struct, frozen=True):
    """A task and its node."""

    task: Task
    job: JobKey
    node: str
    after: frozenset[str] = frozenset()
    """uids of tasks that must be gone first; empty: it can be bound at once."""


class Eviction(msgspec.Struct, frozen=True):
    """A task that loses its node, for whom, and by which action."""

    task: Task
    job: JobKey
    action: Action
    by: JobKey | None


class Refusal(msgspec.Struct, frozen=True):
    """A job that does not get what it wants now, and why: a reason of KAI's and a sentence."""

    job: JobKey
    reason: str
    message: str


class Decisions(msgspec.Struct, frozen=True):
    """What one cycle decided."""

    placements: tuple[Placement, ...]
    evictions: tuple[Eviction, ...]
    refusals: tuple[Refusal, ...]


class Room(Protocol):
    """What is free on the nodes during a cycle; everything can be taken back. Decisions see nodes through it alone."""

    def mark(self) -> int:
        """A point that can be returned to."""
        ...

    def back(self, mark: int) -> None:
        """Undo all that happened since."""
        ...

    def place(self, job: Job, *, only: tuple[Task, ...] | None = None) -> tuple[tuple[Task, str], ...]:
        """Nodes for the waiting tasks of a job (or for `only` these), and take the room.

        Empty and nothing taken when less than the least number of any group (its running tasks counted) would run, or
        when the required closeness cannot be had. Beyond the least number, as many as there is room for.
        """
        ...

    def evict(self, task: Task) -> None:
        """Free what a running task holds."""
        ...

    def restore(self, task: Task) -> bool:
        """Give a task that was evicted its room on its node back; False and nothing taken: it is in use by now."""
        ...

    def takes(self, task: Task, node: str) -> int:
        """How many such tasks could be placed on a node now, whatever their closeness; 0: it may not go there."""
        ...

    def domains(self, job: Job) -> tuple[frozenset[str], ...]:
        """The domains of the level that a job requires, each as the names of its nodes; empty: it requires none."""
        ...

    def why_not(self, job: Job) -> str:
        """Why there is no room for a job, in words."""
        ...
