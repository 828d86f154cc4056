"""Defaults of the core kinds other than pods: services, volumes, nodes, namespaces, secrets, limits."""

import base64

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

_SESSION_S = 10_800

CONSTANTS: Constants = {
    "core.v1.EndpointPort": {"protocol": "TCP"},
    "core.v1.Secret": {"type": "Opaque"},
    "core.v1.PersistentVolumeStatus": {"phase": "Pending"},
    "core.v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "core.v1.NamespaceStatus": {"phase": "Active"},
}


def _service(service: Object) -> None:
    spec = service["spec"]
    spec.setdefault("sessionAffinity", "None")
    of_type = spec.setdefault("type", "ClusterIP")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _SESSION_S}}
    for port in spec.get("ports") or ():
        port["targetPort"] = port["targetPort"] or port["port"]
    if of_type in {"NodePort", "LoadBalancer"} or (of_type == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if of_type in {"NodePort", "LoadBalancer", "ClusterIP"}:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if of_type == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service["status"]["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _replication_controller(controller: Object) -> None:
    metadata, spec = controller["metadata"], controller["spec"]
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    if labels:
        spec.setdefault("selector", {**labels})
        metadata.setdefault("labels", {**labels})


def _secret(secret: Object) -> None:
    texts = secret.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}


def _volume(volume: Object) -> None:
    # Of volumes only: a VolumeAttachment can hold the same spec, which has no defaults of its own.
    volume["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    volume["spec"].setdefault("volumeMode", "Filesystem")


def _namespace(namespace: Object) -> None:
    metadata = namespace["metadata"]
    if name := metadata.get("name"):
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = name


def _node_spec(spec: Object) -> None:
    """The first range and the list of all are kept in step; the first one wins."""
    first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
    if first and (not ranges or ranges[0] != first):
        spec["podCIDRs"] = [first]
    elif ranges and not first and ranges[0]:
        spec["podCIDR"] = ranges[0]


def _node_status(status: Object) -> None:
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = {**status["capacity"]}


def _limit(limit: Object) -> None:
    if limit["type"] == "Container":
        default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        request = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {})}
        if default:
            limit["default"] = default
        if request:
            limit["defaultRequest"] = request


FUNCTIONS: Functions = {
    "core.v1.Service": _service,
    "core.v1.ReplicationController": _replication_controller,
    "core.v1.Secret": _secret,
    "core.v1.PersistentVolume": _volume,
    "core.v1.Namespace": _namespace,
    "core.v1.NodeSpec": _node_spec,
    "core.v1.NodeStatus": _node_status,
    "core.v1.LimitRangeItem": _limit,
}
