"""What a kubelet says of its node: whether it is ready, and by its lease that it lives."""

import zlib
from collections.abc import Mapping
from ipaddress import IPv4Address

from kubedyno.kube import meta
from kubedyno.kube.codec import Object

LEASE_NAMESPACE = "kube-node-lease"

_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_READY = ("KubeletReady", "kubelet is posting ready status")
_UNREADY_REASON = "KubeletNotReady"

# What a node has that says nothing itself, so that pods can be tried on it.
_DEFAULT_CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110"}
_ADDRESSES_FROM = int(IPv4Address("100.64.0.0"))  # shared address space: nobody's own network
_ADDRESSES = 1 << 22


def needs_report(node: Object, *, unready: str = "") -> bool:
    """Whether the node says something else than that its kubelet is ready, or why it is not."""
    condition = meta.condition(node, "Ready")
    if condition is None:
        return True
    if unready:
        return condition.get("status") != "False" or condition.get("message") != unready
    return condition.get("status") != "True"


def report(node: Object, *, now: str, unready: str = "") -> Object:
    """The status of a node as a strategic patch: what it lacks is filled in. `unready` says what is wrong, if anything.

    A condition that stays as it was keeps the time of its transition.
    """
    reason, message = (_UNREADY_REASON, unready) if unready else _READY
    status = node.get("status") or {}
    patch: Object = {
        "conditions": [
            *(_condition(node, type_, ("False", why, text), now) for type_, why, text in _PRESSURES),
            _condition(node, "Ready", ("False" if unready else "True", reason, message), now),
        ]
    }
    if not status.get("addresses"):
        name = node["metadata"]["name"]
        patch["addresses"] = [
            {"type": "InternalIP", "address": _address(name)},
            {"type": "Hostname", "address": name},
        ]
    return patch | _lacking(status)


def registered(node: Object) -> Object:
    """The node with the capacity that its kubelet will report if it has none yet: pods may be bound before that."""
    status = node.get("status") or {}
    lacking = _lacking(status)
    if not lacking:
        return node
    return {**node, "status": status | {field: (status.get(field) or {}) | more for field, more in lacking.items()}}


def _lacking(status: Object) -> Object:
    """What must be added to capacity and allocatable. Devices alone may be there already: their plugins are fast."""
    has = {field: status.get(field) or {} for field in ("capacity", "allocatable")}
    lacking = {field: amounts for field, amounts in has.items() if not amounts.keys() & _DEFAULT_CAPACITY.keys()}
    known = next((amounts for field, amounts in has.items() if field not in lacking), _DEFAULT_CAPACITY)
    return {field: {**known, **amounts} for field, amounts in lacking.items()}


def conditions(now: str) -> list[Object]:
    """The conditions of a node that is just registering, and well."""
    return list(report({"metadata": {"name": ""}}, now=now)["conditions"])


def _address(name: str) -> str:
    """An address for a node that has none: always the same for its name."""
    return str(IPv4Address(_ADDRESSES_FROM + zlib.crc32(name.encode()) % _ADDRESSES))


def address_of(node: Object) -> str:
    """The node's own address."""
    for address in (node.get("status") or {}).get("addresses") or ():
        if address.get("type") == "InternalIP":
            return str(address["address"])
    return _address(node["metadata"]["name"])


def _condition(node: Mapping[str, object], type_: str, told: tuple[str, str, str], now: str) -> Object:
    """`told` are status, reason and message."""
    status, reason, message = told
    before = meta.condition(node, type_)
    same = before is not None and before.get("status") == status
    return {
        "type": type_,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": before["lastTransitionTime"] if before is not None and same else now,
        "reason": reason,
        "message": message,
    }


def lease(name: str, uid: str, *, duration_s: int, renewed: str) -> Object:
    """The lease of a node; it goes with the node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}],
        },
        "spec": {"holderIdentity": name, "leaseDurationSeconds": duration_s, "renewTime": renewed},
    }
