"""NodeResourceTopology objects as the scheduler understands them: what each NUMA zone of a node has. Pure.

What is wrong with an object never stops anybody. Zones that are not of type `Node` or not named `node-<number>`, second
zones of one number, and amounts that are no quantities are left out, and so are attributes with unknown values. More
than allocatable is not available, nor less than nothing. Where no zone is left, or the policy aligns nothing that could
be refused (none, best-effort, unknown), the node counts as one without zones; so does one under `restricted` with more
zones than a kubelet takes by default.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.model.numa.admission import Scope
from kubedyno.model.numa.merging import Policy

ABSENT: Final = -1
"""Capacity and allocatable of a resource that a zone does not list."""

_NAME: Final = re.compile(r"node-(\d{1,4})", re.ASCII)
_MOST_COMBINED: Final = 8
"""Zones of which sets are looked at, as many as a kubelet takes by default."""

_POLICIES: Final = {
    f"{name}{level}": (policy, scope)
    for name, policy in (
        ("SingleNUMANode", Policy.SINGLE_NUMA_NODE),
        ("Restricted", Policy.RESTRICTED),
        ("BestEffort", Policy.BEST_EFFORT),
    )
    for level, scope in (("PodLevel", Scope.POD), ("ContainerLevel", Scope.CONTAINER))
}
"""The words of `topologyPolicies`, which are older than attributes."""

_Row = tuple[int, ...]


class Zones(msgspec.Struct, frozen=True, cache_hash=True):
    """The zones of a node under a policy that refuses. Amounts are thousandths: a row a zone, a column a resource."""

    policy: Policy
    scope: Scope
    resources: tuple[str, ...]
    capacity: tuple[_Row, ...]
    allocatable: tuple[_Row, ...]
    left: tuple[_Row, ...]
    """What is available; less than nothing where more was taken off than there was."""
    is_exact: bool = True
    """It is what the kubelet has left; otherwise that is no less."""


class Report(msgspec.Struct, frozen=True):
    """What one object says."""

    zones: Zones
    version: str
    fingerprint: str = ""
    """Of the pods that were counted; empty: it is not told which."""
    only_exclusive: bool = False
    """The fingerprint is of pods alone that hold something of a zone."""


def report_of(found: Object) -> Report | None:
    """What a NodeResourceTopology says; None: the node counts as one without zones."""
    attributes = _attributes(found)
    policy, scope = _manner(found, attributes)
    if policy not in (Policy.SINGLE_NUMA_NODE, Policy.RESTRICTED):
        return None
    amounts: dict[int, dict[str, tuple[int, int, int]]] = {}
    for zone in _dicts(found.get("zones")):
        name = _NAME.fullmatch(str(zone.get("name")))
        if name is not None and zone.get("type") == "Node":
            amounts.setdefault(int(name[1]), dict(_amounts(zone)))
    if not amounts or (policy is Policy.RESTRICTED and len(amounts) > _MOST_COMBINED):
        return None
    told = tuple(tuple(sorted(amounts[number].items())) for number in sorted(amounts))
    return Report(
        _zones(policy, scope, told),
        str(found["metadata"].get("resourceVersion") or ""),
        attributes.get("nodeTopologyPodsFingerprint", ""),
        attributes.get("nodeTopologyPodsFingerprintMethod") == "with-exclusive-resources",
    )


@functools.lru_cache(maxsize=4096)
def _zones(policy: Policy, scope: Scope, told: tuple[tuple[tuple[str, tuple[int, int, int]], ...], ...]) -> Zones:
    """Nodes that are alike share one object."""
    resources = tuple(sorted({name for zone in told for name, _ in zone}))
    rows = [dict(zone) for zone in told]
    absent = (ABSENT, ABSENT, 0)
    capacity, allocatable, left = (
        tuple(tuple(row.get(name, absent)[part] for name in resources) for row in rows) for part in range(3)
    )
    return Zones(policy, scope, resources, capacity, allocatable, left)


def _attributes(found: Object) -> dict[str, str]:
    return {str(one.get("name")): str(one.get("value")) for one in _dicts(found.get("attributes"))}


def _manner(found: Object, attributes: Mapping[str, str]) -> tuple[Policy, Scope]:
    """Attributes go before the older field."""
    policy, scope = Policy.NONE, Scope.CONTAINER
    words = found.get("topologyPolicies")
    if isinstance(words, list) and words:
        policy, scope = _POLICIES.get(str(words[0]), (policy, scope))
    named, scoped = attributes.get("topologyManagerPolicy"), attributes.get("topologyManagerScope")
    if named in set(Policy):
        policy = Policy(named)
    if scoped in set(Scope):
        scope = Scope(scoped)
    return policy, scope


def _amounts(zone: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    for one in _dicts(zone.get("resources")):
        try:
            capacity, allocatable, available = (
                max(0, Quantity.parse(one[field]).milli()) for field in ("capacity", "allocatable", "available")
            )
        except (KeyError, TypeError, UsageError):
            continue
        yield str(one.get("name")), (capacity, allocatable, min(available, allocatable))


def _dicts(written: Any) -> list[Mapping[str, Any]]:
    return [one for one in written if isinstance(one, dict)] if isinstance(written, list) else []
