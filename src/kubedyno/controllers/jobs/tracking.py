"""Counting each finished pod exactly once, though writes may fail in between.

First its uid is written into the status as uncounted, then its finalizer is removed, then the uid becomes a count.
"""

from collections.abc import Iterable

from kubedyno.controllers.jobs import indexes
from kubedyno.controllers.jobs.ledger import Ledger, Verdict, append_condition, condition, set_condition
from kubedyno.controllers.podfacts import is_deleting, phase, uid
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kube.codec import Object

UNCOUNTED_AT_MOST = 500


def track(ledger: Ledger) -> tuple[list[Object], bool]:
    """Note finished pods as uncounted; the pods to release now, and whether more are left for the next sync.

    `ledger.is_changed` says whether the status must be written before they are released.
    """
    status = ledger.status
    for field, value in (("ready", ledger.ready), ("terminating", ledger.terminating)):
        ledger.is_changed |= status.get(field) != value
        status[field] = value
    _set_count(ledger, "active", ledger.active)
    pods = ledger.pods
    if ledger.is_indexed:
        pods = sorted(pods, key=lambda pod: -1 if (index := indexes.of_pod(pod)) is None else index)
    tracked = {uid(pod) for pod in pods if ledger.is_tracked(pod)}
    ledger.is_changed |= count_released(ledger, tracked)
    release, is_full = _collect(ledger, pods)
    if ledger.is_indexed:
        _set_text(ledger, "completedIndexes", indexes.text(ledger.succeeded_indexes))
        _set_count(ledger, "succeeded", len(ledger.succeeded_indexes))
        if ledger.failed_indexes is not None:
            _set_text(ledger, "failedIndexes", indexes.text(ledger.failed_indexes), empty=True)
    _announce(ledger)
    return release, is_full


def _collect(ledger: Ledger, pods: list[Object]) -> tuple[list[Object], bool]:
    uncounted = ledger.uncounted
    listed = {outcome: set(uncounted.get(outcome, ())) for outcome in ("succeeded", "failed")}
    release: list[Object] = []
    fresh_indexes = 0
    for pod in pods:
        if not ledger.is_tracked(pod) or not _may_go(ledger, pod):
            continue
        release.append(pod)
        if phase(pod) == "Succeeded" and uid(pod) not in listed["failed"]:
            if ledger.is_indexed:
                index = ledger.index_of(pod)
                if index is not None and index not in ledger.counted_indexes:
                    fresh_indexes += 1
                    ledger.is_changed = True
            elif uid(pod) not in listed["succeeded"]:
                uncounted.setdefault("succeeded", []).append(uid(pod))
                ledger.is_changed = True
        elif _counts_as_failed(ledger, pod) and uid(pod) not in listed["failed"]:
            uncounted.setdefault("failed", []).append(uid(pod))
            ledger.is_changed = True
        if fresh_indexes + sum(map(len, uncounted.values())) >= UNCOUNTED_AT_MOST:
            return release, True
    return release, False


def _may_go(ledger: Ledger, pod: Object) -> bool:
    if is_deleting(ledger.job) or ledger.verdict is not None or phase(pod) == "Succeeded":
        return True
    if not ledger.is_failed(pod):
        return False
    if ledger.limit_per_index is None:
        return True
    index = indexes.of_pod(pod)
    delayed = ledger.delayed.get(index) if index is not None else None
    return delayed is None or uid(delayed) != uid(pod)


def _counts_as_failed(ledger: Ledger, pod: Object) -> bool:
    """Failed pods count, and when the Job fails, those that it takes down with it."""
    is_going_down = ledger.verdict is not None and ledger.verdict.type != "SuccessCriteriaMet"
    if not ledger.is_failed(pod) and not is_going_down:
        return False
    if ledger.is_indexed and ledger.index_of(pod) is None:
        return False
    return ledger.ruling(pod).counts


def _announce(ledger: Ledger) -> None:
    """Write the interim condition; what remains is the final one, for when no pod is left."""
    verdict = ledger.verdict
    if verdict is None:
        return
    if verdict.type == "FailureTarget":
        append_condition(ledger, verdict)
        ledger.is_changed = True
        ledger.verdict = Verdict("Failed", verdict.reason, verdict.message)
    elif verdict.type == "SuccessCriteriaMet":
        if condition(ledger.status, "SuccessCriteriaMet") is None:
            append_condition(ledger, verdict)
            ledger.is_changed = True
        ledger.verdict = Verdict("Complete", verdict.reason, verdict.message)


def count_released(ledger: Ledger, tracked: Iterable[str]) -> bool:
    """Turn the uncounted whose finalizer is gone into counts; whether there were any."""
    held = set(tracked)
    changed = False
    for outcome in ("succeeded", "failed"):
        listed = ledger.uncounted.get(outcome, [])
        kept = [entry for entry in listed if entry in held]
        if len(kept) == len(listed):
            continue
        changed = True
        ledger.status[outcome] = ledger.status.get(outcome, 0) + len(listed) - len(kept)
        if kept:
            ledger.uncounted[outcome] = kept
        else:
            del ledger.uncounted[outcome]
    return changed


def finish(ledger: Ledger) -> bool:
    """Write the final condition if nothing is uncounted or terminating; whether the Job is finished now."""
    verdict = ledger.verdict
    if verdict is None or any(ledger.uncounted.values()) or ledger.terminating > 0:
        return False
    set_condition(ledger, verdict.type, verdict.reason, verdict.message)
    if verdict.type == "Complete":
        ledger.status["completionTime"] = seconds_text(ledger.now_ns)
        if ledger.completions is not None and ledger.status.get("succeeded", 0) > ledger.completions:
            message = "Too many succeeded pods running after completion count reached"
            ledger.events.append(("Warning", "TooManySucceededPods", message))
        ledger.events.append(("Normal", "Completed", "Job completed"))
    else:
        ledger.events.append(("Warning", verdict.reason, verdict.message))
    return True


def _set_count(ledger: Ledger, field: str, value: int) -> None:
    """Zero counts are not written, as Go leaves them out."""
    if ledger.status.get(field, 0) != value:
        ledger.is_changed = True
    if value:
        ledger.status[field] = value
    else:
        ledger.status.pop(field, None)


def _set_text(ledger: Ledger, field: str, value: str, *, empty: bool = False) -> None:
    if ledger.status.get(field, None if empty else "") != value:
        ledger.is_changed = True
    if value or empty:
        ledger.status[field] = value
    else:
        ledger.status.pop(field, None)
