"""Which resource claims a pod uses, by the entries of its spec and the names that its status tells."""

from collections.abc import Iterable, Mapping
from typing import Any


def entries(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The claims that a pod speaks of."""
    found: list[dict[str, Any]] = (pod.get("spec") or {}).get("resourceClaims") or []
    return found


def claim_name(pod: Mapping[str, Any], entry: Mapping[str, Any]) -> str | None:
    """The name of the claim behind an entry; None while it is not made, or when none is needed."""
    if entry.get("resourceClaimName"):
        given: str = entry["resourceClaimName"]
        return given
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if status["name"] == entry["name"]:
            made: str | None = status.get("resourceClaimName")
            return made
    return None


def used(pod: Mapping[str, Any]) -> Iterable[str]:
    """`namespace/name` of the claims and `template namespace/name` of the templates of a pod, as an index has them."""
    namespace = pod["metadata"].get("namespace")
    for entry in entries(pod):
        found = claim_name(pod, entry)
        if found is not None:
            yield f"{namespace}/{found}"
        if entry.get("resourceClaimTemplateName"):
            yield f"template {namespace}/{entry['resourceClaimTemplateName']}"
