"""How pods stand, as measurements see it."""

from collections import Counter
from collections.abc import Iterable
from enum import Enum

from kubedyno.clusterloader.measurements.advising import advice
from kubedyno.kube import meta
from kubedyno.kube.codec import Object


class PodState(Enum):
    """Where a pod is on its way."""

    COMING = "coming"
    """Neither ready nor ended: unbound, not started, not ready, or on its way out."""
    READY = "ready"
    """It runs and is ready."""
    ENDED = "ended"
    """It has succeeded or failed."""


def pod_state(pod: Object) -> PodState:
    """How a pod stands."""
    phase = pod.get("status", {}).get("phase")
    if phase in {"Succeeded", "Failed"}:
        return PodState.ENDED
    if phase != "Running" or pod["metadata"].get("deletionTimestamp"):
        return PodState.COMING
    return PodState.READY if meta.is_condition_true(pod, "Ready") else PodState.COMING


_REASONS = 3


def why_waiting(pods: Iterable[Object]) -> str:
    """What pods that are still coming say, most of them first: `; 3 say: 0/5 nodes are available ...`."""
    said: Counter[str] = Counter()
    for pod in pods:
        if pod_state(pod) is PodState.COMING:
            said[_word(pod)] += 1
    told = [f"{count} {'says' if count == 1 else 'say'}: {text}" for text, count in said.most_common(_REASONS)]
    return "".join(f"; {one}" for one in told)


def _word(pod: Object) -> str:
    """What a pod says of why it does not run."""
    scheduled = meta.condition(pod, "PodScheduled") or {}
    if scheduled.get("status") == "False":
        reason = str(scheduled.get("message") or scheduled.get("reason") or "unschedulable")
        return reason + advice(pod, reason)
    if pod["metadata"].get("deletionTimestamp"):
        return "it is being deleted"
    return (
        "it is bound and does not run yet" if pod.get("spec", {}).get("nodeName") else "no scheduler has looked at it"
    )
