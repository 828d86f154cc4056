"""What a kubelet says of its node: that it is ready, and by its lease that it lives."""

from kubedyno.kube import meta
from kubedyno.kube.codec import Object

LEASE_NAMESPACE = "kube-node-lease"

_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def needs_report(node: Object) -> bool:
    """Whether the node's kubelet has to say that it is ready."""
    return not meta.is_condition_true(node, "Ready")


def ready(node: Object, *, now: str, address: str) -> Object:
    """The status of a node that is well, as a patch."""
    told = [
        *(_condition(type_, "False", reason, message, now) for type_, reason, message in _PRESSURES),
        _condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now),
    ]
    return {
        "conditions": told,
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": node["metadata"]["name"]},
        ],
    }


def _condition(type_: str, status: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": type_,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def lease(node: Object, *, duration_s: int, renewed: str) -> Object:
    """The lease of a node; it goes with the node."""
    metadata = node["metadata"]
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": metadata["name"],
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}],
        },
        "spec": {
            "holderIdentity": metadata["name"],
            "leaseDurationSeconds": duration_s,
            "renewTime": renewed,
        },
    }
