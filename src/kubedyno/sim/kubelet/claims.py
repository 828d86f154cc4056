"""Whether a pod's ResourceClaims let its containers start.

A kubelet admits a pod without looking at its claims. It looks when it starts the pod, and tries again for as long as
something is wrong: the pod stays with its containers in creation, and an event tells why.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from kubedyno.kube import meta
from kubedyno.kube.codec import Object

REASON: Final = "FailedPrepareDynamicResources"
"""Reason of the Warning event."""


def claims_ready(pod: Object, claims: Mapping[str, Object], drivers: Collection[str] | None = None) -> str | None:
    """The event's message while the claims do not let the pod start; None when it may.

    `claims` are those of the pod's namespace by name, `drivers` the DRA drivers of its node (None: any).
    """
    for fault in _faults(pod, claims, drivers):
        return f"Failed to prepare dynamic resources: prepare dynamic resources: {fault}"
    return None


def claim_names(pod: Object) -> list[str]:
    """The claims that the pod uses, as far as they have been made."""
    return [name for name, _, fault in _used(pod) if not fault]


def _faults(pod: Object, claims: Mapping[str, Object], drivers: Collection[str] | None) -> Iterator[str]:
    namespace, pod_name = meta.key(pod)
    uid = pod["metadata"].get("uid")
    for name, is_made_for_pod, fault in _used(pod):
        if fault:
            yield fault
            continue
        claim = claims.get(name)
        if claim is None:
            yield f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found'
            continue
        status = claim.get("status") or {}
        owner = meta.controller_owner(claim) or {}
        if is_made_for_pod and owner.get("uid") != uid:
            yield (
                f"ResourceClaim {namespace}/{name} was not created for Pod {namespace}/{pod_name} (Pod is not owner)"
            )
        if all(user.get("uid") != uid for user in status.get("reservedFor") or ()):
            claim_uid = claim["metadata"].get("uid")
            yield f"pod {pod_name} ({uid}) is not allowed to use ResourceClaim {name} ({claim_uid})"
        if status.get("allocation") is None:
            yield f"ResourceClaim {name}: not allocated"
            continue
        for driver in _drivers(status["allocation"]):
            if drivers is not None and driver not in drivers:
                yield f"DRA driver {driver} is not registered"


def _used(pod: Object) -> Iterator[tuple[str, bool, str]]:
    """Each claim's name, whether it was made for this pod, and what is wrong with the reference."""
    namespace, pod_name = meta.key(pod)
    status = pod.get("status") or {}
    made = {one["name"]: one.get("resourceClaimName") for one in status.get("resourceClaimStatuses") or ()}
    for entry in (pod.get("spec") or {}).get("resourceClaims") or ():
        if entry.get("resourceClaimName"):
            yield entry["resourceClaimName"], False, ""
        elif entry["name"] not in made:
            yield "", True, f'pod "{namespace}/{pod_name}": ResourceClaim not created yet'
        elif made[entry["name"]]:
            # A claim that turned out not to be needed has no name there.
            yield made[entry["name"]], True, ""
    extended = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
    if extended:
        yield extended, False, ""


def _drivers(allocation: Mapping[str, Any]) -> list[str]:
    results = (allocation.get("devices") or {}).get("results") or ()
    return list(dict.fromkeys(result["driver"] for result in results))
