"""A few objects to look up, bodies to admit, and the way that a new object goes through admission."""

from collections.abc import Iterable
from typing import Any

from kubedyno.kinds import admission, strategies
from kubedyno.kit.randomness import stream
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource, for_object


class Cluster:
    """Objects to look up; what was asked for is counted."""

    def __init__(self, *objects: Object) -> None:
        self.objects = {(for_object(obj), *meta.key(obj)): obj for obj in objects}
        self.looked_up = 0

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        self.looked_up += 1
        return self.objects.get((resource, namespace, name))

    def list(self, resource: Resource, namespace: str) -> Iterable[Object]:
        self.looked_up += 1
        return [
            obj
            for (kind, where, _), obj in self.objects.items()
            if kind == resource and (not namespace or where == namespace)
        ]


def thing(kind: str, name: str, namespace: str = "", *, api_version: str = "v1", **fields: Any) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def scheduling(kind: str, name: str, **fields: Any) -> Object:
    return thing(kind, name, api_version="scheduling.k8s.io/v1", **fields)


BASE = [
    thing("Namespace", "team", status={"phase": "Active"}),
    thing("Namespace", "gone", status={"phase": "Terminating"}),
    thing("ServiceAccount", "default", "team"),
]
HEAVY = thing(
    "RuntimeClass", "heavy", api_version="node.k8s.io/v1", handler="h",
    overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}},
    scheduling={"nodeSelector": {"runtime": "heavy"}, "tolerations": [{"key": "heavy", "operator": "Exists"}]},
)  # fmt: skip
STRICT = thing(
    "ServiceAccount", "strict", "team", secrets=[{"name": "known"}],
    metadata={"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
)  # fmt: skip


def pod(*, namespace: str = "team", metadata: Object | None = None, **spec: Any) -> Object:
    spec.setdefault("containers", [{"name": "c", "image": "i:1", "resources": {}}])
    return thing("Pod", "p", namespace, metadata=metadata or {}, spec=spec)


def sized(requests: Object, limits: Object | None = None, **spec: Any) -> Object:
    resources = {"requests": requests, "limits": limits or {}}
    return pod(containers=[{"name": "c", "image": "i:1", "resources": resources}], **spec)


def admitted(obj: Object, *more: Object) -> Object:
    resource = for_object(obj)
    cluster = Cluster(*BASE, *more)
    admission.admit_create(
        obj, resource, cluster, stream(7, "admission"), namespace=obj["metadata"].get("namespace", "")
    )
    obj["metadata"].setdefault("uid", "u")
    strategies.prepare_create(obj, resource, now="2026-01-01T00:00:00Z")
    admission.validate_create(obj, resource, cluster)
    return obj


def charged(obj: Object, *quotas: Object) -> list[Object]:
    return admission.validate_create(obj, for_object(obj), Cluster(*BASE, HEAVY, *quotas))


def quota(hard: Object, used: Object | None = None, **spec: Any) -> Object:
    known = dict.fromkeys(hard, "0") if used is None else used
    return thing("ResourceQuota", "q", "team", spec={"hard": hard, **spec}, status={"hard": hard, "used": known})


def claim_spec(storage: str, **more: Any) -> Object:
    return {"resources": {"requests": {"storage": storage}}, **more}


def storage_class(name: str, created: str, *, default: bool) -> Object:
    marks = {"storageclass.kubernetes.io/is-default-class": str(default).lower()}
    metadata = {"creationTimestamp": created, "annotations": marks}
    return thing("StorageClass", name, api_version="storage.k8s.io/v1", metadata=metadata, allowVolumeExpansion=default)
