"""What is to be done for a PyTorchJob, and what its status becomes: a function of the job, its pods and the time."""

from collections.abc import Sequence
from typing import Any

import msgspec

from kubedyno.controllers.events import EventType
from kubedyno.controllers.operators import conditions, replicas
from kubedyno.controllers.operators.conditions import CREATED, FAILED, RESTARTING, RUNNING, SUCCEEDED, SUSPENDED
from kubedyno.controllers.operators.replicas import MASTER, WORKER, Replicas
from kubedyno.controllers.podfacts import is_deleting, is_finished, phase
from kubedyno.controllers.stamps import seconds_since, seconds_text
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

_RETRYABLE_EXIT_CODE = 128
_UNKNOWN_EXIT_CODE = 0xBEEF


class Judgement(msgspec.Struct, kw_only=True):
    """What follows from a job's state."""

    status: Object
    create: list[Object] = []
    delete: list[Object] = []
    events: list[tuple[EventType, str, str]] = []
    """Type, reason and message."""
    again_s: float | None = None
    """When the passing of time alone will change something."""
    is_expired: bool = False
    """The job itself is to be deleted."""


def judge(job: Object, pods: Sequence[Object], *, now_ns: int) -> Judgement:
    """Look at a job whose pods are all known."""
    status = meta.copied(job.get("status") or {})
    found = Judgement(status=status, create=[], delete=[], events=[])
    _Case(job, pods, found, now_ns).decide()
    return found


class _Case:
    def __init__(self, job: Object, pods: Sequence[Object], found: Judgement, now_ns: int) -> None:
        self._job = job
        self._name: str = job["metadata"]["name"]
        self._pods = pods
        self._policy: dict[str, Any] = job["spec"].get("runPolicy") or {}
        self._everybody = replicas.replicas_of(job)
        self._found = found
        self._status = found.status
        self._now_ns = now_ns

    def decide(self) -> None:
        self._put(CREATED, f"PyTorchJob {self._name} is created.")
        if conditions.is_finished(self._status):
            self._clean_up()
        elif self._policy.get("suspend"):
            self._suspend()
        else:
            self._resume()
            why = self._limit_reached()
            if why is not None:
                self._found.delete = self._deletable(self._pods)
                self._fail(why)
                return
            for own in self._everybody:
                self._count(own)
            self._conclude()

    def _put(
        self, type_: str, message: str, *, holds: bool = True, what: str | None = None, event: EventType | None = None
    ) -> None:
        is_news = conditions.put(self._status, type_, message, now_ns=self._now_ns, holds=holds, what=what)
        if is_news and event is not None:
            self._found.events.append((event, conditions.reason_of(what or type_), message))

    def _now(self) -> str:
        return seconds_text(self._now_ns)

    @staticmethod
    def _deletable(pods: Sequence[Object]) -> list[Object]:
        return [pod for pod in pods if not is_deleting(pod)]

    def _clean_up(self) -> None:
        """What a finished job leaves behind, and for how long."""
        clean = self._policy.get("cleanPodPolicy") or "None"
        if clean == "All":
            self._found.delete = self._deletable(self._pods)
        elif clean == "Running":
            self._found.delete = self._deletable([pod for pod in self._pods if not is_finished(pod)])
        if conditions.is_true(self._status, SUCCEEDED):
            for counts in (self._status.get("replicaStatuses") or {}).values():
                running = counts.pop("active", 0)
                if running:
                    counts["succeeded"] = counts.get("succeeded", 0) + running
        ttl_s, ended = self._policy.get("ttlSecondsAfterFinished"), self._status.get("completionTime")
        if ttl_s is not None and ended:
            left_s = float(ttl_s) - seconds_since(ended, self._now_ns)
            self._found.is_expired = left_s <= 0
            self._found.again_s = left_s if left_s > 0 else None

    def _suspend(self) -> None:
        self._found.delete = self._deletable(self._pods)
        for counts in (self._status.get("replicaStatuses") or {}).values():
            counts.pop("active", None)
        message = f"PyTorchJob {self._name} is suspended."
        if conditions.is_true(self._status, RUNNING):
            self._put(RUNNING, message, holds=False, what=SUSPENDED)
        self._put(SUSPENDED, message, event="Normal")

    def _resume(self) -> None:
        if conditions.is_true(self._status, SUSPENDED):
            message = f"PyTorchJob {self._name} is resumed."
            self._put(SUSPENDED, message, holds=False, what="Resumed", event="Normal")
            self._status["startTime"] = self._now()

    def _limit_reached(self) -> str | None:
        """Why the job may not go on, if it may not."""
        limit = self._policy.get("backoffLimit")
        if limit is not None and self._is_past(int(limit)):
            return f"Job {self._name} has failed because it has reached the specified backoff limit"
        deadline_s, begun = self._policy.get("activeDeadlineSeconds"), self._status.get("startTime")
        if deadline_s is not None:
            left_s = float(deadline_s) - (seconds_since(begun, self._now_ns) if begun else 0.0)
            if left_s <= 0:
                return f"Job {self._name} has failed because it was active longer than specified deadline"
            self._found.again_s = left_s
        return None

    def _is_past(self, limit: int) -> bool:
        """The operator counts restarts of containers; a pod that failed as a whole counts only where none may."""
        counted = sum(one.get("failed", 0) for one in (self._status.get("replicaStatuses") or {}).values())
        failed = sum(phase(pod) == "Failed" for pod in self._pods)
        if limit == 0 and failed > counted:
            return True
        restarted = {own.type.lower() for own in self._everybody if own.is_restarted}
        restarts: int = sum(
            entry.get("restartCount", 0)
            for pod in self._pods
            if phase(pod) == "Running" and (replicas.place_of(pod) or ("", 0))[0] in restarted
            for kind in ("initContainerStatuses", "containerStatuses")
            for entry in pod["status"].get(kind) or ()
        )
        return restarts > 0 if limit == 0 else restarts >= limit

    def _count(self, own: Replicas) -> None:
        """Make and remove the pods of one type as its number says, and count those that there are."""
        counts = {"active": 0, "succeeded": 0, "failed": 0}
        missing = dict.fromkeys(range(own.count))
        for pod in self._pods:
            type_, index = replicas.place_of(pod) or ("", 0)
            if type_ != own.type.lower():
                continue
            missing.pop(index, None)
            if index >= own.count and not is_deleting(pod):
                self._found.delete.append(pod)
            elif phase(pod) == "Failed":
                self._judge_failure(own, pod)
            match phase(pod):
                case "Running":
                    # One that is being taken away may never come to report its end.
                    counts["failed" if is_deleting(pod) else "active"] += 1
                case "Succeeded":
                    counts["succeeded"] += 1
                case "Failed":
                    counts["failed"] += 1
        self._found.create += [replicas.pod_of(self._job, self._everybody, own, index) for index in missing]
        selector = ",".join(f"{key}={value}" for key, value in sorted(replicas.labels_of(self._job, own.type).items()))
        known = {key: number for key, number in counts.items() if number}
        self._status.setdefault("replicaStatuses", {})[own.type] = {**known, "selector": selector}

    def _judge_failure(self, own: Replicas, pod: Object) -> None:
        """A failed replica is replaced when its policy wants it: it is deleted here, and missed the next time."""
        code = _exit_code(pod)
        if own.restart_policy == "ExitCode" and code < _RETRYABLE_EXIT_CODE:
            self._fail(f'job "{self._name}" is failing because "{own.type}" replica(s) failed.')
        elif own.is_restarted and not is_deleting(pod):
            self._found.delete.append(pod)
            message = f"job {self._name} is restarting because {own.type} replica(s) failed."
            self._put(RESTARTING, message, event="Warning")

    def _conclude(self) -> None:
        """What the counts make of the job: the master decides, without one all workers."""
        self._status.setdefault("startTime", self._now())
        has_master = any(own.type == MASTER for own in self._everybody)
        is_running, restarting = False, ""
        for own in self._everybody:
            counts = self._status["replicaStatuses"][own.type]
            running, succeeded, failed = (counts.get(key, 0) for key in ("active", "succeeded", "failed"))
            if own.type == (MASTER if has_master else WORKER):
                if self._is_done(own, succeeded, has_master=has_master):
                    self._status.setdefault("completionTime", self._now())
                    self._put(SUCCEEDED, f"PyTorchJob {self._name} is successfully completed.", event="Normal")
                    return
                is_running = running > 0
            if failed and own.count > succeeded + running:
                if own.is_restarted:
                    restarting = f"{failed} {own.type} replica(s)"
                else:
                    self._fail(f"PyTorchJob {self._name} is failed because {failed} {own.type} replica(s) failed.")
        if restarting:
            message = f"PyTorchJob {self._name} is restarting because {restarting} failed."
            self._put(RESTARTING, message, event="Warning")
        elif is_running:
            self._put(RUNNING, f"PyTorchJob {self._name} is running.")

    def _is_done(self, own: Replicas, succeeded: int, *, has_master: bool) -> bool:
        if own.count == succeeded:
            return True
        return not has_master and bool(self._job["spec"].get("elasticPolicy")) and succeeded > 0

    def _fail(self, message: str) -> None:
        self._status.setdefault("completionTime", self._now())
        self._put(FAILED, message, event="Normal")


def _exit_code(pod: Object) -> int:
    for entry in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (entry.get("state") or {}).get("terminated")
        if entry["name"] == replicas.CONTAINER and ended:
            return int(ended.get("exitCode", 0))
    return _UNKNOWN_EXIT_CODE
