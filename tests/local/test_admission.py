"""What the real API server makes of new objects between their defaults and the store, and ours beside it."""

import contextlib
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

import msgspec
import pytest

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kinds import admission, defaults, strategies
from kubedyno.kinds.admission import eviction
from kubedyno.kinds.strategies import binding
from kubedyno.kinds.strategies.refusal import Refused
from kubedyno.kit.randomness import stream
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.resources import (
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
    STORAGE_CLASSES,
    WORKLOADS,
    Resource,
    by_kind,
    for_object,
)
from kubedyno.kube.status import Status
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

GROUPS = "scheduling.k8s.io/v1alpha2"
LIMIT_RANGES = by_kind("v1", "LimitRange")
RUNTIME_CLASSES = by_kind("node.k8s.io/v1", "RuntimeClass")
INGRESS_CLASSES = by_kind("networking.k8s.io/v1", "IngressClass")
LOOKED_UP = (
    NAMESPACES, NODES, SERVICE_ACCOUNTS, PRIORITY_CLASSES, STORAGE_CLASSES, RESOURCE_QUOTAS, LIMIT_RANGES,
    RUNTIME_CLASSES, INGRESS_CLASSES, WORKLOADS,
)  # fmt: skip
NOT_OURS = ("managedFields", "uid", "resourceVersion", "creationTimestamp")


def cluster_wide(api_version: str, kind: str, name: str, **fields: Any) -> Object:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def namespaced(namespace: str, api_version: str, kind: str, name: str, **fields: Any) -> Object:
    return cluster_wide(
        api_version, kind, name, metadata={"namespace": namespace, **fields.pop("metadata", {})}, **fields
    )


SETTING = [
    *(cluster_wide("v1", "Namespace", f"adm-{name}") for name in ("plain", "limits", "bounds", "quota", "scopes",
        "gone")),
    cluster_wide("scheduling.k8s.io/v1", "PriorityClass", "adm-high", value=1000),
    cluster_wide("scheduling.k8s.io/v1", "PriorityClass", "adm-polite", value=-5, preemptionPolicy="Never"),
    cluster_wide("node.k8s.io/v1", "RuntimeClass", "adm-bare", handler="h"),
    cluster_wide(
        "node.k8s.io/v1", "RuntimeClass", "adm-heavy", handler="h",
        overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}},
        scheduling={
            "nodeSelector": {"runtime": "heavy"},
            "tolerations": [{"key": "heavy", "operator": "Exists"}, {"key": "a", "operator": "Equal", "value": "b"}],
        },
    ),
    cluster_wide(
        "storage.k8s.io/v1", "StorageClass", "adm-standard", provisioner="a.example.com",
        metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    ),
    cluster_wide(
        "networking.k8s.io/v1", "IngressClass", "adm-front", spec={"controller": "a.example.com/c"},
        metadata={"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
    ),
    cluster_wide(
        "v1", "Node", "adm-node",
        metadata={"labels": {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1", "other": "o"}},
    ),
    namespaced(
        "adm-plain", "v1", "ServiceAccount", "puller",
        imagePullSecrets=[{"name": "one"}, {"name": "two"}], automountServiceAccountToken=False,
    ),
    namespaced(
        "adm-plain", "v1", "ServiceAccount", "strict", secrets=[{"name": "known"}],
        metadata={"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
    ),
    namespaced("adm-limits", "v1", "LimitRange", "defaults", spec={"limits": [
        {
            "type": "Container", "default": {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "2Gi"},
            "defaultRequest": {"cpu": "100m", "memory": "128Mi"},
        },
    ]}),
    namespaced("adm-bounds", "v1", "LimitRange", "bounds", spec={"limits": [
        {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"},
         "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}},
        {"type": "Pod", "max": {"memory": "1Gi"}},
        {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}},
    ]}),
    namespaced("adm-quota", "v1", "ResourceQuota", "all", spec={"hard": {
        "pods": "5", "requests.cpu": "2", "limits.memory": "4Gi", "requests.nvidia.com/gpu": "4",
            "count/jobs.batch": "0",
        "configmaps": "1", "services.nodeports": "1", "services": "3", "requests.storage": "5Gi",
        "adm-standard.storageclass.storage.k8s.io/persistentvolumeclaims": "0", "count/secrets": "0",
        "big.deviceclass.resource.k8s.io/devices": "3", "requests.ephemeral-storage": "1Gi", "hugepages-2Mi": "8Mi",
    }}),
    namespaced("adm-scopes", "v1", "ResourceQuota", "best-effort", spec={"hard": {"pods": "0"},
        "scopes": ["BestEffort"]}),
    namespaced("adm-scopes", "v1", "ResourceQuota", "ending", spec={"hard": {"pods": "0"}, "scopes": ["Terminating"]}),
    namespaced("adm-scopes", "v1", "ResourceQuota", "high", spec={
        "hard": {"requests.cpu": "1"},
        "scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["adm-high"]},
        ]},
    }),
    namespaced("adm-scopes", "v1", "ResourceQuota", "affine", spec={
        "hard": {"pods": "0"},
        "scopeSelector": {"matchExpressions": [{"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]},
    }),
    namespaced(
        "adm-plain", GROUPS, "Workload", "w",
        spec={"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}]},
    ),
    namespaced("adm-gone", "v1", "ConfigMap", "keeper", metadata={"finalizers": ["adm.example.com/stay"]}),
]  # fmt: skip


def pod(*, namespace: str = "adm-plain", metadata: Object | None = None, **spec: Any) -> Object:
    spec.setdefault("containers", [{"name": "c", "image": "i:1"}])
    return namespaced(namespace, "v1", "Pod", "p", metadata=metadata or {}, spec=spec)


def sized(namespace: str, *, requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return pod(namespace=namespace, containers=[{"name": "c", "image": "i:1", "resources": resources}], **spec)


def limited(*, requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    return sized("adm-bounds", requests=requests, limits={"memory": "1Gi", **(limits or {})}, **spec)


def charged(requests: Object, limits: Object | None = None, **spec: Any) -> Object:
    return sized("adm-quota", requests=requests, limits={"memory": "1Gi", **(limits or {})}, **spec)


def of_quota(api_version: str, kind: str, **fields: Any) -> Object:
    return namespaced("adm-quota", api_version, kind, "x", **fields)


def claim(namespace: str, storage: str, **spec: Any) -> Object:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return namespaced(namespace, "v1", "PersistentVolumeClaim", "c", spec=wanted)


def device_claim(*requests: Object) -> Object:
    return of_quota("resource.k8s.io/v1", "ResourceClaim", spec={"devices": {"requests": list(requests)}})


def group(**spec: Any) -> Object:
    return namespaced("adm-plain", GROUPS, "PodGroup", "g", spec={"schedulingPolicy": {"basic": {}}, **spec})


def from_template(workload: str, template: str) -> Object:
    return group(podGroupTemplateRef={"workload": {"workloadName": workload, "podGroupTemplateName": template}})


MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "y"}}
TWO = [{"name": "c", "image": "i:1"}, {"name": "d", "image": "i:1"}]
ONCE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}
MOUNT = {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "mine"}
AFFINE = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

CASES = [
    pod(),
    pod(namespace="adm-nowhere"),
    pod(namespace="adm-gone"),
    namespaced("adm-gone", "v1", "ConfigMap", "more"),
    namespaced("adm-nowhere", "batch/v1", "Job", "j", spec={"template": ONCE}),
    namespaced("adm-nowhere", "v1", "ConfigMap", "", metadata={"generateName": "c-"}),
    pod(serviceAccountName="none"),
    {**pod(serviceAccountName="none"), "metadata": {"namespace": "adm-plain", "generateName": "p-"}},
    {**pod(priorityClassName="none"), "metadata": {"namespace": "adm-plain", "generateName": "p-"}},
    pod(serviceAccountName="puller"),
    pod(serviceAccountName="puller", imagePullSecrets=[{"name": "mine"}], automountServiceAccountToken=True),
    pod(automountServiceAccountToken=False),
    pod(serviceAccount="puller"),
    pod(containers=TWO, initContainers=[{"name": "e", "image": "i:1"}], volumes=[{"name": "v", "emptyDir": {}}]),
    pod(
        containers=[{"name": "c", "image": "i:1", "volumeMounts": [MOUNT]}], volumes=[{"name": "mine", "emptyDir": {}}]
    ),
    pod(
        containers=[{**TWO[0], "volumeMounts": [MOUNT]}, TWO[1]], volumes=[{"name": "mine", "emptyDir": {}}]
    ),
    pod(volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}]),
    pod(serviceAccountName="strict"),
    pod(serviceAccountName="strict", volumes=[{"name": "v", "secret": {"secretName": "known"}}]),
    pod(serviceAccountName="strict", volumes=[{"name": "v", "secret": {"secretName": "other"}}]),
    pod(serviceAccountName="strict", imagePullSecrets=[{"name": "other"}]),
    pod(
        serviceAccountName="strict",
        containers=[{**TWO[0], "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}]}],
    ),
    pod(
        serviceAccountName="strict",
        initContainers=[{"name": "e", "image": "i:1", "envFrom": [{"secretRef": {"name": "other"}}]}],
    ),
    pod(metadata=MIRROR, nodeName="adm-node", serviceAccountName="default"),
    pod(metadata=MIRROR, nodeName="adm-node", volumes=[{"name": "v", "secret": {"secretName": "s"}}]),
    pod(
        metadata=MIRROR, nodeName="adm-node",
        volumes=[{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
    ),
    pod(tolerations=[{"operator": "Exists"}]),
    pod(tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]),
    pod(tolerations=[{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoSchedule"}]),
    pod(tolerations=[{"key": "a", "value": "b"}, {"operator": "Exists", "effect": "NoExecute"}]),
    pod(priorityClassName="adm-high"),
    pod(priorityClassName="adm-polite"),
    pod(priorityClassName="system-node-critical"),
    pod(priorityClassName="none"),
    pod(priority=0),
    pod(priority=7),
    pod(priorityClassName="adm-high", priority=5),
    pod(priorityClassName="adm-polite", preemptionPolicy="PreemptLowerPriority"),
    pod(preemptionPolicy="Never"),
    pod(runtimeClassName="adm-bare"),
    pod(runtimeClassName="adm-heavy"),
    pod(runtimeClassName="adm-heavy", nodeSelector={"a": "b"}, tolerations=[{"key": "heavy", "value": "x"}]),
    pod(runtimeClassName="adm-heavy", nodeSelector={"runtime": "light"}),
    pod(runtimeClassName="adm-heavy", overhead={"cpu": "0.25", "memory": "65536Ki"}),
    pod(runtimeClassName="adm-heavy", overhead={"cpu": "1"}),
    pod(runtimeClassName="adm-bare", overhead={"cpu": "1"}),
    pod(overhead={"cpu": "1"}),
    pod(runtimeClassName="none"),
    pod(nodeName="adm-node"),
    pod(nodeName="none"),
    pod(schedulingGates=[{"name": "a.example.com/g"}]),
    pod(resources={"requests": {"cpu": "1"}}),
    pod(resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}),
    pod(
        metadata={"labels": {"hash": "1", "team": "t"}},
        topologySpreadConstraints=[{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["hash",
                "none"],
            "labelSelector": {"matchLabels": {"a": "b"}},
        }],
        affinity={
            "podAffinity": {REQUIRED: [{**AFFINE, "matchLabelKeys": ["hash"], "mismatchLabelKeys": ["team"]}]},
            "podAntiAffinity": {
                PREFERRED: [{"weight": 5, "podAffinityTerm": {**AFFINE, "mismatchLabelKeys": ["team"]}}]
            },
        },
    ),
    sized("adm-plain", requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "1", "memory": "1Gi"}),
    sized("adm-plain", limits={"cpu": "1", "memory": "1Gi"}),
    sized("adm-plain", limits={"cpu": "1"}),
    sized("adm-plain", requests={"nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": "1"}),
    sized("adm-plain", requests={"cpu": "0"}, limits={"cpu": "0", "memory": "0"}),
    pod(namespace="adm-limits"),
    pod(namespace="adm-limits", containers=TWO, initContainers=[{"name": "e", "image": "i:1"}]),
    sized("adm-limits", requests={"cpu": "300m"}),
    sized("adm-limits", limits={"cpu": "300m", "memory": "2Gi"}),
    sized("adm-limits", requests={"cpu": "1", "memory": "1Mi"}, limits={"cpu": "2", "memory": "3Mi"}, metadata={
        "annotations": {"a": "b"},
    }),
    limited(),
    limited(requests={"cpu": "50m"}),
    limited(requests={"cpu": "1"}, limits={"cpu": "3"}),
    limited(requests={"cpu": "100m"}, limits={"cpu": "500m"}),
    limited(requests={"cpu": "100m"}, limits={"cpu": "333m"}),
    limited(limits={"memory": "2Gi"}),
    pod(namespace="adm-bounds"),
    limited(initContainers=[{"name": "e", "image": "i:1", "resources": {"limits": {"memory": "5Gi"}}}]),
    limited(limits={"memory": "256Mi"}, resources={"limits": {"memory": "1536Mi"}}),
    claim("adm-bounds", "1Gi"),
    claim("adm-bounds", "512Mi"),
    claim("adm-bounds", "11Gi"),
    claim("adm-plain", "11Gi"),
    claim("adm-plain", "1Gi", storageClassName=""),
    claim("adm-plain", "1Gi", storageClassName="other", dataSource={"kind": "PersistentVolumeClaim", "name": "c2"}),
    claim("adm-plain", "1Gi", dataSource={"apiGroup": "a.example.com", "kind": "Thing", "name": "t"}),
    claim("adm-plain", "1Gi", dataSourceRef={"apiGroup": "a.example.com", "kind": "Thing", "name": "t"}),
    pod(namespace="adm-quota"),
    pod(namespace="adm-quota", containers=TWO),
    charged({"cpu": "1"}),
    charged({"cpu": "3"}),
    charged({"cpu": "2001m"}),
    charged({"cpu": "1"}, {"memory": "5Gi"}),
    charged({"cpu": "3"}, {"memory": "5Gi"}),
    charged({"cpu": "1", "nvidia.com/gpu": "8"}, {"nvidia.com/gpu": "8"}),
    charged({"cpu": "1", "nvidia.com/gpu": "4"}, {"nvidia.com/gpu": "4"}),
    charged({"cpu": "1", "ephemeral-storage": "2Gi"}),
    charged({"cpu": "1", "hugepages-2Mi": "16Mi"}, {"hugepages-2Mi": "16Mi"}),
    charged({"cpu": "1500m"}, {}, runtimeClassName="adm-heavy"),
    charged({"cpu": "1900m"}, {}, runtimeClassName="adm-heavy"),
    charged({"cpu": "1"}, initContainers=[
        {"name": "e", "image": "i:1", "resources": {"requests": {"cpu": "2500m"}, "limits": {"memory": "1Gi"}}},
    ]),
    charged({"cpu": "1"}, initContainers=[
        {"name": "s", "image": "i:1", "restartPolicy": "Always",
         "resources": {"requests": {"cpu": "900m"}, "limits": {"memory": "1Gi"}}},
        {"name": "e", "image": "i:1", "resources": {"requests": {"cpu": "1200m"}, "limits": {"memory": "1Gi"}}},
    ]),
    pod(namespace="adm-quota", resources={"requests": {"cpu": "4"}, "limits": {"memory": "1Gi"}}),
    of_quota("batch/v1", "Job", spec={"template": ONCE}),
    of_quota("v1", "ConfigMap"),
    of_quota("v1", "Secret"),
    of_quota("v1", "Service", spec={"type": "NodePort", "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}),
    of_quota("coordination.k8s.io/v1", "Lease"),
    claim("adm-quota", "6Gi", storageClassName="other"),
    claim("adm-quota", "1Gi"),
    device_claim({"name": "a", "exactly": {"deviceClassName": "big", "count": 4}}),
    device_claim({"name": "a", "exactly": {"deviceClassName": "big", "allocationMode": "All"}}),
    device_claim({"name": "a", "exactly": {"deviceClassName": "big", "count": 3}}),
    device_claim(
        {"name": "a", "firstAvailable": [
            {"name": "x", "deviceClassName": "big", "count": 2}, {"name": "y", "deviceClassName": "big", "count": 4},
        ]},
    ),
    pod(namespace="adm-scopes"),
    sized("adm-scopes", requests={"cpu": "5"}),
    sized("adm-scopes", requests={"cpu": "5"}, activeDeadlineSeconds=5),
    sized("adm-scopes", requests={"cpu": "5"}, priorityClassName="adm-high"),
    sized("adm-scopes", requests={"cpu": "1"}, priorityClassName="adm-high"),
    sized("adm-scopes", requests={"cpu": "5"}, priorityClassName="adm-polite"),
    sized("adm-scopes", requests={"memory": "5"}, priorityClassName="adm-high"),
    sized("adm-scopes", requests={"cpu": "1"}, affinity={"podAffinity": {REQUIRED: [{**AFFINE, "namespaces": ["x"]}]}}),
    group(),
    group(priorityClassName="adm-high"),
    group(priorityClassName="none"),
    group(priority=5),
    from_template("w", "t"),
    from_template("w", "u"),
    from_template("v", "t"),
    group(resourceClaims=[{"name": "a", "resourceClaimName": "b"}]),
    namespaced(
        "adm-plain", "coordination.k8s.io/v1", "Lease", "l",
        spec={"holderIdentity": "a", "strategy": "OldestEmulationVersion", "preferredHolder": "b"},
    ),
    cluster_wide("storage.k8s.io/v1", "CSIDriver", "adm-new", spec={"preventPodSchedulingIfMissing": True}),
    cluster_wide("resource.k8s.io/v1", "ResourceSlice", "adm-new", spec={
        "driver": "d.example.com", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{
            "name": "d", "attributes": {"a": {"int": 1}},
            "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "1"}},
        }],
    }),
    cluster_wide("v1", "Node", "adm-new"),
    cluster_wide("v1", "Node", "adm-new", spec={"taints": [{"key": "node.kubernetes.io/not-ready",
        "effect": "NoSchedule"}]}),
    cluster_wide("v1", "Node", "adm-new", spec={"taints": [{"key": "node.kubernetes.io/not-ready",
        "effect": "NoExecute"}]}),
    cluster_wide("scheduling.k8s.io/v1", "PriorityClass", "adm-new", value=1, globalDefault=True),
    cluster_wide(
        "v1", "PersistentVolume", "adm-new",
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}},
    ),
    cluster_wide(
        "storage.k8s.io/v1", "VolumeAttributesClass", "adm-new", driverName="a.example.com", parameters={"a": "b"}
    ),
    namespaced(
        "adm-plain", "networking.k8s.io/v1", "Ingress", "i",
        spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    ),
]  # fmt: skip


class Snapshot:
    """The objects that admission looks up, as the real server had them."""

    def __init__(self, objects: dict[tuple[Resource, str, str], Object]) -> None:
        self.objects = objects

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self.objects.get((resource, namespace, name))

    def list(self, resource: Resource, namespace: str) -> Iterable[Object]:
        return [
            obj
            for (kind, where, _), obj in self.objects.items()
            if kind == resource and (not namespace or where == namespace)
        ]


async def snapshot(client: Client) -> Snapshot:
    objects = {}
    for resource in LOOKED_UP:
        for obj in (await client.list_all(resource)).items:
            objects[resource, *meta.key(obj)] = obj
    return Snapshot(objects)


async def prepared(client: Client) -> Snapshot:
    """Create what the cases need, and wait for the controllers that complete it."""
    for obj in SETTING:
        await client.create(for_object(obj), obj)
    await client.delete(NAMESPACES, "adm-gone")
    while True:
        seen = await snapshot(client)
        used = [(quota.get("status") or {}).get("used") or {} for quota in seen.list(RESOURCE_QUOTAS, "")]
        # Every namespace gets a config map of its own, with the certificate of the server.
        counted = all(used) and all(amounts.get("configmaps", "1") == "1" for amounts in used)
        spaces = [obj["metadata"]["name"] for obj in SETTING if obj["kind"] == "Namespace"]
        if counted and all(seen.get(SERVICE_ACCOUNTS, name, "default") for name in spaces):
            return seen


async def cleared(client: Client) -> None:
    await client.patch(
        by_kind("v1", "ConfigMap"), "keeper", {"metadata": {"finalizers": None}}, kind="merge", namespace="adm-gone"
    )
    for obj in SETTING:
        if "namespace" not in obj["metadata"] and obj["metadata"]["name"] != "adm-gone":
            await client.delete(for_object(obj), obj["metadata"]["name"])


def comparable(obj: Object | Status) -> Any:
    """Without what differs from one request to the next."""
    if isinstance(obj, Status):
        return msgspec.to_builtins(obj)
    metadata = {name: value for name, value in obj["metadata"].items() if name not in NOT_OURS}
    text = msgspec.json.encode({**obj, "metadata": metadata}).decode()
    return msgspec.json.decode(re.sub(r'"kube-api-access-[a-z0-9]{5}"', '"kube-api-access"', text))


async def theirs(client: Client, body: Object) -> Object | Status:
    try:
        return await client.create(for_object(body), body, dry_run=True)
    except ApiError as refused:
        return refused.status


def ours(body: Object, seen: Snapshot, answer: Object | Status) -> Object | Status:
    resource = for_object(body)
    obj = normalized(body, body["apiVersion"], body["kind"])
    defaults.apply(obj, body["apiVersion"], body["kind"])
    now = "2026-01-01T00:00:00Z"
    try:
        namespace = body["metadata"].get("namespace", "")
        admission.admit_create(obj, resource, seen, stream(1, "admission"), namespace=namespace)
        if not isinstance(answer, Status):
            now = answer["metadata"]["creationTimestamp"]
            obj["metadata"] |= {field: answer["metadata"][field] for field in ("name", "uid")}
        obj["metadata"].setdefault("uid", "u")
        strategies.prepare_create(obj, resource, now=now)
        admission.validate_create(obj, resource, seen)
    except Refused as refused:
        return refused.status
    return obj


@pytest.fixture(scope="module")
async def seen(shared_lab: RunningLab) -> AsyncIterator[Snapshot]:
    yield await prepared(shared_lab.client)
    await cleared(shared_lab.client)


@pytest.mark.parametrize("body", CASES, ids=lambda body: f"{body['kind']} {body.get('spec')}"[:120])
async def test_a_new_object_is_completed_or_refused_alike(shared_lab: RunningLab, seen: Snapshot, body: Object) -> None:
    answer = await theirs(shared_lab.client, body)
    assert comparable(ours(body, seen, answer)) == comparable(answer)


def unscheduled(name: str, **spec: Any) -> Object:
    """A pod that no scheduler takes."""
    body = pod(schedulerName="nobody", **spec)
    return {**body, "metadata": {**body["metadata"], "name": name, "labels": {"app": name}}}


def to_node(name: str, **metadata: Any) -> Object:
    """The binding of a pod to a node that is not there, where nobody touches it."""
    target = {"apiVersion": "v1", "kind": "Node", "name": "adm-none"}
    return namespaced("adm-plain", "v1", "Binding", name, metadata=metadata, target=target)


async def posted(client: Client, body: Object, subresource: str) -> Status | None:
    name = body["metadata"]["name"]
    try:
        await client.create(PODS, body, namespace="adm-plain", name=name, subresource=subresource)
    except ApiError as refused:
        return refused.status
    return None


BINDINGS = [
    (unscheduled("b1"), to_node("b1")),
    (unscheduled("b2"), to_node("b2", labels={"app": "other", "new": "l"}, annotations={"a": "b"})),
    (unscheduled("b3", schedulingGates=[{"name": "a.example.com/g"}]), to_node("b3")),
    (unscheduled("b4", nodeName="adm-none"), to_node("b4")),
    (unscheduled("b5"), to_node("b5", uid="other")),
    (unscheduled("b6"), to_node("b6", resourceVersion="1")),
    (unscheduled("b7"), {**to_node("b7"), "target": {"kind": "Node", "name": "adm-node"}}),
    (unscheduled("b8"), {**to_node("b8"), "target": {"kind": "Pod", "name": ""}}),
    (unscheduled("b9"), {**to_node("b9"), "target": {"kind": "Pod", "name": "x"}}),
]


async def bind(client: Client, body: Object, sent: Object, seen: Snapshot) -> tuple[Any, Any]:
    """Our pod or Status, and theirs."""
    name = body["metadata"]["name"]
    before = await client.create(PODS, body)
    refusal = await posted(client, sent, "binding")
    after = await client.get(PODS, name, namespace="adm-plain")
    stamp = (meta.condition(after, "PodScheduled") or {}).get("lastTransitionTime", "")
    await client.delete(PODS, name, namespace="adm-plain", grace_s=0)
    completed = normalized(sent, "v1", "Binding")
    try:
        admission.admit_subresource_create(completed, PODS, "binding", seen, namespace="adm-plain", name=name)
        binding.check_binding(completed, name)
        made: Object | Status = binding.bound(before, completed, stamp)
    except Refused as refused:
        made = refused.status
    if refusal is not None:
        return comparable(made), comparable(refusal)
    return decisive(made), decisive(after)


def decisive(bound_pod: Object | Status) -> Any:
    """What binding is about; a node's agent may already have started the pod."""
    pod_or_status = comparable(bound_pod)
    if isinstance(bound_pod, Status):
        return pod_or_status
    scheduled = meta.condition(bound_pod, "PodScheduled")
    return {**{part: pod_or_status[part] for part in ("metadata", "spec")}, "scheduled": scheduled}


@pytest.mark.parametrize(("body", "sent"), BINDINGS, ids=lambda body: body["metadata"]["name"])
async def test_a_pod_is_bound_or_not_alike(shared_lab: RunningLab, seen: Snapshot, body: Object, sent: Object) -> None:
    made, answer = await bind(shared_lab.client, body, sent, seen)
    assert made == answer


def budget(name: str, *apps: str, **spec: Any) -> Object:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": list(apps)}]}
    return namespaced("adm-plain", "policy/v1", "PodDisruptionBudget", name, spec={"selector": selector, **spec})


READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
EVICTIONS: dict[str, tuple[list[Object], list[Object]]] = {
    "without a budget": ([READY], []),
    "pending": ([{}], [budget("d", "e0", minAvailable=1)]),
    "ended": ([{"phase": "Succeeded"}], [budget("d", "e0", minAvailable=1)]),
    "allowed": ([READY, READY, READY], [budget("d", "e0", "e1", "e2", minAvailable=1)]),
    "the last one allowed": ([READY, READY], [budget("d", "e0", "e1", minAvailable=1)]),
    "none left": ([READY, READY], [budget("d", "e0", "e1", minAvailable=2)]),
    "none at all": ([READY], [budget("d", "e0", maxUnavailable=0)]),
    "unready within the budget": ([UNREADY, READY], [budget("d", "e0", "e1", minAvailable=1)]),
    "unready beyond the budget": ([UNREADY, UNREADY], [budget("d", "e0", "e1", minAvailable=1)]),
    "unready and always": ([UNREADY], [budget("d", "e0", minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow")]),
    "two budgets": ([READY], [budget("d", "e0", minAvailable=1), budget("f", "e0", minAvailable=1)]),
    "the budget of another": ([READY], [budget("d", "x", minAvailable=1)]),
}


async def evict(client: Client, states: list[Object], budgets: list[Object]) -> tuple[Any, Any]:
    """The conditions of the first pod after our decision, or our Status; and theirs."""
    names = [f"e{index}" for index in range(len(states))]
    try:
        for name, state in zip(names, states, strict=True):
            body = unscheduled(name, nodeName="adm-none")
            body["metadata"]["finalizers"] = ["adm.example.com/stay"]
            await client.create(PODS, body)
            await client.patch(PODS, name, {"status": state}, kind="merge", namespace="adm-plain", subresource="status")
        for each in budgets:
            await client.create(POD_DISRUPTION_BUDGETS, each)
        known = await settled(client, states)
        before = await client.get(PODS, "e0", namespace="adm-plain")
        body = namespaced("adm-plain", "policy/v1", "Eviction", "e0")
        refusal = await posted(client, body, "eviction")
        after = await client.get(PODS, "e0", namespace="adm-plain")
    finally:
        for each in budgets:
            await client.delete(POD_DISRUPTION_BUDGETS, each["metadata"]["name"], namespace="adm-plain")
        for name in names:
            await client.patch(PODS, name, {"metadata": {"finalizers": None}}, kind="merge", namespace="adm-plain")
            with contextlib.suppress(ApiError):
                await client.delete(PODS, name, namespace="adm-plain", grace_s=0)
    stamp = (meta.condition(after, "DisruptionTarget") or {}).get("lastTransitionTime", "")
    try:
        decided = eviction.decide_eviction(before, known, now=stamp)
    except Refused as refused:
        return comparable(refused.status), refusal and comparable(refusal)
    return decided.pod["status"]["conditions"], after["status"]["conditions"]


async def settled(client: Client, states: list[Object]) -> list[Object]:
    """The budgets, once their controller has counted the pods."""
    while True:
        found = (await client.list_all(POD_DISRUPTION_BUDGETS, namespace="adm-plain")).items
        if all(is_counted(each, states) for each in found):
            return found


def is_counted(found: Object, states: list[Object]) -> bool:
    apps = found["spec"]["selector"]["matchExpressions"][0]["values"]
    healthy = sum(state is READY and f"e{index}" in apps for index, state in enumerate(states))
    status = found.get("status", {})
    # Without a controller of the pods, a budget in `maxUnavailable` cannot be counted at all.
    failed = (meta.condition(found, "DisruptionAllowed") or {}).get("reason") == "SyncFailed"
    return bool(status.get("observedGeneration") and (failed or status.get("currentHealthy") == healthy))


@pytest.mark.parametrize("case", EVICTIONS)
async def test_a_pod_is_evicted_or_not_alike(shared_lab: RunningLab, seen: Snapshot, case: str) -> None:
    made, answer = await evict(shared_lab.client, *EVICTIONS[case])
    assert made == answer
