"""Whether a kubelet takes a pod that is bound to its node: the checks that come after the topology manager's.

Order and words are those of a kubelet 1.36. Left out is what a simulated node has no counterpart of: pressure eviction,
sysctls, AppArmor, declared features and shutdown; and a critical pod is refused like any other where a real kubelet
would evict others to make room.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kubedyno.kube.codec import Object
from kubedyno.kube.placement import is_tolerated
from kubedyno.model.numa.admission import Rejection
from kubedyno.sim.kubelet.requests import PODS, Needs, conflicts, is_foreign

_OS: Final = "linux"
# Of these conditions a kubelet says that they are its own, so they go with the status that it replaces.
_OWN_CONDITIONS: Final = frozenset(
    {
        "PodScheduled",
        "Ready",
        "Initialized",
        "ContainersReady",
        "PodResizeInProgress",
        "PodResizePending",
        "PodReadyToStartContainers",
        "AllContainersRestarting",
    }
)
# What is not the kubelet's to change, and what a refused pod is given anew.
_KEPT: Final = frozenset(
    {
        "phase",
        "reason",
        "message",
        "conditions",
        "observedGeneration",
        "startTime",
        "qosClass",
        "resourceClaimStatuses",
        "extendedResourceClaimStatus",
        "nodeAllocatableResourceClaimStatuses",
    }
)


def platform_refusal(needs: Needs, *, supports_strict_groups: bool) -> Rejection | None:
    """Why no node like this can run such a pod, whatever is free on it."""
    if needs.os_label is not None and needs.os_label != _OS:
        return Rejection(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if needs.os and needs.os != _OS:
        return Rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    if needs.strict_groups and not supports_strict_groups:
        return Rejection(
            "SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"
        )
    return None


def shortage(needs: Needs, capacity: Mapping[str, int], used: Mapping[str, int], pods: int) -> Rejection | None:
    """What there is too little of; `capacity` is the node's allocatable, `pods` counts those that are there."""
    allowed = capacity.get(PODS, 0)
    if pods >= allowed:
        return _out_of(PODS, 1, pods, allowed)
    for name, asked in needs.amounts:
        limit = capacity.get(name)
        if limit is None:
            # Extended resources that the node does not know may be the whole cluster's: not for a kubelet to check.
            if is_foreign(name):
                continue
            limit = 0
        held = used.get(name, 0)
        if asked > limit - held:
            return _out_of(name, asked, held, limit)
    return None


def _out_of(name: str, asked: int, used: int, capacity: int) -> Rejection:
    return Rejection(
        f"OutOf{name}",
        f"Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {capacity}",
    )


def misplacement(
    needs: Needs,
    name: str,
    labels: Mapping[str, str],
    taints: Sequence[Mapping[str, Any]],
    ports: Collection[tuple[str, str, int]],
) -> Rejection | None:
    """Why the pod should not be on a node of this name and labels, with these NoExecute taints and used ports."""
    if any(labels.get(key) != value for key, value in needs.selector) or (
        needs.affinity is not None and not needs.affinity.matches(name, labels)
    ):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if needs.ports and conflicts(needs.ports, tuple(ports)):
        return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    if any(not is_tolerated(taint, needs.tolerations) for taint in taints):
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _failed(predicate: str, told: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {told}")


def rejected_status(pod: Object, rejection: Rejection, now: str) -> Object:
    """The status of a refused pod, as a strategic merge patch of what it has now.

    A kubelet writes it from nothing: what it had reported itself goes, the conditions that are its own included
    (PodScheduled is one of them); conditions of others stay. `now` is an RFC 3339 time in whole seconds.
    """
    before = pod.get("status") or {}
    patch: Object = {name: None for name in before if name not in _KEPT}
    conditions = [one["type"] for one in before.get("conditions") or ()]
    gone = [{"$patch": "delete", "type": type_} for type_ in conditions if type_ in _OWN_CONDITIONS]
    if gone:
        patch["conditions"] = gone if len(gone) < len(conditions) else None
    return {
        **patch,
        "phase": "Failed",
        "reason": rejection.reason,
        "message": f"Pod was rejected: {rejection.message}",
        "observedGeneration": max(before.get("observedGeneration") or 0, pod["metadata"].get("generation") or 0),
        "startTime": before.get("startTime") or now,
    }
