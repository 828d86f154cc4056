"""Conditions of statuses as ReplicaSets and Deployments keep them: the newest at the end, times that tell changes."""

from typing import Any

from kubedyno.kube.codec import Object


def get(status: Object, type_: str) -> dict[str, Any] | None:
    """The condition of a type."""
    return next((entry for entry in status.get("conditions") or () if entry["type"] == type_), None)


def put(status: Object, condition: dict[str, Any]) -> None:
    """Set a condition; one of the same status and reason stays as it is, whatever its message."""
    before = get(status, condition["type"])
    if before is not None and before["status"] == condition["status"]:
        if before.get("reason") == condition.get("reason"):
            return
        condition = {**condition, "lastTransitionTime": before["lastTransitionTime"]}
    drop(status, condition["type"])
    status["conditions"] = [*(status.get("conditions") or ()), condition]


def drop(status: Object, type_: str) -> None:
    """Remove a condition."""
    left = [entry for entry in status.get("conditions") or () if entry["type"] != type_]
    if left:
        status["conditions"] = left
    else:
        status.pop("conditions", None)


def without_zeros(status: Object) -> Object:
    """A status as Go writes it: counts of zero are left out."""
    kept = {"replicas", "terminatingReplicas"}
    return {field: value for field, value in status.items() if field in kept or value not in (0, None)}
