"""Is a node alive? Its last sign is a renewed lease or a new heartbeat in its status."""

from typing import Any

import msgspec

from kubedyno.controllers.settings import ControllerSettings
from kubedyno.controllers.stamps import ns_of, seconds_text
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class Health(msgspec.Struct, frozen=True):
    """What was seen of a node, and when (`seen_ns`): clocks of nodes are not trusted, only that they tick."""

    seen_ns: int
    heartbeat: str | None
    renewed: str | None


def observed(node: Object, lease: Object | None, before: Health | None, *, now_ns: int) -> Health:
    """The health after another look."""
    ready = meta.condition(node, "Ready")
    heartbeat = ready.get("lastHeartbeatTime", "") if ready is not None else None
    renewed = (lease.get("spec") or {}).get("renewTime") if lease is not None else None
    if before is None:
        # A node without a status has had time since its creation; one with a status starts now.
        created_ns = ns_of(node["metadata"].get("creationTimestamp")) or now_ns
        seen_ns = now_ns if ready is not None else created_ns
        before = Health(seen_ns, heartbeat, None)
    is_renewed = renewed != before.renewed and _is_later(renewed, before.renewed)
    is_new = is_renewed or heartbeat != before.heartbeat
    return Health(now_ns if is_new else before.seen_ns, heartbeat, renewed if is_renewed else before.renewed)


def _is_later(renewed: str | None, before: str | None) -> bool:
    return renewed is not None and (before is None or (ns_of(renewed) or 0) > (ns_of(before) or 0))


def alive_until_ns(node: Object, health: Health, settings: ControllerSettings) -> int:
    """After this the last sign of the node is too old; one that never had a status gets more time."""
    grace_s = settings.node_startup_grace_s if meta.condition(node, "Ready") is None else settings.node_grace_s
    return health.seen_ns + round(grace_s * NS_PER_S)


def lost_conditions(node: Object, *, now_ns: int) -> list[dict[str, Any]]:
    """The conditions of a node that is lost: what only its kubelet could know is unknown."""
    now = seconds_text(now_ns)
    conditions: list[dict[str, Any]] = meta.copied((node.get("status") or {}).get("conditions") or [])
    by_type = {entry["type"]: entry for entry in conditions}
    for type_ in WATCHED:
        entry = by_type.get(type_)
        if entry is None:
            conditions.append(
                {
                    "type": type_,
                    "status": "Unknown",
                    "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
                    "lastTransitionTime": now,
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                }
            )
        elif entry["status"] != "Unknown":
            entry.update(
                status="Unknown",
                reason="NodeStatusUnknown",
                message="Kubelet stopped posting node status.",
                lastTransitionTime=now,
            )
    return conditions
