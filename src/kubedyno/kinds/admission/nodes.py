"""What nodes and pods have of each other: new nodes start out tainted, and pods take over topology labels."""

from kubedyno.kinds.admission.attributes import Asked
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def taint_new_node(node: Object) -> None:
    """TaintNodesByCondition: no pod goes to a node before its conditions are known; `spec` is replaced."""
    spec = node.get("spec") or {}
    taints: list[Object] = spec.get("taints") or []
    if all((taint.get("key"), taint.get("effect")) != tuple(_NOT_READY.values()) for taint in taints):
        node["spec"] = {**spec, "taints": [*taints, dict(_NOT_READY)]}


def label_with_topology(obj: Object, node_name: str, request: Asked) -> None:
    """PodTopologyLabels: a pod, or the binding of one, is labelled with the zone and region of its node."""
    node = request.lookup.get(NODES, "", node_name)
    labels = (node or {}).get("metadata", {}).get("labels") or {}
    copied = {label: labels[label] for label in _TOPOLOGY if label in labels}
    if copied:
        metadata = obj.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), **copied}
