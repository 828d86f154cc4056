"""Two samples of the same workloads as one: nothing that was once seen is lost. Pure.

Most merging is done on rows (`sightings`). This is for what only an earlier `sampled.json` still tells, because its
recording went with its lab, or objects were deleted that nobody recorded. It does not matter which of two samples is
the earlier one.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kubedyno.measure import steps as stepping
from kubedyno.model.lifecycles import STEPS
from kubedyno.model.samples import Instant, Recording, WorkloadSample

_TRUST: Final = {"server": 0, "watch": 1, "submitter": 2}

_OF_SEVERAL_PODS: Final = frozenset(
    name
    for name, step in STEPS.items()
    if step.pick != "first" and {role for role, _ in step.sources} & {"pod", "decision"}
)
"""Steps that depend on how many pods are known."""

_SHOWN_FOR_EVER: Final = frozenset({"created", "scheduled", "running"})
"""Phases of pods that all their later states still show."""

_RETRACTABLE: Final = frozenset(
    name for name in _OF_SEVERAL_PODS if any(phase in _SHOWN_FOR_EVER for _, phase in STEPS[name].sources)
)
"""Whoever knows of more pods, and not of such a step, knows that it was not reached yet."""

_ONCE: Final = _OF_SEVERAL_PODS | {"submitted", "accepted", "completed", "deleted"}
"""Steps that happen at one time only, if the same pods are known: two times of them are a contradiction."""


def merge(one: WorkloadSample, other: WorkloadSample, general: Sequence[str]) -> WorkloadSample:
    """All that two samples of one workload know. `general` names steps of its way, in order: none may be skipped."""
    if one == other:
        return one
    fewer, more = sorted((one, other), key=lambda sample: sample.pods)
    steps: dict[str, Instant] = {}
    contradictions: set[str] = set()
    for name in STEPS:
        ours, theirs = more.steps.get(name), fewer.steps.get(name)
        if more.pods > fewer.pods and name in _OF_SEVERAL_PODS and (ours is not None or name in _RETRACTABLE):
            theirs = None
        if ours is not None and theirs is not None:
            steps[name] = _best(name, ours, theirs)
            if name in _ONCE and _are_apart(ours, theirs):
                contradictions.add(f"samples contradict each other about {STEPS[name].title}")
        elif (known := ours or theirs) is not None:
            steps[name] = known
    uid = more.uid or fewer.uid
    lasting = {error for error in (*one.errors, *other.errors) if not stepping.is_passing(error)}
    return WorkloadSample(
        name=more.name,
        namespace=more.namespace,
        kind=more.kind,
        uid=uid,
        project=more.project,
        pods=more.pods,
        gang=max(one.gang, other.gang) if one.pods == other.pods else more.gang,
        steps=steps,
        evictions=max(one.evictions, other.evictions),
        evicted_by=tuple(sorted({*one.evicted_by, *other.evicted_by})),
        errors=(*sorted(lasting | contradictions), *stepping.wrong(steps, general, is_there=uid is not None)),
    )


def _best(name: str, one: Instant, other: Instant) -> Instant:
    """The moment of a step of which two are known: of one fact the better telling, of two facts the one that counts."""
    if not _are_apart(one, other):
        better = max(one, other, key=_worth)
        lower_ns, upper_ns = max(one.lower_ns, other.lower_ns), min(one.upper_ns, other.upper_ns)
        return Instant(min(max(better.at_ns, lower_ns), upper_ns), lower_ns, upper_ns, better.source)
    if name in _ONCE:
        return max(one, other, key=_worth)
    first, last = sorted((one, other), key=lambda instant: instant.upper_ns)
    return first if STEPS[name].pick == "first" else last


def _worth(instant: Instant) -> tuple[int, int, int, int]:
    """Orders tellings of one fact: a watch beats a stamp, then the tighter one."""
    return (_TRUST[instant.source], instant.lower_ns - instant.upper_ns, -instant.upper_ns, -instant.at_ns)


def _are_apart(one: Instant, other: Instant) -> bool:
    return one.lower_ns > other.upper_ns or other.lower_ns > one.upper_ns


def recordings(known: Iterable[Recording]) -> tuple[Recording, ...]:
    """Each recording once, as it was told of last, by when it began."""
    latest: dict[int, Recording] = {}
    for recording in sorted(known, key=lambda recording: (recording.began_ns, recording.ended_ns, recording.proof)):
        latest[recording.began_ns] = recording
    return tuple(latest.values())
