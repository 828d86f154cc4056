"""Fields of features that are off by default: the server drops them in silence.

The features of pod groups and workloads count as on, as in a lab with kube-scheduler.
"""

from collections.abc import Mapping
from typing import Any

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

_EACH = "*"
_LISTED = tuple(
    ("spec", "devices", _EACH, "attributes", _EACH, name) for name in ("bools", "ints", "strings", "versions")
)
_PATHS: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("coordination.k8s.io", "leases"): (("spec", "strategy"), ("spec", "preferredHolder")),
    ("resource.k8s.io", "resourceslices"): (("spec", "devices", _EACH, "nodeAllocatableResourceMappings"), *_LISTED),
    ("scheduling.k8s.io", "podgroups"): (("spec", "resourceClaims"), ("status", "resourceClaimStatuses")),
    ("scheduling.k8s.io", "workloads"): (("spec", "podGroupTemplates", _EACH, "resourceClaims"),),
    ("storage.k8s.io", "csidrivers"): (("spec", "preventPodSchedulingIfMissing"),),
}


def drop_disabled(obj: Object, resource: Resource) -> None:
    """Drop such fields; what holds them is replaced, not changed."""
    for path in _PATHS.get((resource.group, resource.plural), ()):
        first = path[0]
        if first in obj:
            obj[first] = _without(obj[first], path[1:])


def _without(value: Any, path: tuple[str, ...]) -> Any:
    """The value without what is at the path: the same one if nothing is there."""
    name, rest = path[0], path[1:]
    if value is None:
        return None
    if name == _EACH:
        if isinstance(value, list):
            changed = [_without(entry, rest) for entry in value]
            return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value
        entries = {key: _without(entry, rest) for key, entry in value.items()}
        return entries if any(entries[key] is not entry for key, entry in value.items()) else value
    if name not in value:
        return value
    if not rest:
        return {key: entry for key, entry in value.items() if key != name}
    inner = _without(value[name], rest)
    return value if inner is value[name] else {**value, name: inner}
