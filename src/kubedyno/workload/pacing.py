"""Keeping to a plan: waiting for each planned time, and how well that went."""

import math
from collections.abc import AsyncIterator, Iterable, Sequence

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.model.submissions import Pace, SubmittedWorkload

REACHED = 0.99
"""The part of the planned rate from which on a plan was kept."""
LATE_S = 0.020
"""How late the 99th of a hundred starts may be in a plan that was kept."""


async def planned(offsets_s: Iterable[float], clock: Clock) -> AsyncIterator[int]:
    """The planned times, wall ns, each when it has come. They begin now."""
    begin_ns, wall_ns = clock.monotonic_ns(), clock.wall_ns()
    for offset_s in offsets_s:
        due_ns = round(offset_s * NS_PER_S)
        wait_ns = begin_ns + due_ns - clock.monotonic_ns()
        if wait_ns > 0:
            await clock.sleep(wait_ns / NS_PER_S)
        yield wall_ns + due_ns


def judged(workloads: Sequence[SubmittedWorkload], *, asked_per_s: float | None) -> Pace | None:
    """How a plan was kept by the workloads of it; None without workloads.

    `asked_per_s` is None where each submission waited for others: then there was no plan to be late for.
    """
    if not workloads:
        return None
    submits = sorted(workload.t_submit for workload in workloads)
    plans = sorted(workload.planned_ns for workload in workloads)
    delays = sorted(max(0, workload.t_submit - workload.planned_ns) for workload in workloads)
    late_s = delays[math.ceil(0.99 * len(delays)) - 1] / NS_PER_S
    achieved, planned_rate = _rate(submits), _rate(plans)
    slower = achieved < planned_rate * REACHED and submits[-1] - plans[-1] > LATE_S * NS_PER_S
    return Pace(
        asked_per_s=asked_per_s,
        achieved_per_s=achieved,
        late_p99_s=late_s,
        limited=asked_per_s is not None and (slower or late_s > LATE_S),
    )


def planned_rate(offsets_s: Sequence[float]) -> float | None:
    """Workloads a second that a plan asks for, on the average; None where all come at once."""
    span_s = offsets_s[-1] - offsets_s[0] if offsets_s else 0.0
    return (len(offsets_s) - 1) / span_s if span_s > 0 else None


def _rate(stamps_ns: Sequence[int]) -> float:
    span_ns = stamps_ns[-1] - stamps_ns[0]
    return (len(stamps_ns) - 1) * NS_PER_S / span_ns if span_ns > 0 else 0.0
