"""What a pod shows."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers.shows.conditions import UNSCHEDULABLE, since

_GATED: Final = "SchedulingGated"

_EVICTORS: Final = {
    "EvictionByEvictionAPI": "eviction API",
    "DeletionByTaintManager": "taint manager",
    "DeletionByPodGC": "pod garbage collector",
    "TerminationByKubelet": "kubelet",
}

_KAI_SENTENCES: Final = (
    (re.compile(r" was preempted by higher priority workload (\S+)"), "preempt"),
    (re.compile(r" was preempted by workload (\S+)\.(?:\n|$)"), "reclaim"),
    (re.compile(r" due to bin packing "), "consolidation"),
    (re.compile(r"^Workload doesn't meet the minimum required number of pods"), "stalegangeviction"),
)
"""What KAI says to victims of each of its actions, and for whom, where it says so."""

_FINISHED: Final = {"Succeeded": "succeeded", "Failed": "failed"}


def pod(obj: Object) -> list[Shown]:
    """Created, queued, unschedulable, nominated, scheduled, running, ready, evicted, succeeded, failed.

    `queued` and `unschedulable` only show until it is bound, `nominated` until then or until the nomination is taken
    back. `ready` is gone once it has finished.
    """
    status = obj.get("status") or {}
    found = [Shown("created", obj["metadata"].get("creationTimestamp") or "")]
    is_told = False
    for condition in status.get("conditions") or ():
        reader = _READERS.get(condition["type"])
        if reader is not None:
            shown = reader(condition)
            found += shown
            is_told |= bool(shown) and shown[0].phase == "scheduled"
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


def _placed(condition: Mapping[str, Any]) -> tuple[Shown, ...]:
    if condition.get("status") == "True":
        return (Shown("scheduled", since(condition)),)
    reason = condition.get("reason")
    if reason == UNSCHEDULABLE:
        return Shown("queued", since(condition), reason), Shown("unschedulable", since(condition), reason)
    return (Shown("queued", since(condition), reason),) if reason == _GATED else ()


def _ready(condition: Mapping[str, Any]) -> tuple[Shown, ...]:
    return (Shown("ready", since(condition)),) if condition.get("status") == "True" else ()


def _disrupted(condition: Mapping[str, Any]) -> tuple[Shown, ...]:
    return (Shown("evicted", since(condition), _evictor(condition)),) if condition.get("status") == "True" else ()


def _evictor(condition: Mapping[str, Any]) -> str:
    """By whom: KAI tells it in sentences, others say their name before the colon of their message."""
    reason: str = condition.get("reason") or ""
    if reason != "PreemptionByScheduler":
        return _EVICTORS.get(reason, reason)
    message: str = condition.get("message") or ""
    for sentence, action in _KAI_SENTENCES:
        told = sentence.search(message)
        if told:
            return f"{action} by {told[1] if told.re.groups else 'KAI'}"
    scheduler, colon, _ = message.partition(":")
    return f"preemption by {scheduler}" if colon else "preemption by the scheduler"


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


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[Shown, ...]]]] = {
    "PodScheduled": _placed,
    "Ready": _ready,
    "DisruptionTarget": _disrupted,
}
