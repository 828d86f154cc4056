"""What one look at a Job works with: the Job, its pods, the counts, and the verdict so far."""

from collections.abc import Iterable
from typing import Any

import msgspec

from kubedyno.controllers.jobs import indexes, policies
from kubedyno.controllers.jobs.backoff import Failures
from kubedyno.controllers.podfacts import has_finalizer, is_active, is_deleting, is_ready, is_terminating, phase, uid
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

TRACKING = "batch.kubernetes.io/job-tracking"


class Verdict(msgspec.Struct, frozen=True):
    """A condition that says that a Job is over, or about to be."""

    type: str
    reason: str
    message: str


class Ledger(msgspec.Struct):
    """One sync. `status` is ours to change; the Job and its pods are not.

    `released` are the uids of pods whose finalizer we have removed already, though the informer does not know.
    `events` are (type, reason, message) to be told once the status is written.
    """

    job: Object
    pods: list[Object]
    released: frozenset[str]
    now_ns: int
    status: Object
    active_pods: list[Object]
    active: int
    ready: int
    terminating: int
    failures: Failures
    verdict: Verdict | None = None
    succeeded: int = 0
    failed: int = 0
    succeeded_indexes: set[int] = msgspec.field(default_factory=set)
    counted_indexes: set[int] = msgspec.field(default_factory=set)
    failed_indexes: set[int] | None = None
    delayed: dict[int, Object] = msgspec.field(default_factory=dict)
    requeue_s: float | None = None
    is_changed: bool = False
    events: list[tuple[str, str, str]] = msgspec.field(default_factory=list)

    @property
    def spec(self) -> Object:
        """The Job's spec."""
        spec: Object = self.job["spec"]
        return spec

    @property
    def completions(self) -> int | None:
        """How many successes are wanted; None for a work queue."""
        number: int | None = self.spec.get("completions")
        return number

    @property
    def is_indexed(self) -> bool:
        """Whether each pod has an index."""
        return self.spec.get("completionMode") == "Indexed"

    @property
    def is_suspended(self) -> bool:
        """Whether the Job may have no pods at the moment."""
        return bool(self.spec.get("suspend"))

    @property
    def limit_per_index(self) -> int | None:
        """`backoffLimitPerIndex`."""
        number: int | None = self.spec.get("backoffLimitPerIndex")
        return number

    @property
    def replaces_failed_only(self) -> bool:
        """Whether a terminating pod is replaced only when it has failed at last."""
        return self.spec.get("podReplacementPolicy") == "Failed" or self.spec.get("podFailurePolicy") is not None

    @property
    def uncounted(self) -> dict[str, list[str]]:
        """The uids of finished pods that are in the status and not in its counts yet."""
        found: dict[str, list[str]] = self.status["uncountedTerminatedPods"]
        return found

    def is_failed(self, pod: Object) -> bool:
        """Whether a pod counts as failed: a terminating one does, too, unless it must fail first."""
        if phase(pod) == "Failed":
            return True
        return not self.replaces_failed_only and is_deleting(pod) and phase(pod) != "Succeeded"

    def is_tracked(self, pod: Object) -> bool:
        """Whether the pod has still to be counted: its finalizer is there."""
        return has_finalizer(pod, TRACKING) and uid(pod) not in self.released

    def ruling(self, pod: Object) -> policies.Ruling:
        """What the failure policy says of a failed pod."""
        return policies.ruling(self.spec.get("podFailurePolicy"), pod)

    def index_of(self, pod: Object) -> int | None:
        """The pod's index if it is one of this Job's."""
        index = indexes.of_pod(pod)
        return index if index is not None and index < (self.completions or 0) else None


def opened(job: Object, pods: Iterable[Object], *, released: frozenset[str], failures: Failures, now_ns: int) -> Ledger:
    """The ledger of a Job that is not finished, before anything is decided."""
    all_pods = list(pods)
    status: Object = meta.copied(job.get("status") or {})
    uncounted = status.get("uncountedTerminatedPods") or {}
    status["uncountedTerminatedPods"] = {
        outcome: list(uncounted[outcome]) for outcome in ("succeeded", "failed") if uncounted.get(outcome)
    }
    active_pods = [pod for pod in all_pods if is_active(pod)]
    return Ledger(
        job=job,
        pods=all_pods,
        released=released,
        now_ns=now_ns,
        status=status,
        active_pods=active_pods,
        active=len(active_pods),
        ready=sum(map(is_ready, active_pods)),
        terminating=sum(map(is_terminating, all_pods)),
        failures=failures,
    )


def condition(status: Object, type_: str) -> dict[str, Any] | None:
    """The condition of that type in a status."""
    return next((entry for entry in status.get("conditions") or () if entry["type"] == type_), None)


def set_condition(ledger: Ledger, type_: str, reason: str, message: str, *, is_true: bool = True) -> bool:
    """Make a condition so; whether that changed it. One that would be false is not written for the first time."""
    wanted = {"type": type_, "status": "True" if is_true else "False", "reason": reason, "message": message}
    stamp = seconds_text(ledger.now_ns)
    entry = condition(ledger.status, type_)
    if entry is None:
        if is_true:
            append_condition(ledger, Verdict(type_, reason, message))
        return is_true
    if all(entry.get(field, "") == value for field, value in wanted.items()):
        return False
    entry.update(wanted, lastProbeTime=stamp, lastTransitionTime=stamp)
    return True


def append_condition(ledger: Ledger, verdict: Verdict) -> None:
    """Add a condition that is true from now on."""
    stamp = seconds_text(ledger.now_ns)
    entry = {"type": verdict.type, "status": "True", "lastProbeTime": stamp, "lastTransitionTime": stamp}
    if verdict.reason:
        entry["reason"] = verdict.reason
    if verdict.message:
        entry["message"] = verdict.message
    ledger.status.setdefault("conditions", []).append(entry)
