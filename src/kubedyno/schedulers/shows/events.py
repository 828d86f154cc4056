"""What events show: who evicted whom. All others show nothing."""

import re
from typing import Final

from kubedyno.kit.clock import rfc3339
from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown

KAI_EVICTION: Final = "Evict"
PREEMPTION: Final = "Preempted"

_PREEMPTED_BY: Final = re.compile(r"Preempted by (\w+ \S+) on node ")
_NS_DIGITS: Final = 16
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


def eviction(obj: Object) -> list[Shown]:
    """An Event (v1): evicted, by whom, on the pod or the group that it speaks of.

    KAI tells its action and the group that it made room for in annotations, except where it has told of ten evictions
    already; kube-scheduler tells the kind and the uid of the preemptor in the message.
    """
    reason = obj.get("reason")
    if reason == KAI_EVICTION:
        return [Shown("evicted", _stamp(obj), _kai_evictor(obj))]
    if reason == PREEMPTION:
        return [Shown("evicted", _stamp(obj), _preemptor(obj))]
    return []


def subject(obj: Object) -> str:
    """The uid of the object that an event speaks of."""
    uid: str = (obj.get("involvedObject") or {}).get("uid") or ""
    return uid


def _stamp(obj: Object) -> str:
    """When it was written, to the microsecond where that is known.

    `eventTime` counts microseconds. Writers of the older kind leave it empty and fill `firstTimestamp`, which counts
    seconds, but name an event for its subject and its nanoseconds since the epoch.
    """
    if obj.get("eventTime"):
        exact: str = obj["eventTime"]
        return exact
    metadata = obj["metadata"]
    coarse: str = obj.get("firstTimestamp") or metadata.get("creationTimestamp") or ""
    _, _, tail = metadata["name"].rpartition(".")
    if len(tail) == _NS_DIGITS and set(tail) <= _HEXADECIMAL:
        named = rfc3339(int(tail, 16))
        if named.startswith(coarse.removesuffix("Z")):
            return named
    return coarse


def _kai_evictor(obj: Object) -> str:
    told = obj["metadata"].get("annotations") or {}
    action = told.get("evictor-action-type") or "eviction"
    name = told.get("evictor-pod-group-name")
    if not name:
        return f"{action} by KAI"
    return f"{action} by {told.get('evictor-pod-group-namespace') or 'default'}/{name}"


def _preemptor(obj: Object) -> str:
    related = obj.get("related") or {}
    if related.get("name"):
        return f"preemption by {related.get('namespace') or 'default'}/{related['name']}"
    told = _PREEMPTED_BY.match(obj.get("message") or "")
    return f"preemption by {told[1] if told else obj.get('reportingComponent') or 'the scheduler'}"
