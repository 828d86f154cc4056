"""Taints that follow the conditions of a node, and how fast nodes may be emptied when many are lost at once."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.controllers.stamps import seconds_text
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

_BY_CONDITION: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS = frozenset(_BY_CONDITION.values()) | {UNSCHEDULABLE}

_NODES_PER_S = 0.1
_NODES_PER_S_WHEN_MANY = 0.01
_LARGE_CLUSTER = 50
_MANY_SHARE = 0.55
_FEW = 2
_REGION = "topology.kubernetes.io/region"
_ZONE = "topology.kubernetes.io/zone"
_EXCLUDED = "node.kubernetes.io/exclude-disruption"

Taints = list[dict[str, Any]]


def of_node(node: Object) -> Taints:
    """The taints of a node."""
    found: Taints = (node.get("spec") or {}).get("taints") or []
    return found


def by_conditions(node: Object, *, now_ns: int) -> Taints | None:
    """The taints of a node with the NoSchedule ones as its conditions want them; None when they are so."""
    wanted = []
    for entry in (node.get("status") or {}).get("conditions") or ():
        key = _BY_CONDITION.get((entry["type"], entry["status"]))
        if key is not None:
            wanted.append(key)
    if (node.get("spec") or {}).get("unschedulable"):
        wanted.append(UNSCHEDULABLE)
    return _swapped(of_node(node), "NoSchedule", wanted, _OURS, now_ns)


def by_readiness(node: Object, *, may_add: bool, now_ns: int) -> Taints | None:
    """The same for the NoExecute taints, which empty a node that is not ready.

    One such taint may always become the other; a new one only with `may_add`.
    """
    ready = meta.condition(node, "Ready")
    if ready is None:
        return None
    key = _BY_CONDITION.get(("Ready", ready["status"]))
    there = [taint["key"] for taint in of_node(node) if taint["effect"] == "NoExecute" and is_of_health(taint)]
    if key is not None and not there and not may_add:
        return None
    return _swapped(of_node(node), "NoExecute", [key] if key else [], frozenset({NOT_READY, UNREACHABLE}), now_ns)


def without_evictions(node: Object) -> Taints | None:
    """All but those by which a node's pods are evicted for its health; None: it has none of them."""
    kept = [taint for taint in of_node(node) if taint["effect"] != "NoExecute" or not is_of_health(taint)]
    return kept if kept != of_node(node) else None


def is_of_health(taint: Mapping[str, Any]) -> bool:
    """Whether the taint tells of a node that is not ready or not reached."""
    return taint["key"] in {NOT_READY, UNREACHABLE}


def needs_eviction_taint(node: Object) -> bool:
    """Whether the node is not ready and has no taint that empties it yet."""
    ready = meta.condition(node, "Ready")
    if ready is None or ready["status"] == "True":
        return False
    return not any(taint["effect"] == "NoExecute" and is_of_health(taint) for taint in of_node(node))


def _swapped(taints: Taints, effect: str, wanted: list[str], ours: frozenset[str], now_ns: int) -> Taints | None:
    there = [taint["key"] for taint in taints if taint["effect"] == effect and taint["key"] in ours]
    missing = [key for key in wanted if key not in there]
    if not missing and all(key in wanted for key in there):
        return None
    kept = [
        taint for taint in taints if taint["effect"] != effect or taint["key"] not in ours or taint["key"] in wanted
    ]
    stamp = seconds_text(now_ns)
    return [*kept, *({"key": key, "effect": effect, "timeAdded": stamp} for key in missing)]


def zone_of(node: Object) -> str:
    """Region and zone of a node; empty where it tells neither."""
    labels = meta.labels(node)
    region, zone = labels.get(_REGION, ""), labels.get(_ZONE, "")
    return f"{region}:{zone}" if region or zone else ""


class Standing(msgspec.Struct, frozen=True):
    """What of a node counts when all nodes are looked at together."""

    zone: str
    is_ready: bool
    is_counted: bool
    is_untroubled: bool
    """Ready and without any taint, as most are at most times."""


def standing(node: Object) -> Standing:
    """How a node stands."""
    is_ready = meta.is_condition_true(node, "Ready")
    is_counted = _EXCLUDED not in meta.labels(node)
    return Standing(zone_of(node), is_ready, is_counted, is_ready and not of_node(node))


def paces(standings: Iterable[Standing]) -> dict[str, float]:
    """Per zone how many nodes per second may get a taint that empties them.

    Few when most of a zone is lost, none when all nodes of all zones are: then we are what is cut off.
    """
    counts: dict[str, list[int]] = {}
    for one in standings:
        if one.is_counted:
            counts.setdefault(one.zone, [0, 0])[one.is_ready] += 1
    if counts and all(ready == 0 for _, ready in counts.values()):
        return dict.fromkeys(counts, 0.0)
    found = {}
    for zone, (lost, ready) in counts.items():
        is_partial = ready > 0 and lost > _FEW and lost / (lost + ready) >= _MANY_SHARE
        reduced = _NODES_PER_S_WHEN_MANY if lost + ready > _LARGE_CLUSTER else 0.0
        found[zone] = reduced if is_partial else _NODES_PER_S
    return found
