"""A sample of a submission: what was submitted and all that was seen, as `sampled.json` tells it. Pure."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, get_args

import msgspec

from kubedyno import __version__
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure import merging, steps
from kubedyno.measure.attributing import attribute
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.sightings import Sightings
from kubedyno.model.lifecycles import STEPS, SUBMITTED, Lifecycle, Plot
from kubedyno.model.samples import FORMAT, Lag, Recording, SampledFile, WorkloadSample
from kubedyno.model.submissions import SubmittedFile, SubmittedWorkload

_MAY_BE_GONE: Final = frozenset({role for role, _ in STEPS["deleted"].sources})


def sample(
    submission: SubmittedFile,
    sightings: Sightings,
    lifecycle: Lifecycle,
    *,
    recordings: Iterable[Recording] = (),
    earlier: SampledFile | None = None,
    sampled_at: str,
    is_asked: Callable[[SubmittedWorkload], bool] = lambda _: True,
) -> SampledFile:
    """What is known now of every workload of a submission, with what an earlier sample knew.

    Workloads that are not asked for stay as the earlier sample has them; those it does not have are left out.
    """
    known = {(old.namespace, old.name): old for old in earlier.workloads} if earlier is not None else {}
    members = attribute(sightings, submission.workloads)
    has_volume = any("volume" in roles for roles in members.values())
    general, detailed = (
        lifecycle.steps(plot, workload_type=submission.workload_type, has_volume=has_volume) for plot in get_args(Plot)
    )
    found: list[WorkloadSample] = []
    for place, workload in enumerate(submission.workloads):
        old = known.get((workload.namespace, workload.name))
        if is_asked(workload):
            seen = {role: [sightings.sighting(uid) for uid in uids] for role, uids in members.get(place, {}).items()}
            now = steps.sample(
                workload,
                seen,
                distributed=submission.workload_type == "distributed",
                general=general,
            )
            found.append(now if old is None else merging.merge(old, now, general))
        elif old is not None:
            found.append(old)
    return SampledFile(
        format=FORMAT,
        kubedyno=__version__,
        submission=submission.id,
        dialect=submission.dialect,
        workload_type=submission.workload_type,
        sampled_at=sampled_at,
        samples=1 + (earlier.samples if earlier is not None else 0),
        simulated=submission.simulated,
        recordings=merging.recordings((*(earlier.recordings if earlier is not None else ()), *recordings)),
        general=general,
        detailed=detailed,
        workloads=tuple(found),
    )


def absences(
    sightings: Sightings, there: Collection[str], kinds: Collection[str], namespaces: Collection[str], now_ns: int
) -> Iterator[ObjectRow]:
    """That objects were deleted which were seen once, and which a complete list of their kind does not have any more.

    `there` are the uids of the list, `now_ns` is when it was asked for; what was not known by then must not be in
    `sightings`. When they were deleted is only known from what was seen of them last.
    """
    for role, uid in sightings.uids():
        identity = sightings.identity(uid)
        is_listed = identity.kind in kinds and identity.namespace in namespaces
        if role not in _MAY_BE_GONE or not is_listed or uid in there or sightings.instant(uid, "deleted") is not None:
            continue
        last_ns = max(instant.lower_ns for instant in sightings.sighting(uid).phases.values())
        yield ObjectRow(
            uid=uid,
            kind=identity.kind,
            role=role,
            namespace=identity.namespace,
            name=identity.name,
            owner=identity.owner or None,
            workload=identity.workload or None,
            node=None,
            phase="deleted",
            detail=None,
            arrival_ns=now_ns,
            server_ns=None,
            lower_ns=min(last_ns, now_ns) or None,
            upper_ns=now_ns,
            source="server",
        )


class StepSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How far the workloads got, and how long it took them."""

    name: str
    title: str
    workloads: int
    """How many reached it."""
    p50_s: float | None
    """Median of the time since the step before it; None: nobody reached both."""
    p99_s: float | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A sample in a few figures."""

    workloads: int
    refused: int
    erroneous: int
    pods: int
    evictions: int
    steps: tuple[StepSummary, ...]
    """Those of the general plot; the last is the time from the first to the last of them."""
    lag: Lag | None
    """Of the recording in which news arrived latest."""
    whole: bool
    proof: str
    """Why the recordings are whole, or why not."""


def summary(sampled: SampledFile) -> Summary:
    """The figures of a sample."""
    lags = [recording.lag for recording in sampled.recordings if recording.lag is not None]
    whole, proof = _wholeness(sampled)
    return Summary(
        workloads=len(sampled.workloads),
        refused=sum(1 for workload in sampled.workloads if any(e.startswith("refused: ") for e in workload.errors)),
        erroneous=sum(1 for workload in sampled.workloads if workload.errors),
        pods=sum(workload.pods for workload in sampled.workloads),
        evictions=sum(workload.evictions for workload in sampled.workloads),
        steps=tuple(_step_summaries(sampled.workloads, sampled.general)),
        lag=max(lags, key=lambda lag: lag.p99_s, default=None),
        whole=whole,
        proof=proof,
    )


def _wholeness(sampled: SampledFile) -> tuple[bool, str]:
    """Whether one of the recordings saw all from the first submission on, and why that is so or not."""
    if not sampled.recordings:
        if any(instant.source == "watch" for workload in sampled.workloads for instant in workload.steps.values()):
            return False, "A recording broke off before it told how it went."
        return False, "Nothing was recorded: times are the server's own stamps."
    first_ns = min(
        (workload.steps[SUBMITTED].at_ns for workload in sampled.workloads if SUBMITTED in workload.steps), default=0
    )
    in_time = [recording for recording in sampled.recordings if recording.began_ns <= first_ns]
    if not in_time:
        late_s = (min(recording.began_ns for recording in sampled.recordings) - first_ns) / NS_PER_S
        return False, f"Recording began {late_s:.1f} s after the first workload was submitted."
    best = max(in_time, key=lambda recording: (recording.whole, recording.ended_ns))
    return best.whole, best.proof


def _step_summaries(workloads: Sequence[WorkloadSample], general: Sequence[str]) -> Iterator[StepSummary]:
    deltas: dict[str, list[float]] = {name: [] for name in general}
    totals: list[float] = []
    for workload in workloads:
        before: int | None = None
        for name in general:
            instant = workload.steps.get(name)
            if instant is None:
                continue
            if before is not None:
                deltas[name].append((instant.at_ns - before) / NS_PER_S)
            before = instant.at_ns
        if SUBMITTED in workload.steps and general[-1] in workload.steps:
            totals.append((workload.steps[general[-1]].at_ns - workload.steps[SUBMITTED].at_ns) / NS_PER_S)
    for name in general:
        reached = sum(1 for workload in workloads if name in workload.steps)
        yield _summed(name, STEPS[name].title, reached, deltas[name])
    yield _summed("total", "total", len(totals), totals)


def _summed(name: str, title: str, workloads: int, deltas_s: list[float]) -> StepSummary:
    return StepSummary(
        name=name,
        title=title,
        workloads=workloads,
        p50_s=quantile(deltas_s, 0.5),
        p99_s=quantile(deltas_s, 0.99),
    )


def quantile(values: Iterable[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not exceed; None without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)] if ordered else None
