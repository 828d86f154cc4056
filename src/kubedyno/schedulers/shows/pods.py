"""What a pod shows."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers.shows.conditions import since

_WAITING: Final = frozenset({"Unschedulable", "SchedulingGated"})

_EVICTORS: Final = {
    "EvictionByEvictionAPI": "eviction API",
    "DeletionByTaintManager": "taint manager",
    "DeletionByPodGC": "pod garbage collector",
    "TerminationByKubelet": "kubelet",
}

_FINISHED: Final = {"Succeeded": "succeeded", "Failed": "failed"}


def pod(obj: Object) -> list[Shown]:
    """Created, queued, nominated, scheduled, running, ready, evicted, succeeded, failed.

    `queued` only shows until it is bound, `nominated` until then or until the nomination is taken back. `ready` is gone
    once it has finished.
    """
    status = obj.get("status") or {}
    found = [Shown("created", obj["metadata"].get("creationTimestamp") or "")]
    is_told = False
    for condition in status.get("conditions") or ():
        reader = _READERS.get(condition["type"])
        shown = reader(condition) if reader is not None else None
        if shown is not None:
            found.append(shown)
            is_told |= shown.phase == "scheduled"
    if obj["spec"].get("nodeName") and not is_told:
        found.append(Shown("scheduled"))
    if status.get("nominatedNodeName"):
        found.append(Shown("nominated", "", status["nominatedNodeName"]))
    phase = status.get("phase")
    if phase == "Running":
        found.append(Shown("running", _started(status)))
    elif phase in _FINISHED:
        began = _started(status)
        if began:
            found.append(Shown("running", began))
        found.append(Shown(_FINISHED[phase], _ended(status), status.get("reason") or ""))
    return found


def _placed(condition: Mapping[str, Any]) -> Shown | None:
    if condition.get("status") == "True":
        return Shown("scheduled", since(condition))
    reason = condition.get("reason")
    return Shown("queued", since(condition), reason) if reason in _WAITING else None


def _ready(condition: Mapping[str, Any]) -> Shown | None:
    return Shown("ready", since(condition)) if condition.get("status") == "True" else None


def _disrupted(condition: Mapping[str, Any]) -> Shown | None:
    return Shown("evicted", since(condition), _evictor(condition)) if condition.get("status") == "True" else None


def _evictor(condition: Mapping[str, Any]) -> str:
    """By whom; a scheduler says its name before the colon of its message."""
    reason: str = condition.get("reason") or ""
    if reason == "PreemptionByScheduler":
        scheduler, colon, _ = (condition.get("message") or "").partition(":")
        return f"preemption by {scheduler}" if colon else "preemption by the scheduler"
    return _EVICTORS.get(reason, reason)


def _started(status: Mapping[str, Any]) -> str:
    """When the last of its containers started; empty where one has restarted since, or does not tell."""
    latest = ""
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        began = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        if not began or container.get("restartCount"):
            return ""
        latest = max(latest, began)
    return latest


def _ended(status: Mapping[str, Any]) -> str:
    """When the last of its containers ended; empty where none tells."""
    latest = ""
    for container in status.get("containerStatuses") or ():
        ended = ((container.get("state") or {}).get("terminated") or {}).get("finishedAt")
        latest = max(latest, ended or "")
    return latest


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Shown | None]]] = {
    "PodScheduled": _placed,
    "Ready": _ready,
    "DisruptionTarget": _disrupted,
}
