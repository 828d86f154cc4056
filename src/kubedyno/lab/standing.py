"""How the pods of a trial stand at this moment, kept up row by row as news arrives. Pure but for its memory.

A Job's pod that was evicted comes back under another name: what counts is how many pods of a workload hold a node, not
which.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.kept import Kept

Goal: TypeAlias = Literal["created", "scheduled", "running", "completed", "unschedulable", "gone"]
"""What can be waited for; how far a workload is on the way to each is a number of its `Tally`."""

_NO_SCHEDULER: Final = ("eviction API", "taint manager", "pod garbage collector", "kubelet")
"""Evictors that are not the scheduler."""


class PodState(msgspec.Struct, gc=False):
    """A pod as it stands; times are ns since the epoch as their news arrived."""

    uid: str
    name: str
    workload: str
    created_ns: int
    node: str | None = None
    """Since it was bound; it stays when the pod has ended."""
    is_running: bool = False
    end: str | None = None
    """`succeeded`, `failed`, `deleted` (while it held its node, or before it had one); None: it has not ended."""
    ended_ns: int = 0
    evictor: str | None = None
    """Who evicted it, as far as somebody said so."""
    is_gone: bool = False

    @property
    def holds_node(self) -> bool:
        """Whether it takes room on a node now."""
        return self.node is not None and self.end is None


class Tally(msgspec.Struct, gc=False):
    """How far one workload is."""

    created: int = 0
    """Pods that were ever there."""
    scheduled: int = 0
    """Pods that hold a node, or ended well."""
    running: int = 0
    """Pods that run, or ended well."""
    completed: int = 0
    unschedulable: int = 0
    """1 once it was said of the workload, or of one of its pods."""
    gone: int = 0
    """Pods that are not there any more; they never come back, but a Job replaces its own."""


class Awaited:
    """So many pods of each workload are to reach a goal; `reached` is set while all have."""

    def __init__(self, goal: Goal, needs: Mapping[str, int], now_ns: int) -> None:
        self.goal = goal
        self.needs = needs
        self.reached = asyncio.Event()
        self.progress_ns = now_ns
        """When the last news of any progress arrived, ns since the epoch."""
        self.missing = sum(needs.values())
        self._have = dict.fromkeys(needs, 0)

    @property
    def total(self) -> int:
        """How many are to reach it."""
        return sum(self.needs.values())

    def count(self, workload: str, have: int) -> None:
        """A workload is so far now."""
        capped = min(have, self.needs[workload])
        self.missing -= capped - self._have[workload]
        self._have[workload] = capped
        if self.missing <= 0:
            self.reached.set()
        else:
            self.reached.clear()


class Standing:
    """The pods of a recording as they stand. It listens to the recording from the moment that it is made."""

    def __init__(self, kept: Kept) -> None:
        self._pods: dict[str, PodState] = {}
        self._by_workload: dict[str, list[PodState]] = {}
        self._tallies: dict[str, Tally] = {}
        self._awaited: list[Awaited] = []
        self.moved_ns = 0
        """When something was last bound, evicted, ended or gone."""
        self.waiting = 0
        """Pods without a node."""
        self.bound = 0
        """Pods that were ever bound."""
        self.bound_ns = 0
        """When one last was."""
        kept.listen(self.note)

    def note(self, row: ObjectRow) -> None:
        """A row arrived."""
        workload = row.workload
        if row.role == "pod":
            if workload is None:
                return
            if self._note_pod(row, workload):
                self.moved_ns = max(self.moved_ns, row.arrival_ns)
                self._tell(workload, row.arrival_ns)
        elif row.phase == "unschedulable" and workload is not None:
            self._declare(workload, row)
        elif row.phase == "evicted" and row.owner in self._pods:
            self._pods[row.owner].evictor = row.detail or ""

    def awaiting(self, goal: Goal, needs: Mapping[str, int], now_ns: int) -> Awaited:
        """Count those that are on their way to a goal; give it back to `forget` it."""
        awaited = Awaited(goal, needs, now_ns)
        for workload in needs:
            awaited.count(workload, getattr(self._tally(workload), goal))
        if awaited.missing <= 0:
            awaited.reached.set()
        self._awaited.append(awaited)
        return awaited

    def forget(self, awaited: Awaited) -> None:
        """Nobody waits for it any more."""
        self._awaited.remove(awaited)

    def tally(self, workload: str) -> Tally:
        """How far a workload is."""
        return self._tallies.get(workload) or Tally()

    def pods(self, workloads: Iterable[str]) -> Iterator[PodState]:
        """All pods that these workloads ever had, as they came."""
        for workload in workloads:
            yield from self._by_workload.get(workload, ())

    def taken(self, workloads: Iterable[str], is_ours: Callable[[str], bool]) -> Iterator[PodState]:
        """Pods that the scheduler took from their nodes; `is_ours` tells the workloads that we deleted ourselves."""
        for pod in self.pods(workloads):
            if pod.node is None or pod.evictor in _NO_SCHEDULER:
                continue
            if pod.evictor is not None or (pod.end == "deleted" and not is_ours(pod.workload)):
                yield pod

    def _note_pod(self, row: ObjectRow, workload: str) -> bool:
        """Whether that changes what anybody waits for."""
        pod = self._pods.get(row.uid)
        if pod is None:
            pod = PodState(row.uid, row.name, workload, row.arrival_ns)
            self._pods[row.uid] = pod
            self._by_workload.setdefault(workload, []).append(pod)
            self.waiting += 1
            self._tally(workload).created += 1
            self._tell(workload, row.arrival_ns)
        tally = self._tally(workload)
        match row.phase:
            case "scheduled":
                pod.node = row.node
                tally.scheduled += 1
                self.waiting -= 1
                self.bound += 1
                self.bound_ns = max(self.bound_ns, row.arrival_ns)
            case "running":
                pod.is_running = True
                tally.running += 1
            case "succeeded":
                self._end(pod, tally, row)
                tally.completed += 1
                tally.scheduled += 1
                tally.running += 1
            case "failed":
                self._end(pod, tally, row)
            case "deleted":
                self._end(pod, tally, row)
                pod.is_gone = True
                tally.gone += 1
            case "evicted":
                pod.evictor = row.detail or ""
            case "unschedulable":
                self._declare(workload, row)
                return False
            case _:
                return False
        return True

    def _end(self, pod: PodState, tally: Tally, row: ObjectRow) -> None:
        if pod.end is not None:
            return
        if pod.node is None:
            self.waiting -= 1
        else:
            tally.scheduled -= 1
        if pod.is_running:
            tally.running -= 1
        pod.end, pod.ended_ns = row.phase, row.arrival_ns

    def _declare(self, workload: str, row: ObjectRow) -> None:
        self._tally(workload).unschedulable = 1
        self._tell(workload, row.arrival_ns)

    def _tally(self, workload: str) -> Tally:
        tally = self._tallies.get(workload)
        if tally is None:
            tally = self._tallies[workload] = Tally()
        return tally

    def _tell(self, workload: str, arrival_ns: int) -> None:
        for awaited in self._awaited:
            if workload in awaited.needs:
                awaited.progress_ns = max(awaited.progress_ns, arrival_ns)
                awaited.count(workload, getattr(self._tallies[workload], awaited.goal))
