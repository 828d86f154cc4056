"""The status of a Deployment: counts of its sets, and the conditions Available and Progressing."""

from collections.abc import Sequence
from typing import Literal

from kubedyno.controllers.replicas import conditions
from kubedyno.controllers.replicas.rollout import count, max_unavailable, replicas
from kubedyno.controllers.stamps import seconds_since, seconds_text
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

NO_DEADLINE = 2**31 - 1


def has_deadline(deployment: Object) -> bool:
    """Whether progress is watched."""
    return bool(deployment["spec"].get("progressDeadlineSeconds", NO_DEADLINE) != NO_DEADLINE)


def put(
    status: Object, type_: str, value: Literal["True", "False", "Unknown"], reason: str, message: str, *, now_ns: int
) -> None:
    """Set a condition of a Deployment."""
    stamp = seconds_text(now_ns)
    conditions.put(
        status,
        {
            "type": type_,
            "status": value,
            "lastUpdateTime": stamp,
            "lastTransitionTime": stamp,
            "reason": reason,
            "message": message,
        },
    )


def status_of(deployment: Object, sets: Sequence[Object], new: Object | None, *, now_ns: int) -> Object:
    """Counts, and whether enough pods are available."""
    available = sum(count(entry, "availableReplicas") for entry in sets)
    status: Object = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": sum(count(entry, "replicas") for entry in sets),
        "updatedReplicas": count(new, "replicas"),
        "readyReplicas": sum(count(entry, "readyReplicas") for entry in sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(map(replicas, sets)) - available),
        "terminatingReplicas": sum(count(entry, "terminatingReplicas") for entry in sets),
        "collisionCount": (deployment.get("status") or {}).get("collisionCount"),
        "conditions": meta.copied((deployment.get("status") or {}).get("conditions") or []),
    }
    if available >= replicas(deployment) - max_unavailable(deployment):
        message = "Deployment has minimum availability."
        put(status, "Available", "True", "MinimumReplicasAvailable", message, now_ns=now_ns)
    else:
        message = "Deployment does not have minimum availability."
        put(status, "Available", "False", "MinimumReplicasUnavailable", message, now_ns=now_ns)
    return _clean(status)


def _clean(status: Object) -> Object:
    """Counts of zero are left out, as Go does; so is an empty list."""
    kept = {"terminatingReplicas"}
    return {field: value for field, value in status.items() if field in kept or value not in (0, None, [])}


def is_complete(deployment: Object, status: Object) -> bool:
    """Whether all pods are of the new template and available, and none is left of another."""
    wanted = replicas(deployment)
    counts = (status.get(field, 0) for field in ("updatedReplicas", "replicas", "availableReplicas"))
    is_current = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return is_current and all(number == wanted for number in counts)


def _progresses(before: Object, status: Object) -> bool:
    def old_ones(entry: Object) -> int:
        return int(entry.get("replicas", 0) - entry.get("updatedReplicas", 0))

    grows = any(
        status.get(field, 0) > before.get(field, 0)
        for field in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grows or old_ones(status) < old_ones(before)


def rollout_status(deployment: Object, sets: Sequence[Object], new: Object | None, *, now_ns: int) -> Object:
    """The status during a rollout, with the condition Progressing."""
    status = status_of(deployment, sets, new, now_ns=now_ns)
    before = deployment.get("status") or {}
    current = conditions.get(before, "Progressing")
    if not has_deadline(deployment):
        conditions.drop(status, "Progressing")
    is_done = (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and current is not None
        and current.get("reason") == "NewReplicaSetAvailable"
    )
    if has_deadline(deployment) and not is_done:
        name = deployment["metadata"]["name"]
        what = f'Deployment "{name}"' if new is None else f'ReplicaSet "{new["metadata"]["name"]}"'
        if is_complete(deployment, status):
            text = f"{what} has successfully progressed."
            put(status, "Progressing", "True", "NewReplicaSetAvailable", text, now_ns=now_ns)
        elif _progresses(before, status):
            conditions.drop(status, "Progressing")
            text = f"{what} is progressing."
            put(status, "Progressing", "True", "ReplicaSetUpdated", text, now_ns=now_ns)
            if current is not None and current["status"] == "True":
                status["conditions"][-1]["lastTransitionTime"] = current["lastTransitionTime"]
        elif _timed_out(deployment, status, now_ns):
            text = f"{what} has timed out progressing."
            put(status, "Progressing", "False", "ProgressDeadlineExceeded", text, now_ns=now_ns)
    _carry_failure(status, sets, new)
    return status


def _timed_out(deployment: Object, status: Object, now_ns: int) -> bool:
    entry = conditions.get(status, "Progressing")
    if entry is None or entry.get("reason") == "NewReplicaSetAvailable":
        return False
    if entry.get("reason") == "ProgressDeadlineExceeded":
        return True
    return bool(seconds_since(entry["lastUpdateTime"], now_ns) > deployment["spec"]["progressDeadlineSeconds"])


def seconds_to_deadline(deployment: Object, status: Object, now_ns: int) -> float | None:
    """When a rollout that stands still must be looked at again; None when it need not."""
    entry = conditions.get(status, "Progressing")
    if not has_deadline(deployment) or entry is None or is_complete(deployment, status):
        return None
    if entry.get("reason") in {"ProgressDeadlineExceeded", "NewReplicaSetAvailable"}:
        return None
    passed_s = seconds_since(entry["lastUpdateTime"], now_ns)
    return max(0.0, float(deployment["spec"]["progressDeadlineSeconds"]) - passed_s) + 1.0


def _carry_failure(status: Object, sets: Sequence[Object], new: Object | None) -> None:
    """A set that cannot create pods is told of in the Deployment, the new one first."""
    candidates = [*([new] if new is not None else []), *sets]
    failure = next((found for entry in candidates if (found := meta.condition(entry, "ReplicaFailure"))), None)
    if failure is None:
        conditions.drop(status, "ReplicaFailure")
    else:
        conditions.put(status, {**failure, "lastUpdateTime": failure["lastTransitionTime"]})
