"""How long a Job waits before it replaces failed pods: 10 s, doubling per failure in a row up to 10 minutes."""

from collections.abc import Sequence

import msgspec

from kubedyno.controllers.jobs import indexes
from kubedyno.controllers.stamps import ns_of
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

FIRST_S = 10
MOST_S = 600


class Failures(msgspec.Struct, frozen=True):
    """Failures since the last success, and when the last of them was."""

    count: int = 0
    last_ns: int | None = None


def updated(record: Failures, succeeded: Sequence[Object], failed: Sequence[Object]) -> Failures:
    """The record after these newly finished pods: a success starts the count anew."""
    if not succeeded and not failed:
        return record
    failed_ns = sorted(finished_ns(pod) for pod in failed)
    if not succeeded:
        return Failures(record.count + len(failed), failed_ns[-1])
    last_success_ns = max(finished_ns(pod) for pod in succeeded)
    since = [moment for moment in failed_ns if moment > last_success_ns]
    return Failures(len(since), since[-1]) if since else Failures()


def remaining_s(record: Failures, now_ns: int) -> float:
    """Seconds until the next pod may be created; 0 when it may be now."""
    if record.count == 0 or record.last_ns is None:
        return 0.0
    delay_s = min(MOST_S, FIRST_S * 2.0 ** min(record.count - 1, 16))
    return max(0.0, delay_s - (now_ns - record.last_ns) / NS_PER_S)


def remaining_of_index_s(last_failed: Object | None, now_ns: int) -> float:
    """The same for an index on its own, by its last failed pod."""
    if last_failed is None:
        return 0.0
    return remaining_s(Failures(indexes.all_failures(last_failed) + 1, finished_ns(last_failed)), now_ns)


def finished_ns(pod: Object) -> int:
    """When a pod finished: by its containers, its Ready condition, its deletion, else its creation."""
    stamps = [
        ((container.get("state") or {}).get("terminated") or {}).get("finishedAt") for container in _that_end(pod)
    ]
    if stamps and all(stamps):
        return max(ns_of(stamp) or 0 for stamp in stamps)
    ready = meta.condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return ns_of(ready["lastTransitionTime"]) or 0
    metadata = pod["metadata"]
    deleted_ns = ns_of(metadata.get("deletionTimestamp"))
    if deleted_ns is not None:
        return deleted_ns - (metadata.get("deletionGracePeriodSeconds") or 0) * NS_PER_S
    return ns_of(metadata.get("creationTimestamp")) or 0


def _that_end(pod: Object) -> list[Object]:
    """Statuses of the containers whose end is the pod's: the main ones and sidecars."""
    status = pod.get("status") or {}
    sidecars = {
        container["name"]
        for container in (pod.get("spec") or {}).get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    ends: list[Object] = list(status.get("containerStatuses") or ())
    ends += [entry for entry in status.get("initContainerStatuses") or () if entry["name"] in sidecars]
    return ends
