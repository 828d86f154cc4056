"""The Scale of Kubernetes' own kinds with replicas."""

from kubedyno.kube.codec import Object
from kubedyno.kube.selectors import LabelSelector


def scale_of(obj: Object) -> Object:
    """The Scale of a Deployment, ReplicaSet, StatefulSet or ReplicationController."""
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    selector = spec.get("selector") or {}
    if "matchLabels" not in selector and "matchExpressions" not in selector and selector:
        selector = {"matchLabels": selector}  # of a ReplicationController
    text = str(LabelSelector.from_object(selector)) if selector else ""
    replicas = spec.get("replicas")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            name: metadata[name]
            for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if name in metadata
        },
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": (obj.get("status") or {}).get("replicas", 0),
            **({"selector": text} if text else {}),
        },
    }
