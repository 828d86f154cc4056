"""Is a Job over? Counts of its pods, the failure reasons in the order Kubernetes asks them, the success policy."""

from collections.abc import Callable

from kubedyno.controllers.jobs import backoff, indexes, policies
from kubedyno.controllers.jobs.ledger import TRACKING, Ledger, Verdict, condition, set_condition
from kubedyno.controllers.podfacts import has_finalizer, phase, uid
from kubedyno.controllers.stamps import seconds_since, seconds_text
from kubedyno.kube.codec import Object


def judge(ledger: Ledger) -> None:
    """Count what has finished and say whether the Job is over; its pods have not been touched yet."""
    fresh_succeeded = _fresh(ledger, "succeeded", lambda pod: phase(pod) == "Succeeded")
    fresh_failed = _fresh(ledger, "failed", ledger.is_failed)
    counting = [pod for pod in fresh_failed if ledger.ruling(pod).counts]
    status = ledger.status
    ledger.succeeded = status.get("succeeded", 0) + len(fresh_succeeded) + len(ledger.uncounted.get("succeeded", ()))
    ledger.failed = status.get("failed", 0) + len(counting) + len(ledger.uncounted.get("failed", ()))
    ledger.failures = backoff.updated(ledger.failures, fresh_succeeded, fresh_failed)
    if status.get("startTime") is None and not ledger.is_suspended:
        status["startTime"] = seconds_text(ledger.now_ns)
    ledger.verdict = _standing(ledger) or _by_policy(ledger) or _by_limits(ledger)
    if ledger.is_indexed:
        _judge_indexes(ledger)


def _fresh(ledger: Ledger, outcome: str, fits: Callable[[Object], bool]) -> list[Object]:
    """The finished pods that no status has counted or listed yet."""
    listed = set(ledger.uncounted.get(outcome, ()))
    return [
        pod
        for pod in ledger.pods
        if ledger.is_tracked(pod)
        and uid(pod) not in listed
        and (not ledger.is_indexed or ledger.index_of(pod) is not None)
        and fits(pod)
    ]


def _standing(ledger: Ledger) -> Verdict | None:
    """What an earlier sync has decided: it stays, whatever the pods do meanwhile."""
    for type_, becomes in (("SuccessCriteriaMet", "SuccessCriteriaMet"), ("FailureTarget", "Failed")):
        entry = condition(ledger.status, type_)
        if entry is not None and entry["status"] == "True":
            return Verdict(becomes, entry.get("reason", ""), entry.get("message", ""))
    return None


def _by_policy(ledger: Ledger) -> Verdict | None:
    if ledger.spec.get("podFailurePolicy") is None:
        return None
    for pod in ledger.pods:
        if ledger.is_failed(pod):
            message = ledger.ruling(pod).message
            if message is not None:
                return Verdict("FailureTarget", "PodFailurePolicy", message)
    return None


def _by_limits(ledger: Ledger) -> Verdict | None:
    if ledger.failed > ledger.spec.get("backoffLimit", 6) or _restarted_too_often(ledger):
        return Verdict("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    deadline_s = ledger.spec.get("activeDeadlineSeconds")
    if deadline_s is None or ledger.is_suspended:
        return None
    left_s = deadline_s - seconds_since(ledger.status["startTime"], ledger.now_ns)
    if left_s <= 0:
        return Verdict("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
    ledger.requeue_s = left_s
    return None


def _restarted_too_often(ledger: Ledger) -> bool:
    """Containers that the kubelet restarts count against the limit as well."""
    if ledger.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        entry.get("restartCount", 0)
        for pod in ledger.pods
        if phase(pod) in {"Running", "Pending"}
        for field in ("initContainerStatuses", "containerStatuses")
        for entry in pod["status"].get(field) or ()
    )
    limit = ledger.spec.get("backoffLimit", 6)
    return bool(restarts > 0 if limit == 0 else restarts >= limit)


def _judge_indexes(ledger: Ledger) -> None:
    completions = ledger.completions or 0
    mine = [(index, pod) for pod in ledger.pods if (index := ledger.index_of(pod)) is not None]
    ledger.counted_indexes = indexes.parse(ledger.status.get("completedIndexes"), completions)
    ledger.succeeded_indexes = ledger.counted_indexes | {
        index for index, pod in mine if phase(pod) == "Succeeded" and has_finalizer(pod, TRACKING)
    }
    ledger.succeeded = len(ledger.succeeded_indexes)
    if ledger.limit_per_index is not None:
        failed = indexes.parse(ledger.status.get("failedIndexes"), completions)
        failed |= {index for index, pod in mine if has_finalizer(pod, TRACKING) and _fails_index(ledger, pod)}
        ledger.failed_indexes = failed
        ledger.verdict = ledger.verdict or _by_failed_indexes(ledger, failed)
        ledger.delayed = _delayed(ledger, mine)
    if ledger.verdict is None:
        message = policies.success_message(ledger.spec.get("successPolicy"), completions, ledger.succeeded_indexes)
        if message is not None:
            ledger.verdict = Verdict("SuccessCriteriaMet", "SuccessPolicy", message)


def _fails_index(ledger: Ledger, pod: Object) -> bool:
    if not ledger.is_failed(pod):
        return False
    ruling = ledger.ruling(pod)
    if ruling.action == "FailIndex":
        return True
    return ruling.counts and indexes.failures(pod) >= (ledger.limit_per_index or 0)


def _by_failed_indexes(ledger: Ledger, failed: set[int]) -> Verdict | None:
    most = ledger.spec.get("maxFailedIndexes")
    if most is not None and len(failed) > most:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return Verdict("FailureTarget", "MaxFailedIndexesExceeded", message)
    if failed and len(failed) + len(ledger.succeeded_indexes) >= (ledger.completions or 0):
        return Verdict("FailureTarget", "FailedIndexes", "Job has failed indexes")
    return None


def _delayed(ledger: Ledger, mine: list[tuple[int, Object]]) -> dict[int, Object]:
    """The last failed pod of each index that will be tried again: it stays until its successor is there."""
    settled = ledger.succeeded_indexes | (ledger.failed_indexes or set()) | indexes.of_pods(ledger.active_pods)
    last: dict[int, Object] = {}
    for index, pod in mine:
        if index in settled or not ledger.is_tracked(pod) or not ledger.is_failed(pod):
            continue
        before = last.get(index)
        if before is None or (
            indexes.all_failures(before) <= indexes.all_failures(pod)
            and backoff.finished_ns(pod) >= backoff.finished_ns(before)
        ):
            last[index] = pod
    return last


def judge_completion(ledger: Ledger, *, managed: bool) -> None:
    """After the pods were managed: are there enough successes? Else keep the Suspended condition right.

    `managed` is False when pods that we wrote are still to be seen; then the condition waits.
    """
    if ledger.completions is None:
        # A work queue is done when any pod has succeeded and the others have ended.
        complete = ledger.succeeded > 0 and ledger.active == 0
    else:
        complete = ledger.succeeded >= ledger.completions and ledger.active == 0
    if complete:
        ledger.verdict = Verdict(
            "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"
        )
        return
    if not managed:
        return
    if ledger.is_suspended:
        if set_condition(ledger, "Suspended", "JobSuspended", "Job suspended"):
            ledger.is_changed = True
            ledger.events.append(("Normal", "Suspended", "Job suspended"))
            ledger.status.pop("startTime", None)
    elif set_condition(ledger, "Suspended", "JobResumed", "Job resumed", is_true=False):
        ledger.is_changed = True
        ledger.events.append(("Normal", "Resumed", "Job resumed"))
        # The deadline is for the time since the Job was resumed.
        ledger.status["startTime"] = seconds_text(ledger.now_ns)
