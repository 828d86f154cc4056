"""Rules of the status of a Job: which transitions its controllers may make.

The server looks at most fields only when they change: a status that went wrong before must not block what is right.
"""

from collections.abc import Iterator
from typing import Any, Final

from kubedyno.kinds.rules.internals import internal, invalid_printed, invalid_unnamed
from kubedyno.kinds.rules.job_indexes import IndexesUnreadable, counted, first_common
from kubedyno.kinds.rules.numbers import not_negative
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, required

_CONDITIONS: Final = "status.conditions"


class _Statuses:
    """The status before and after, and the spec, which a status update does not touch."""

    def __init__(self, new: Object, old: Object) -> None:
        self.spec: Object = new.get("spec") or {}
        self.now: Object = new.get("status") or {}
        self.before: Object = old.get("status") or {}

    def holds(self, type_: str, *, before: bool = False, status: str = "True") -> bool:
        """Whether the condition has that status."""
        conditions = (self.before if before else self.now).get("conditions") or ()
        return any(entry.get("type") == type_ and entry.get("status") == status for entry in conditions)

    def changed(self, *types: str) -> bool:
        """Whether one of the conditions became true or ceased to be."""
        return any(self.holds(type_) != self.holds(type_, before=True) for type_ in types)

    def differs(self, *names: str, zero: Any = None) -> bool:
        """Whether one of the fields changed."""
        return any(self.now.get(name, zero) != self.before.get(name, zero) for name in names)

    @property
    def finished(self) -> bool:
        return self.holds("Complete") or self.holds("Failed")

    @property
    def finished_changed(self) -> bool:
        before = self.holds("Complete", before=True) or self.holds("Failed", before=True)
        return before != self.finished

    @property
    def indexed(self) -> bool:
        return bool(self.spec.get("completionMode") == "Indexed")


def job_status_problems(new: Object, old: Object) -> Iterator[Problem]:
    """What is wrong with the new status of a Job."""
    both = _Statuses(new, old)
    yield from not_negative(both.now, "status", "active", "succeeded", "failed", "ready", "terminating")
    yield from _uncounted(both.now.get("uncountedTerminatedPods") or {})
    yield from _completion(both)
    yield from _finished(both)
    yield from _indexes(both)
    yield from _pods(both)
    yield from _success(both)
    yield from _transitions(both)


def _uncounted(uncounted: Object) -> Iterator[Problem]:
    seen: set[str] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(name) or ()):
            path = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                yield invalid(path, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(path, uid)
            seen.add(uid)


def _completion(both: _Statuses) -> Iterator[Problem]:
    complete, completed = both.holds("Complete"), both.now.get("completionTime")
    if both.changed("Complete", "Failed") and complete and both.holds("Failed"):
        yield invalid_unnamed(_CONDITIONS, "cannot set Complete=True and Failed=true conditions")
    if both.changed("Complete", "FailureTarget") and complete and both.holds("FailureTarget"):
        yield invalid_unnamed(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions")
    if both.changed("Complete") or both.differs("completionTime"):
        if completed is not None and not complete:
            said = "cannot set completionTime when there is no Complete=True condition"
            yield invalid("status.completionTime", completed, said)
        if completed is None and complete:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    started = both.now.get("startTime")
    # The server prints times in one form, in which they sort as texts.
    if both.differs("startTime", "completionTime") and started and completed and completed < started:
        yield invalid("status.completionTime", completed, "must be equal to or after `startTime`")


def _finished(both: _Statuses) -> Iterator[Problem]:
    untargeted = both.holds("Failed") and not both.holds("FailureTarget")
    if untargeted and (both.changed("Failed") or both.differs("failedIndexes")):
        said = "cannot set Failed=True condition without the FailureTarget=true condition"
        yield invalid_unnamed(_CONDITIONS, said)
    unmet = both.holds("Complete") and not both.holds("SuccessCriteriaMet")
    if unmet and both.changed("Complete", "SuccessCriteriaMet"):
        said = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        yield invalid_unnamed(_CONDITIONS, said)
    if not both.finished:
        return
    active = both.now.get("active", 0)
    if (both.finished_changed or both.differs("active", zero=0)) and active > 0:
        yield invalid("status.active", active, "active>0 is invalid for finished job")
    idle = both.spec.get("suspend") is True and both.spec.get("completions") == 0
    if (both.finished_changed or both.differs("startTime")) and not idle and both.now.get("startTime") is None:
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = both.now.get("uncountedTerminatedPods") or {}
    if (both.finished_changed or both.differs("uncountedTerminatedPods")) and any(uncounted.values()):
        printed = internal("batch.UncountedTerminatedPods", uncounted)
        yield invalid_printed("status.uncountedTerminatedPods", printed, "must be empty for finished job")


def _indexes(both: _Statuses) -> Iterator[Problem]:
    completions, per_index = both.spec.get("completions"), both.spec.get("backoffLimitPerIndex")
    completed, failed = both.now.get("completedIndexes", ""), both.now.get("failedIndexes")
    completed_changed = both.differs("completedIndexes", zero="")
    failed_changed = both.differs("failedIndexes")
    if completed_changed and completions is not None:
        yield from _readable("completedIndexes", completed, completions)
    if failed_changed and completions is not None and per_index is not None and failed is not None:
        yield from _readable("failedIndexes", failed, completions)
    if completed_changed and completed and not both.indexed:
        said = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, said)
    if failed_changed and per_index is None and failed is not None:
        said = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, said)
    if (completed_changed or failed_changed) and completions is not None and failed is not None:
        common = first_common(completed, failed, completions)
        if common is not None:
            said = f"failedIndexes and completedIndexes overlap at index: {common}"
            yield invalid("status.failedIndexes", failed, said)


def _readable(name: str, text: str, completions: int) -> Iterator[Problem]:
    try:
        counted(text, completions)
    except IndexesUnreadable as error:
        yield invalid(f"status.{name}", text, f"error parsing {name}: {error}")


def _pods(both: _Statuses) -> Iterator[Problem]:
    terminating, ready = both.now.get("terminating"), both.now.get("ready")
    if (both.finished_changed or both.differs("terminating")) and (terminating or 0) > 0 and both.finished:
        yield invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
    if (both.differs("ready") or both.differs("active", zero=0)) and (ready or 0) > both.now.get("active", 0):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")


def _success(both: _Statuses) -> Iterator[Problem]:
    met = both.holds("SuccessCriteriaMet")
    if met and both.holds("Failed"):
        yield invalid_unnamed(_CONDITIONS, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and both.holds("FailureTarget"):
        yield invalid_unnamed(_CONDITIONS, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if both.spec.get("successPolicy") is not None and not met and both.holds("Complete"):
        said = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        yield invalid_unnamed(_CONDITIONS, said)


def _transitions(both: _Statuses) -> Iterator[Problem]:
    for type_ in ("Failed", "Complete", "FailureTarget"):
        if both.holds(type_, before=True) and not both.holds(type_):
            yield invalid_unnamed(_CONDITIONS, f"cannot disable the terminal {type_}=True condition")
    yield from _decreasing(both, "failed")
    # An indexed Job can be scaled down together with its parallelism.
    if not both.indexed or both.spec.get("completions") != both.spec.get("parallelism"):
        yield from _decreasing(both, "succeeded")
    yield from _times(both)
    if both.holds("SuccessCriteriaMet", before=True) and not both.holds("SuccessCriteriaMet"):
        yield invalid_unnamed(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition")
    late = both.holds("SuccessCriteriaMet") and not both.holds("SuccessCriteriaMet", before=True)
    if late and both.holds("Complete", before=True):
        said = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield invalid_unnamed(_CONDITIONS, said)


def _decreasing(both: _Statuses, name: str) -> Iterator[Problem]:
    if both.now.get(name, 0) < both.before.get(name, 0):
        yield invalid(f"status.{name}", both.now.get(name, 0), f"cannot decrease the {name} counter")


def _times(both: _Statuses) -> Iterator[Problem]:
    completed = both.now.get("completionTime")
    if completed is not None and both.before.get("completionTime") is not None and both.differs("completionTime"):
        yield invalid("status.completionTime", completed, "field is immutable")
    resuming = both.holds("Suspended", before=True) and both.holds("Suspended", status="False")
    if (
        both.before.get("startTime") is not None
        and both.differs("startTime")
        and not resuming
        and not both.spec.get("suspend")
    ):
        said = "field is immutable for unsuspended job once set"
        yield invalid("status.startTime", both.now.get("startTime"), said)
