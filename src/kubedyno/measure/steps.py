"""The steps of one workload, from all that was seen of its objects. Pure.

A step is the first, the last or the gang-completing of a role's objects to reach a phase. Its bounds hold for that
order: the k-th moment is not before the k-th lower bound, and not after the k-th upper one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.sightings import Sighting
from kubedyno.model.lifecycles import ACCEPTED, STEPS, SUBMITTED, Pick, Step
from kubedyno.model.samples import Instant, WorkloadSample
from kubedyno.model.submissions import SubmittedWorkload

Seen = Mapping[str, Sequence[Sighting]]
"""What was seen of a workload's objects, by role."""

RESCHEDULED: Final = "rescheduled"


def _closed(name: str) -> frozenset[str]:
    earlier = frozenset(STEPS[name].after)
    return earlier.union(*(_closed(one) for one in earlier))


EARLIER: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(one for one in STEPS if one in _closed(name)) for name in STEPS
}
"""For each step all that cannot come after it, in their order."""

_ORDER: Final = "impossible order: "
_MISSING: Final = "missing: "
_UNSEEN: Final = "unseen: "

_MAIN_STEPS: Final = {"workload": "workload", "job": "job", "podgroup": "podgroup", "pod": "first_pod"}
"""Roles that the main object of a workload may have, and the step that its creation is."""

_LOST: Final = ("evicted", "failed", "deleted")
"""Phases after which a pod is replaced."""

_OF_THE_END: Final = frozenset({"evicted", "completed", "deleted"})
"""Phases that what was made later may also be in."""

_EACH_POD: Final = frozenset({"created", "scheduled", "running", "ready"})
"""Phases that every pod reaches on its way: the last one is the last of all, not of those that got there so far."""


def sample(workload: SubmittedWorkload, seen: Seen, *, distributed: bool, general: Sequence[str]) -> WorkloadSample:
    """All that is known of a workload's way. `general` names steps on it, in order: none may be skipped."""
    pods, first = seen.get("pod", ()), _made_at_first(seen)
    gang = gang_size(workload, first, distributed=distributed)
    last = max(gang, _expected(workload, first, distributed=distributed))
    evictions = _Evictions.of(seen)
    steps = dict(_submitters(workload))
    for name, step in STEPS.items():
        instant = _step(step, seen, first, {"first": 1, "gang": gang, "last": last}, floor_ns=workload.t_submit)
        if instant is not None:
            steps[name] = instant
    if evictions.first is not None:
        bound_again = rescheduled(pods, gang, evictions.first)
        if bound_again is not None:
            steps[RESCHEDULED] = bound_again
    return WorkloadSample(
        name=workload.name,
        namespace=workload.namespace,
        kind=workload.kind,
        uid=workload.uid,
        project=workload.project,
        pods=len(pods),
        gang=gang,
        steps=tightened({name: steps[name] for name in STEPS if name in steps}, _main_step(workload, seen)),
        evictions=evictions.pods,
        evicted_by=evictions.by,
        errors=(
            *sorted({*_refusal(workload), *_failures(seen), *_contradictions(seen)}),
            *wrong(steps, general, is_there=workload.uid is not None),
        ),
    )


def gang_size(workload: SubmittedWorkload, seen: Seen, *, distributed: bool) -> int:
    """How many pods must run together: as pod groups say, else all of a distributed workload, else each for itself.

    Several groups that each want more than one pod are one gang; groups of one pod each are none.
    """
    sizes: dict[str, int] = {}
    for group in seen.get("podgroup", ()):
        told = group.details.get("created", "")
        if told.isdecimal():
            sizes[group.name] = max(int(told), sizes.get(group.name, 0))
    if sizes:
        return sum(sizes.values()) if max(sizes.values()) > 1 else 1
    return _expected(workload, seen, distributed=True) if distributed else 1


def _expected(workload: SubmittedWorkload, first: Seen, *, distributed: bool) -> int:
    """How many pods the workload has at a time."""
    return max(len(first.get("pod", ())), workload.workers if distributed else 1)


def _made_at_first(seen: Seen) -> Seen:
    """Without what was made to replace something: all that came after the first pod was lost."""
    lost = [pod.phases[phase].at_ns for pod in seen.get("pod", ()) for phase in _LOST if phase in pod.phases]
    if not lost:
        return seen
    end_ns = min(lost)
    return {
        role: [one for one in objects if "created" not in one.phases or one.phases["created"].at_ns <= end_ns]
        for role, objects in seen.items()
    }


def _submitters(workload: SubmittedWorkload) -> Iterator[tuple[str, Instant]]:
    """The steps that the submitter stamps with its own clock."""
    for name, at_ns in ((SUBMITTED, workload.t_submit), (ACCEPTED, workload.t_accepted)):
        if at_ns is not None:
            yield name, Instant(at_ns, at_ns, at_ns, "submitter")


def _step(step: Step, seen: Seen, first: Seen, counts: Mapping[Pick, int], *, floor_ns: int) -> Instant | None:
    """When a workload reached a step; None: it has not, or nobody saw it. Nothing happened before `floor_ns`.

    `first` is what was made before anything was replaced.
    """
    for role, phase in step.sources:
        is_of_each_pod = (role == "pod" and phase in _EACH_POD) or role == "decision"
        objects = (seen if is_of_each_pod or phase in _OF_THE_END else first).get(role, ())
        instants = [found.phases[phase] for found in objects if phase in found.phases]
        if not instants:
            if objects and phase == "deleted":
                return None  # pods go and come while their workload is there
            continue
        is_of_some = step.pick == "last" and not is_of_each_pod
        number = _of_all(objects, instants, phase) if is_of_some else counts[step.pick]
        return nth(instants, number, floor_ns=floor_ns) if number <= len(instants) else None
    return None


def _of_all(objects: Sequence[Sighting], instants: Sequence[Instant], phase: str) -> int:
    """How many objects besides pods must have got there: claims and volumes all, for the rest those that did."""
    return len(objects) if phase in {"bound", "allocated", "deleted"} else len(instants)


def nth(instants: Sequence[Instant], number: int, *, floor_ns: int = 0) -> Instant:
    """The moment when the number-th of several things had happened, with bounds that hold for it."""
    if len(instants) == 1 and instants[0].lower_ns:
        return instants[0]
    by_time = sorted(instants, key=lambda instant: (instant.at_ns, instant.source))
    upper_ns = sorted(instant.upper_ns for instant in instants)[number - 1]
    lower_ns = sorted(instant.lower_ns for instant in instants)[number - 1] or min(floor_ns, upper_ns)
    middle = by_time[number - 1]
    return Instant(min(max(middle.at_ns, lower_ns), upper_ns), lower_ns, upper_ns, middle.source)


def _main_step(workload: SubmittedWorkload, seen: Seen) -> str | None:
    """The step that is not after the creation of the workload's main object, which the submitter saw accepted."""
    for role, step in _MAIN_STEPS.items():
        objects = seen.get(role, ())
        if any(found.uid == workload.uid for found in objects) and (STEPS[step].pick == "first" or len(objects) == 1):
            return step
    return None


def tightened(steps: dict[str, Instant], main: str | None) -> dict[str, Instant]:
    """The steps with bounds that keep their order: what came before something else was not after its upper bound.

    `main` came before `accepted`. Bounds that contradict the order are left as they are.
    """
    pairs = [(earlier, name) for name in steps for earlier in EARLIER[name] if earlier in steps]
    if main in steps and ACCEPTED in steps:
        pairs.append((main, ACCEPTED))
    lower = {name: instant.lower_ns for name, instant in steps.items()}
    upper = {name: instant.upper_ns for name, instant in steps.items()}
    for earlier, name in pairs:
        if lower[name] < lower[earlier] <= upper[name]:
            lower[name] = lower[earlier]
    for earlier, name in reversed(pairs):
        if lower[earlier] <= upper[name] < upper[earlier]:
            upper[earlier] = upper[name]
    return {name: _within(instant, lower[name], upper[name]) for name, instant in steps.items()}


def _within(instant: Instant, lower_ns: int, upper_ns: int) -> Instant:
    """The same moment, known better."""
    if (lower_ns, upper_ns) == (instant.lower_ns, instant.upper_ns):
        return instant
    middle_ns = (lower_ns + upper_ns) // 2 if instant.source == "server" else instant.at_ns
    return Instant(min(max(middle_ns, lower_ns), upper_ns), lower_ns, upper_ns, instant.source)


class _Evictions(msgspec.Struct, frozen=True):
    """Who was evicted, when first, and by whom."""

    pods: int
    first: Instant | None
    by: tuple[str, ...]

    @classmethod
    def of(cls, seen: Seen) -> "_Evictions":
        """Pods that say so themselves or of which an event says so.

        Where only their group was told of, as KAI does, those are counted that were deleted from then on, before they
        and the workload had ended.
        """
        pods = seen.get("pod", ())
        told = [(found, found.phases["evicted"]) for role in seen for found in seen[role] if "evicted" in found.phases]
        if not told:
            return cls(0, None, ())
        first = nth([instant for _, instant in told], 1)
        uids = {pod.uid for pod in pods}
        evicted = {found.owner for found, _ in told if found.owner in uids} | {
            found.uid for found, _ in told if found.uid in uids
        }
        if not evicted:
            end_ns = _end_ns(seen)
            evicted = {
                pod.uid
                for pod in pods
                if (gone := pod.phases.get("deleted")) is not None
                and gone.upper_ns >= first.lower_ns
                and gone.at_ns < end_ns
                and not _has_ended(pod, first.lower_ns)
            }
        by = {found.details["evicted"] for found, _ in told if found.details.get("evicted")}
        return cls(len(evicted), first, tuple(sorted(by)))


def _has_ended(pod: Sighting, before_ns: int) -> bool:
    """Whether it had ended by itself then; a pod that is evicted may fail on its way out."""
    return any(phase in pod.phases and pod.phases[phase].at_ns < before_ns for phase in ("succeeded", "failed"))


def _end_ns(seen: Seen) -> float:
    """When the workload itself had ended: what is deleted from then on is cleared away, not evicted."""
    ends = (
        found.phases[phase].lower_ns
        for role in ("workload", "job")
        for found in seen.get(role, ())
        for phase in ("completed", "failed", "deleted")
        if phase in found.phases
    )
    return min(ends, default=float("inf"))


def rescheduled(pods: Sequence[Sighting], gang: int, evicted: Instant) -> Instant | None:
    """When, after the first eviction, as many pods were bound again as make the gang; None: not yet."""
    before, after = [], []
    for pod in pods:
        instant = pod.phases.get("scheduled")
        if instant is None:
            continue
        # A pod that was lost by then was bound before, though a stamp of whole seconds may say otherwise.
        if instant.at_ns <= evicted.at_ns or _is_lost(pod, evicted.at_ns):
            before.append(pod)
        else:
            after.append(instant)
    after.sort(key=lambda instant: instant.at_ns)
    for number, instant in enumerate(after, start=1):
        still_there = sum(1 for pod in before if not _is_lost(pod, instant.at_ns))
        if still_there + number >= gang:
            return nth(after, number)
    return None


def _is_lost(pod: Sighting, by_ns: int) -> bool:
    return any(phase in pod.phases and pod.phases[phase].at_ns <= by_ns for phase in _LOST)


def _refusal(workload: SubmittedWorkload) -> Iterator[str]:
    if workload.error is not None:
        yield f"refused: {workload.error}"


def _failures(seen: Seen) -> Iterator[str]:
    """What the workload came to, where it is not what it was made for."""
    for role in ("workload", "job"):
        for found in seen.get(role, ()):
            if "failed" in found.phases:
                why = found.details.get("failed")
                yield f"{found.kind} {found.name} failed" + (f": {why}" if why else "")
                return


def _contradictions(seen: Seen) -> Iterator[str]:
    """Facts of which two recordings tell times that cannot both be true: one line for each kind and phase."""
    told: dict[tuple[str, str], list[str]] = {}
    for objects in seen.values():
        for found in objects:
            for phase in found.contradictory:
                told.setdefault((found.kind, phase), []).append(found.name)
    for (kind, phase), names in sorted(told.items()):
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"recordings contradict each other about {phase} of {kind} {min(names)}{more}"


def wrong(steps: Mapping[str, Instant], general: Sequence[str], *, is_there: bool) -> Iterator[str]:
    """Steps that come in an impossible order, beyond their bounds; steps of `general` that were skipped; no steps.

    `is_there`: whether the workload was accepted.
    """
    if is_there and steps.keys() <= {SUBMITTED, ACCEPTED}:
        yield f"{_UNSEEN}nothing of it is in a recording or in the cluster"
    for name, instant in steps.items():
        for earlier in EARLIER[name]:
            before = steps.get(earlier)
            if before is not None and before.lower_ns > instant.upper_ns:
                ahead_s = (before.lower_ns - instant.upper_ns) / NS_PER_S
                yield f"{_ORDER}{STEPS[name].title} at least {ahead_s:.6f} s before {STEPS[earlier].title}"
    reached = [place for place, name in enumerate(general) if name in steps]
    for name in general[: reached[-1]] if reached else ():
        if name not in steps:
            yield f"{_MISSING}{STEPS[name].title}, though {STEPS[general[reached[-1]]].title} was seen"


def is_passing(error: str) -> bool:
    """Whether an error is about what is known so far: it may be none any more when more is known."""
    return error.startswith((_ORDER, _MISSING, _UNSEEN))
