"""A submission while it is followed: how many got how far, how fast, and how long it took them. Pure.

It counts as rows come, and forgets them: figures cost the same however long it goes on. What is exact is `sampling`.
"""

from array import array
from collections.abc import Iterable
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.sampling import quantile
from kubedyno.model.lifecycles import STEPS, Lifecycle
from kubedyno.model.submissions import SubmittedFile, SubmittedWorkload

RATE_OVER_S: Final = 10.0
"""Rates are those of the last so many seconds."""

_ENDED: Final = frozenset({"completed", "failed", "deleted"})
_ENDING_ROLES: Final = frozenset({"workload", "job"})


class PhaseFigures(msgspec.Struct, frozen=True):
    """Objects that reached one phase, and the seconds since the submission of their workload."""

    role: str
    phase: str
    objects: int
    per_s: float
    p50_s: float | None
    p99_s: float | None


class LiveFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to see at a glance."""

    submitted: int
    refused: int
    done: int
    """Workloads that have gone all their way, or have ended."""
    phases: tuple[PhaseFigures, ...]


class Live:
    """Counts what rows tell of a submission's workloads. Each object and phase must be told once."""

    def __init__(self, submission: SubmittedFile, lifecycle: Lifecycle) -> None:
        self.done = 0
        general = lifecycle.steps("general", workload_type=submission.workload_type, has_volume=False)
        self._goal = frozenset(STEPS[general[-1]].sources)
        sources = dict.fromkeys(source for step in STEPS.values() for source in step.sources)
        self._order: dict[tuple[str, str], int] = {source: place for place, source in enumerate(sources)}
        self._workloads: dict[tuple[str, str], _Workload] = {}
        self._phases: dict[tuple[str, str], _Phase] = {}
        self._refused = 0
        self._is_whole = False
        self._early: list[ObjectRow] = []
        """Rows of workloads that nobody told of yet."""
        self._strays: list[ObjectRow] = []
        """Those of them that were still unknown at the last telling."""
        self.submitted(submission)

    def submitted(self, submission: SubmittedFile) -> None:
        """More was submitted; what was seen of it already is counted now.

        News may come before it is told what was submitted; what is unknown after two tellings is somebody else's.
        """
        distributed = submission.workload_type == "distributed"
        self._refused = sum(1 for workload in submission.workloads if workload.error is not None)
        for workload in submission.workloads:
            key = workload.namespace, workload.name
            if key not in self._workloads and workload.error is None:
                self._workloads[key] = _Workload(workload, pods=workload.workers if distributed else 1)
        early, strays = self._early, self._strays
        self._early = []
        self.note_all(strays)
        self._early = []
        self.note_all(early)
        self._is_whole = submission.ended_at is not None
        self._strays, self._early = [] if self._is_whole else self._early, []

    def note_all(self, rows: Iterable[ObjectRow]) -> None:
        """Count rows."""
        for row in rows:
            self.note(row)

    def note(self, row: ObjectRow) -> None:
        """Count a row, if it is about one of the workloads."""
        if row.workload is None:
            return
        workload = self._workloads.get((row.namespace, row.workload))
        if workload is None:
            if not self._is_whole:
                self._early.append(row)
            return
        phase = self._phases.get((row.role, row.phase))
        if phase is None:
            phase = self._phases[row.role, row.phase] = _Phase()
        phase.note(row.upper_ns, (row.upper_ns - workload.since_ns) / NS_PER_S)
        if (row.role, row.phase) == ("pod", "created"):
            workload.pods_made += 1
        elif (row.role, row.phase) in self._goal:
            workload.arrived += 1
        elif row.role in _ENDING_ROLES and row.phase in _ENDED:
            workload.has_ended = True
        was_done, workload.is_done = workload.is_done, workload.has_gone_its_way()
        self.done += workload.is_done - was_done

    @property
    def is_over(self) -> bool:
        """Whether all workloads that were submitted so far have gone all their way, or have ended."""
        return self.done == len(self._workloads)

    def figures(self, now_ns: int) -> LiveFigures:
        """What there is to see now."""
        ordered = sorted(self._phases.items(), key=lambda item: (self._order.get(item[0], len(self._order)), item[0]))
        return LiveFigures(
            submitted=len(self._workloads),
            refused=self._refused,
            done=self.done,
            phases=tuple(
                PhaseFigures(
                    role,
                    name,
                    len(phase.since_s),
                    phase.per_s(now_ns),
                    quantile(phase.since_s, 0.5),
                    quantile(phase.since_s, 0.99),
                )
                for (role, name), phase in ordered
            ),
        )


class _Workload:
    """How far a workload is."""

    __slots__ = ("_pods", "arrived", "has_ended", "is_done", "pods_made", "since_ns")

    def __init__(self, workload: SubmittedWorkload, *, pods: int) -> None:
        self.since_ns = workload.t_submit
        self.pods_made = 0
        self.arrived = 0
        self.has_ended = False
        self.is_done = False
        self._pods = pods

    def has_gone_its_way(self) -> bool:
        return self.has_ended or self.arrived >= max(self._pods, self.pods_made)


class _Phase:
    """All objects that reached one phase."""

    def __init__(self) -> None:
        self.since_s = array("d")
        self._times = array("q")

    def note(self, at_ns: int, since_s: float) -> None:
        self.since_s.append(since_s)
        self._times.append(at_ns)

    def per_s(self, now_ns: int) -> float:
        since_ns = now_ns - round(RATE_OVER_S * NS_PER_S)
        recent = 0
        for at_ns in reversed(self._times):
            if at_ns < since_ns:
                break
            recent += 1
        return recent / RATE_OVER_S
