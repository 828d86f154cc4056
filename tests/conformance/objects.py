"""The smallest objects of each kind, and how to change them; keyword arguments are fields of the spec."""

import copy
from typing import Any

from kubedyno.kube.codec import Object

CLAIM_REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}


def of(api_version: str, kind: str, name: str, **fields: Any) -> Object:
    """Any object; `labels` and the like come by `with_meta`."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def with_meta(obj: Object, **metadata: Any) -> Object:
    """A copy with more metadata."""
    changed = copy.deepcopy(obj)
    changed["metadata"].update(metadata)
    return changed


def edited(obj: Object, path: str, value: Any) -> Object:
    """A copy with `value` at a path such as `spec/containers/0/image`; None removes what is there."""
    changed = copy.deepcopy(obj)
    *parents, last = path.split("/")
    at: Any = changed
    for step in parents:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    if isinstance(at, list):
        at[int(last)] = value
    elif value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return changed


def container(name: str = "main", **fields: Any) -> Object:
    return {"name": name, "image": "registry.example/app:1", **fields}


def pod(name: str = "pod", **spec: Any) -> Object:
    """A pod that no scheduler looks at, and without a token volume unless it is asked for."""
    return of(
        "v1",
        "Pod",
        name,
        spec={
            "schedulerName": "nobody",
            "automountServiceAccountToken": False,
            "containers": [container()],
            **spec,
        },
    )


def with_resources(requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    """A pod whose one container asks for something."""
    resources = {"requests": requests or {}, "limits": limits or {}}
    return pod(containers=[container(resources=resources)], **spec)


def template(**spec: Any) -> Object:
    return {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"schedulerName": "nobody", "containers": [container()], **spec},
    }


def namespace(name: str) -> Object:
    return of("v1", "Namespace", name)


def service_account(name: str) -> Object:
    return of("v1", "ServiceAccount", name)


def config_map(name: str = "map", **data: str) -> Object:
    return of("v1", "ConfigMap", name, data=data)


def secret(name: str = "secret", **data: str) -> Object:
    return of("v1", "Secret", name, stringData=data)


def service(name: str = "service", **spec: Any) -> Object:
    return of("v1", "Service", name, spec={"selector": {"app": "a"}, "ports": [{"port": 80}], **spec})


def node(name: str, **spec: Any) -> Object:
    return of("v1", "Node", name, spec=spec)


def job(name: str = "job", **spec: Any) -> Object:
    """A job that the real job controller leaves alone: somebody else says that they manage it."""
    return of(
        "batch/v1",
        "Job",
        name,
        spec={
            "managedBy": "example.com/nobody",
            "template": {"spec": {"restartPolicy": "Never", "containers": [container()]}},
            **spec,
        },
    )


def deployment(name: str = "deployment", **spec: Any) -> Object:
    return of(
        "apps/v1",
        "Deployment",
        name,
        spec={"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template(), **spec},
    )


def replica_set(name: str = "set", **spec: Any) -> Object:
    return {**deployment(name, **spec), "kind": "ReplicaSet"}


def stateful_set(name: str = "set", **spec: Any) -> Object:
    return {**deployment(name, serviceName="none", **spec), "kind": "StatefulSet"}


def daemon_set(name: str = "set", **spec: Any) -> Object:
    made = {**deployment(name, **spec), "kind": "DaemonSet"}
    del made["spec"]["replicas"]
    return made


def lease(name: str = "lease", **spec: Any) -> Object:
    return of("coordination.k8s.io/v1", "Lease", name, spec=spec)


def priority_class(name: str, value: int, **fields: Any) -> Object:
    return of("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **fields)


def budget(name: str = "budget", **spec: Any) -> Object:
    return of("policy/v1", "PodDisruptionBudget", name, spec={"selector": {"matchLabels": {"app": "a"}}, **spec})


def quota(name: str = "quota", **hard: Any) -> Object:
    return of("v1", "ResourceQuota", name, spec={"hard": hard})


def limit_range(name: str = "limits", *limits: Any) -> Object:
    return of("v1", "LimitRange", name, spec={"limits": list(limits)})


def volume_claim(name: str = "volume", **spec: Any) -> Object:
    return of(
        "v1",
        "PersistentVolumeClaim",
        name,
        spec={
            "storageClassName": "nobody",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
    )


def claim(name: str = "claim", api_version: str = "resource.k8s.io/v1", **devices: Any) -> Object:
    return of(api_version, "ResourceClaim", name, spec={"devices": {"requests": [CLAIM_REQUEST], **devices}})


def resource_slice(name: str, *devices: Any, api_version: str = "resource.k8s.io/v1", **spec: Any) -> Object:
    return of(
        api_version,
        "ResourceSlice",
        name,
        spec={
            "driver": "gpu.example.com",
            "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": list(devices),
            **spec,
        },
    )


def core_event(name: str, namespace: str, **fields: Any) -> Object:
    return of(
        "v1",
        "Event",
        name,
        involvedObject={"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "pod"},
        reason="Tested",
        message="it was tested",
        type="Normal",
        **fields,
    )
