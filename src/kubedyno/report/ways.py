"""Submitted workloads with what was seen of each: joined, floored to a resolution, and cut to those asked for."""

from collections.abc import Sequence
from typing import Final

import msgspec

from kubedyno.model.lifecycles import ACCEPTED, STEPS, SUBMITTED
from kubedyno.model.samples import Instant, SampledFile, WorkloadSample
from kubedyno.model.submissions import SubmittedFile, SubmittedWorkload

MICROSECOND_NS: Final = 1_000


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A workload from its submission on."""

    submitted: SubmittedWorkload
    sample: WorkloadSample | None
    """What was seen of it; None: it was submitted after the last sample."""
    steps: dict[str, Instant]
    """When it reached each step, in the order of STEPS, as whole multiples of the resolution."""


def join(
    submitted: SubmittedFile, sampled: SampledFile | None, *, resolution_ns: int = MICROSECOND_NS
) -> tuple[Way, ...]:
    """One way per submitted workload, by time of submission.

    Times are floored, as stamps of that resolution would be; deltas between them are then exact.
    """
    seen = {(sample.namespace, sample.name): sample for sample in sampled.workloads} if sampled else {}
    return tuple(
        _way(workload, seen.get((workload.namespace, workload.name)), resolution_ns) for workload in submitted.workloads
    )


def cut(ways: Sequence[Way], *, head: int | None, tail: int | None) -> Sequence[Way]:
    """The first `head` of them, and of these the last `tail`; None: all."""
    first = ways if head is None else ways[:head]
    return first if tail is None else first[max(0, len(first) - tail) :]


def _way(workload: SubmittedWorkload, sample: WorkloadSample | None, resolution_ns: int) -> Way:
    at = dict(sample.steps) if sample else {}
    at.setdefault(SUBMITTED, _told(workload.t_submit))
    if workload.t_accepted is not None:
        at.setdefault(ACCEPTED, _told(workload.t_accepted))
    steps = {step: _floor(at[step], resolution_ns) for step in STEPS if step in at}
    return Way(submitted=workload, sample=sample, steps=steps)


def _told(at_ns: int) -> Instant:
    return Instant(at_ns, at_ns, at_ns, "submitter")


def _floor(at: Instant, resolution_ns: int) -> Instant:
    return Instant(
        at.at_ns - at.at_ns % resolution_ns,
        at.lower_ns - at.lower_ns % resolution_ns,
        at.upper_ns - at.upper_ns % resolution_ns,
        at.source,
    )
