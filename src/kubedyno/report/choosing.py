"""Which steps a plot has, since which other step each is counted, and which workloads are left out of it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from kubedyno.model.lifecycles import STEPS, SUBMITTED
from kubedyno.report.ways import Way

OCCASIONAL: Final = frozenset(
    {"queued", "first_decided", "last_decided", "evicted", "rescheduled", "completed", "deleted"}
)
"""Steps that a workload in order may lack: it never waited, goes on running, or its decisions were not recorded."""

_ALWAYS: Final = frozenset({"first_pod", "last_bound", "last_running"})
"""Steps that every workload goes through; others that nobody has, like a volume's, belong to other workloads."""

_COUNTED_SINCE: Final = {
    "first_bound": "first_decided",
    "last_bound": "last_decided",
    "first_running": "first_bound",
    "last_running": "last_bound",
    "rescheduled": "evicted",
}
"""Steps that follow from another than the one before them: a gang's first pod runs before its last one is bound."""

_NEVER: Final = {
    "accepted": "never accepted",
    "volume_bound": "without volume",
    "first_pod": "without pods",
    "last_pod": "without pods",
    "gang_ready": "without whole gang",
    "podgroup": "without pod group",
    "admitted": "never admitted",
    "claims_allocated": "without devices",
    "first_bound": "never bound",
    "gang_bound": "never bound",
    "last_bound": "never bound",
    "first_running": "never ran",
    "gang_running": "never ran",
    "last_running": "never ran",
    "ready": "never ready",
}


class Delta(msgspec.Struct, frozen=True):
    """From one step to another."""

    since: str
    until: str


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn."""

    deltas: tuple[Delta, ...]
    """One per row; the last is the total."""
    drawn: tuple[Way, ...]
    marked: tuple[bool, ...]
    """Of each that is drawn: whether something is wrong with its times."""
    wrong: dict[str, int]
    """How many workloads are not in order, by the reason, the most frequent first."""


def choose(ways: Sequence[Way], steps: Sequence[str], *, skip_errors: bool) -> Chosen:
    """Rows and workloads of a plot of these steps.

    A step that no workload has gets no row. A row counts from the step that causes it, or else from the nearest step
    before it, that all workloads in order have, so that its delta means the same for all of them; the total goes to the
    last such step.
    """
    known = [step for step in steps if step in STEPS and any(step in way.steps for way in ways)]
    required = [step for step in steps if step in _ALWAYS or (step in known and step not in OCCASIONAL)]
    reasons = [_what_is_wrong(way, required) for way in ways]
    in_order = [way for way, reason in zip(ways, reasons, strict=True) if reason is None]
    common = [step for step in known if (all(step in way.steps for way in in_order) if in_order else step in required)]
    drawn = [
        (way, reason is not None)
        for way, reason in zip(ways, reasons, strict=True)
        if reason is None or not skip_errors
    ]
    return Chosen(
        deltas=_deltas(known, common),
        drawn=tuple(way for way, _ in drawn),
        marked=tuple(marked for _, marked in drawn),
        wrong=dict(Counter(reason for reason in reasons if reason is not None).most_common()),
    )


def _deltas(known: Sequence[str], common: Sequence[str]) -> tuple[Delta, ...]:
    rows = []
    before = SUBMITTED
    for step in known:
        cause = _COUNTED_SINCE.get(step, before)
        since = cause if cause in common or (cause in known and step in OCCASIONAL) else before
        if step != SUBMITTED and (step != "rescheduled" or since == cause):
            rows.append(Delta(since, step))
        if step in common:
            before = step
    return (*rows, Delta(SUBMITTED, before)) if before != SUBMITTED else tuple(rows)


def _what_is_wrong(way: Way, required: Sequence[str]) -> str | None:
    if way.submitted.error is not None:
        return "refused"
    if way.sample is None:
        return "not sampled yet"
    missing = next((step for step in required if step not in way.steps), None)
    if missing is not None:
        return _NEVER.get(missing, f"without {STEPS[missing].title}")
    return "with erroneous times" if way.sample.errors else None
