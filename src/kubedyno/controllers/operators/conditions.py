"""Conditions of training jobs, as the training operator keeps them: some take the place of others."""

from typing import Final

from kubedyno.controllers.stamps import seconds_text
from kubedyno.kube.codec import Object

CREATED: Final = "Created"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
SUSPENDED: Final = "Suspended"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"

_KIND = "PyTorchJob"
_REPLACES = {RESTARTING: RUNNING, RUNNING: RESTARTING}
"""A job that restarts does not run, and the other way round: the other condition goes."""


def is_true(status: Object, type_: str) -> bool:
    """Whether a condition holds."""
    return any(one["type"] == type_ and one["status"] == "True" for one in status.get("conditions") or ())


def is_finished(status: Object) -> bool:
    """Whether the job has succeeded or failed."""
    return is_true(status, SUCCEEDED) or is_true(status, FAILED)


def reason_of(what: str) -> str:
    """The reason of a condition or an event: `PyTorchJobRunning`."""
    return f"{_KIND}{what}"


def put(status: Object, type_: str, message: str, *, now_ns: int, holds: bool = True, what: str | None = None) -> bool:
    """Put a condition into the status, in place; whether it is news. Nothing is put after a failure.

    `what` is what has happened, where that is not what the condition is called.
    """
    if is_true(status, FAILED):
        return False
    value, reason, now = "True" if holds else "False", reason_of(what or type_), seconds_text(now_ns)
    before = next((one for one in status.get("conditions") or () if one["type"] == type_), None)
    if before is not None and (before["status"], before.get("reason")) == (value, reason):
        return False
    kept = [
        {**one, "status": "False"} if type_ in {SUCCEEDED, FAILED} and one["type"] == RUNNING else one
        for one in status.get("conditions") or ()
        if one["type"] not in {type_, _REPLACES.get(type_)}
    ]
    since = before["lastTransitionTime"] if before is not None and before["status"] == value else now
    fresh = {
        "type": type_,
        "status": value,
        "reason": reason,
        "message": message,
        "lastUpdateTime": now,
        "lastTransitionTime": since,
    }
    status["conditions"] = [*kept, fresh]
    return True
