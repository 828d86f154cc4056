"""What the real API server prints of objects in many states, and our cells beside it.

Nearly all states are dry runs: the server answers a create or a patch of a status with the table of what would be.
"""

import contextlib
import itertools
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from kubedyno.client.rest import Client
from kubedyno.kinds.tables.custom import custom_printer, scale_printer
from kubedyno.kinds.tables.printing import Printer
from kubedyno.kinds.tables.table import SCALES, IncludeObject, printer_of, table
from kubedyno.kit.clock import RealClock
from kubedyno.kit.randomness import stream
from kubedyno.kube import resources, schema
from kubedyno.kube.resources import PODS, Resource, for_object
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"
SPACE = "tables-test"

Json = dict[str, Any]


async def asked(client: Client, method: str, path: str, body: Json | None = None, **query: str) -> Json:
    """The answer to a request for a table."""
    answer = await client.request_raw(
        method,
        path,
        query={"includeObject": "Object", **query},
        body=None if body is None else msgspec.json.encode(body),
        content_type=MERGE if method == "PATCH" else "application/json",
        accept=TABLE,
    )
    found: Json = msgspec.json.decode(answer.body)
    assert found["kind"] == "Table", found.get("message")
    return found


def without_descriptions(answer: Json) -> Json:
    """Our columns of built-in kinds have no descriptions."""
    columns = answer["columnDefinitions"] and [{**column, "description": ""} for column in answer["columnDefinitions"]]
    return {**answer, "columnDefinitions": columns}


def same(real: Json, printer: Printer, include: IncludeObject = "Object", *, objects: list[Json] | None = None) -> None:
    """Whether our table of the objects in the rows is the server's; a second may pass meanwhile."""
    # Of kinds without a printer of their own the server says null for no rows.
    real = {**real, "rows": real["rows"] or []}
    chosen = [row["object"] for row in real["rows"]] if objects is None else objects
    now_ns = RealClock().wall_ns()
    tries = [
        table(printer, chosen, now_ns=now_ns - ago * 10**9, include_object=include, metadata=real["metadata"])
        for ago in (0, 1, 2)
    ]
    expected = without_descriptions(real)
    ours = next((ours for ours in map(without_descriptions, tries) if ours == expected), without_descriptions(tries[0]))
    assert ours == expected


def pod(**spec: Any) -> Json:
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": SPACE},
        "spec": {"schedulerName": "nobody", "containers": containers, **spec},
    }


@pytest.fixture(scope="module")
async def space(shared_lab: RunningLab) -> AsyncIterator[Client]:
    """A client, and a namespace for the few objects that must exist."""
    client = shared_lab.client
    # Compared with itself, our own server would always be right.
    told = msgspec.json.decode((await client.request_raw("GET", "/version")).body)
    assert told["gitVersion"] == schema.kubernetes_version()
    await client.create(resources.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    with contextlib.suppress(Exception):
        # The controller that makes it may be first; without it no pod is admitted.
        await client.create(resources.SERVICE_ACCOUNTS, account, namespace=SPACE)
    # Pod groups may be of a workload that is there, only.
    await client.create(resources.WORKLOADS, workload("w"), namespace=SPACE)
    yield client
    await client.delete(resources.NAMESPACES, SPACE)


TIMES = ("2026-01-02T03:04:05Z", "2026-03-01T00:00:00Z", "2020-01-01T10:00:00Z")


def container_state(rng: random.Random) -> Json:
    reason = rng.choice(("", "Error", "Completed", "OOMKilled"))
    ended: Json = {"exitCode": rng.choice((0, 0, 1, 137)), "signal": rng.choice((0, 0, 9))}
    waits = ("CrashLoopBackOff", "ImagePullBackOff", "PodInitializing", "")
    return rng.choice(
        (
            {"running": {"startedAt": TIMES[0]}},
            {"running": {"startedAt": TIMES[0]}},
            {"terminated": {**ended, "reason": reason, "startedAt": TIMES[0], "finishedAt": TIMES[1]}},
            {"waiting": {"reason": rng.choice(waits)}},
            {},
        )
    )


def container_status(rng: random.Random, name: str) -> Json:
    status = {
        "name": name,
        "image": "i",
        "imageID": "",
        "ready": rng.random() < 0.6,
        "started": rng.random() < 0.6,
        "restartCount": rng.choice((0, 0, 1, 7)),
        "state": container_state(rng),
    }
    if rng.random() < 0.4:
        status["lastState"] = {"terminated": {"exitCode": 1, "startedAt": TIMES[2], "finishedAt": rng.choice(TIMES)}}
    return status


def pod_status(rng: random.Random, init: list[str]) -> Json:
    def some(*types: str) -> list[Json]:
        reasons = ("SchedulingGated", "Other", "")
        return [
            {"type": type_, "status": rng.choice(("True", "False")), "reason": rng.choice(reasons)}
            for type_ in types
            if rng.random() < 0.5
        ]

    return {
        "phase": rng.choice(("Pending", "Running", "Succeeded", "Failed", "Unknown")),
        "reason": rng.choice(("", "", "", "Evicted", "NodeLost")),
        "conditions": some("PodScheduled", "Initialized", "Ready", "example.com/gate"),
        "initContainerStatuses": [container_status(rng, name) for name in init[: rng.randint(0, len(init))]],
        "containerStatuses": [container_status(rng, name) for name in ("a", "b")[: rng.randint(0, 2)]],
        "podIPs": rng.choice(([], [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}])),
    }


@pytest.mark.parametrize("is_deleted", [False, True], ids=["alive", "deleted"])
async def test_pods_in_odd_states(space: Client, is_deleted: bool) -> None:
    rng = stream(7, f"pods {is_deleted}")
    init = [
        {"name": "i1", "image": "x"},
        {"name": "side", "image": "x", "restartPolicy": "Always"},
        {"name": "i2", "image": "x"},
    ]
    body = pod(initContainers=init, readinessGates=[{"conditionType": "example.com/gate"}])
    body["metadata"] |= {"name": f"odd-{is_deleted}".lower(), "finalizers": ["example.com/keep"]}
    # Bound to a node, or deleting would not wait for a kubelet.
    body["spec"]["nodeName"] = "nowhere"
    name = body["metadata"]["name"]
    await space.create(PODS, body)
    try:
        if is_deleted:
            await space.delete(PODS, name, namespace=SPACE, grace_s=300)
        path = PODS.path(namespace=SPACE, name=name, subresource="status")
        for _ in range(80):
            status = pod_status(rng, [entry["name"] for entry in init])
            same(await asked(space, "PATCH", path, {"status": status}, dryRun="All"), printer_of(PODS))
    finally:
        await space.delete(PODS, name, namespace=SPACE, grace_s=0)
        await space.patch(PODS, name, {"metadata": {"finalizers": None}}, kind="merge", namespace=SPACE)


def template(**spec: Any) -> Json:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": pod()["spec"]["containers"], **spec}}


SELECTOR = {
    "matchLabels": {"a": "b"},
    "matchExpressions": [
        {"key": "c", "operator": "NotIn", "values": ["z", "y"]},
        {"key": "B", "operator": "DoesNotExist"},
    ],
}


def thing(api_version: str, kind: str, **fields: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "thing"}, **fields}


def annotated(obj: Json, key: str, value: str) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "annotations": {key: value}}}


def workloads() -> Iterator[Json]:
    for replicas in (None, 0, 3):
        spec: Json = {"selector": SELECTOR, "template": template()}
        if replicas is not None:
            spec["replicas"] = replicas
        yield thing("apps/v1", "Deployment", spec=spec)
        yield thing("apps/v1", "ReplicaSet", spec=spec)
        yield thing("apps/v1", "StatefulSet", spec={**spec, "serviceName": "s"})
        yield thing("v1", "ReplicationController", spec={**spec, "selector": {"a": "b"}})
    yield thing("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": template(nodeSelector={"x": "y"})})
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    revision = thing("apps/v1", "ControllerRevision", revision=4, data={"a": 1})
    yield revision
    yield {**revision, "metadata": {"name": "thing", "ownerReferences": [owner]}}
    for counts in ({}, {"completions": 5, "parallelism": 2}, {"parallelism": 3}, {"parallelism": 1}, {"suspend": True}):
        yield thing("batch/v1", "Job", spec={**counts, "template": template(restartPolicy="Never")})
    for more in ({}, {"suspend": True, "timeZone": "Europe/Prague"}):
        job = {"spec": {"template": template(restartPolicy="Never")}}
        yield thing("batch/v1", "CronJob", spec={"schedule": "*/5 * * * *", "jobTemplate": job, **more})
    for budget in ({"minAvailable": 1}, {"minAvailable": "50%"}, {"maxUnavailable": 0}):
        yield thing("policy/v1", "PodDisruptionBudget", spec={"selector": SELECTOR, **budget})
    yield from autoscalers()
    gang = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    yield thing("scheduling.k8s.io/v1alpha2", "PodGroup", spec=gang)
    yield thing("scheduling.k8s.io/v1alpha2", "PodGroup", spec={"schedulingPolicy": {"basic": {}}})
    reference = {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}}
    yield thing("scheduling.k8s.io/v1alpha2", "PodGroup", spec={**gang, **reference})
    yield workload("thing")


def workload(name: str) -> Json:
    gang = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 2}}}
    made = thing("scheduling.k8s.io/v1alpha2", "Workload", spec={"podGroupTemplates": [gang]})
    return {**made, "metadata": {"name": name}}


def autoscalers() -> Iterator[Json]:
    target = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 4}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1500Mi"}}
    metric = {"metric": {"name": "m"}}
    mean, whole = {"type": "AverageValue", "averageValue": "1500m"}, {"type": "Value", "value": "2k"}
    described = {"describedObject": {"kind": "Service", "name": "s"}}
    metrics: list[Json] = [
        {"type": "Resource", "resource": cpu},
        {"type": "Resource", "resource": memory},
        {"type": "ContainerResource", "containerResource": {**cpu, "container": "c"}},
        {"type": "Pods", "pods": {**metric, "target": mean}},
        {"type": "Object", "object": {**metric, **described, "target": whole}},
        {"type": "Object", "object": {**metric, **described, "target": mean}},
        {"type": "External", "external": {**metric, "target": whole}},
        {"type": "External", "external": {**metric, "target": mean}},
    ]
    for chosen in ([], *([entry] for entry in metrics), metrics[:2], metrics):
        yield thing("autoscaling/v2", "HorizontalPodAutoscaler", spec={**target, "metrics": chosen})
    yield thing("autoscaling/v1", "HorizontalPodAutoscaler", spec={**target, "targetCPUUtilizationPercentage": 60})
    yield thing("autoscaling/v1", "HorizontalPodAutoscaler", spec={**target, "minReplicas": 2})


def settings() -> Iterator[Json]:
    for more in ({}, {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "AAA="}}):
        yield thing("v1", "ConfigMap", **more)
    yield thing("v1", "Secret", stringData={"a": "b"})
    yield thing("v1", "Secret", type="example.com/own")
    yield thing("v1", "ServiceAccount")
    yield thing("v1", "Namespace")
    yield thing("v1", "LimitRange", spec={"limits": []})
    yield thing("v1", "ResourceQuota", spec={"hard": {"cpu": "1", "limits.cpu": "2"}})
    yield thing("v1", "PodTemplate", template=template())
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu"}
    for unschedulable in (False, True):
        node = thing("v1", "Node", spec={"unschedulable": unschedulable})
        yield node
        yield {**node, "metadata": {"name": "thing", "labels": labels}}
    yield thing("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me", "leaseDurationSeconds": 3})
    yield thing("coordination.k8s.io/v1", "Lease")
    yield thing("scheduling.k8s.io/v1", "PriorityClass", value=-5)
    yield thing("scheduling.k8s.io/v1", "PriorityClass", value=5, globalDefault=True, preemptionPolicy="Never")
    yield thing("node.k8s.io/v1", "RuntimeClass", handler="h")
    for version in ("v1", "v1beta2"):
        group = f"resource.k8s.io/{version}"
        yield thing(group, "DeviceClass")
        yield thing(group, "ResourceClaim")
        yield thing(group, "ResourceClaimTemplate", spec={"spec": {}})
        pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
        yield thing(group, "ResourceSlice", spec={"driver": "d.example.com", "pool": pool, "nodeName": "n"})
        yield thing(group, "ResourceSlice", spec={"driver": "d.example.com", "pool": pool, "allNodes": True})
    taint = {"key": "example.com/k", "value": "v", "effect": "NoExecute", "timeAdded": TIMES[0]}
    yield thing("resource.k8s.io/v1beta2", "DeviceTaintRule", spec={"taint": taint})
    yield from events()


def events() -> Iterator[Json]:
    core: Json = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": SPACE}}
    target = {"kind": "Pod", "name": "p", "namespace": SPACE}
    shapes: list[Json] = [
        {},
        {"firstTimestamp": TIMES[2], "lastTimestamp": TIMES[0], "count": 4},
        {"firstTimestamp": TIMES[2]},
        {"lastTimestamp": TIMES[1], "source": {"component": "c"}},
        {"source": {"component": "c", "host": "h"}, "message": " spaces\n", "reason": "R", "type": "Normal"},
        {"reportingComponent": "r.example.com", "reportingInstance": "i-1"},
    ]
    for shape in shapes:
        yield {**core, "involvedObject": target, **shape}
    yield {**core, "involvedObject": {**target, "fieldPath": "spec.containers{a}"}}
    new = {
        **core,
        "apiVersion": "events.k8s.io/v1",
        "regarding": target,
        "eventTime": "2026-02-01T00:00:00.123456Z",
        "reportingController": "r.example.com/c",
        "reportingInstance": "i-2",
        "action": "Doing",
        "reason": "Because",
        "note": "a note",
        "type": "Warning",
    }
    yield new
    yield {**new, "series": {"count": 5, "lastObservedTime": "2026-03-03T00:00:00.000001Z"}}


def volumes() -> Iterator[Json]:
    volume: Json = {"capacity": {"storage": "1.5Gi"}, "hostPath": {"path": "/x"}}
    modes = ["ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany"]
    yield thing("v1", "PersistentVolume", spec={**volume, "accessModes": modes})
    claim = {"claimRef": {"namespace": "n", "name": "c"}, "storageClassName": "s"}
    once = {"accessModes": ["ReadWriteOncePod"], "volumeMode": "Block"}
    yield thing("v1", "PersistentVolume", spec={**volume, **once, **claim})
    wanted: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}}
    for more in ({}, {"storageClassName": ""}, {"storageClassName": "s", "volumeName": "v"}):
        yield thing("v1", "PersistentVolumeClaim", spec={**wanted, **more})
    old_way = thing("v1", "PersistentVolumeClaim", spec=wanted)
    yield annotated(old_way, "volume.beta.kubernetes.io/storage-class", "old")
    plain = thing("storage.k8s.io/v1", "StorageClass", provisioner="p")
    yield plain
    yield {
        **plain,
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }
    yield annotated(plain, "storageclass.kubernetes.io/is-default-class", "true")
    attachment = {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    yield thing("storage.k8s.io/v1", "VolumeAttachment", spec=attachment)
    yield thing("storage.k8s.io/v1", "VolumeAttributesClass", driverName="d.example.com", parameters={"a": "b"})
    yield thing("storage.k8s.io/v1", "CSIDriver", spec={})
    driver = {"attachRequired": False, "tokenRequests": [{"audience": "a"}, {"audience": "b"}]}
    both = {"volumeLifecycleModes": ["Persistent", "Ephemeral"], "requiresRepublish": True}
    yield thing("storage.k8s.io/v1", "CSIDriver", spec={**driver, **both})
    yield thing("storage.k8s.io/v1", "CSINode", spec={"drivers": [{"name": "d", "nodeID": "n"}]})
    yield thing("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="s", nodeTopology={})


def network() -> Iterator[Json]:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}]
    for more in (
        {},
        {"type": "NodePort"},
        {"type": "LoadBalancer"},
        {"type": "LoadBalancer", "externalIPs": ["192.0.2.7"]},
        {"externalIPs": ["192.0.2.7", "192.0.2.8"], "selector": {"b": "c", "a": "d"}},
        {"clusterIP": "None"},
    ):
        yield thing("v1", "Service", spec={"ports": ports, **more})
    yield thing("v1", "Service", spec={"type": "ExternalName", "externalName": "example.com"})
    addresses = [{"ip": f"192.0.2.{index}"} for index in range(1, 4)]
    yield thing("v1", "Endpoints")
    for count, chosen in itertools.product((1, 3), ([], ports)):
        yield thing("v1", "Endpoints", subsets=[{"addresses": addresses[:count], "ports": chosen}])
    yield thing("v1", "Endpoints", subsets=[{"addresses": [{"ip": "2001:db8::1"}], "ports": ports[:1]}])
    for endpoints in ([], [{"addresses": ["192.0.2.1"]}], [{"addresses": [entry["ip"]]} for entry in addresses] * 2):
        for some in ([], [{"port": 80}, {"name": "b", "port": 81}], [{"name": f"p{index}"} for index in range(5)]):
            slices = {"addressType": "IPv4", "endpoints": endpoints, "ports": some}
            yield thing("discovery.k8s.io/v1", "EndpointSlice", **slices)
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    yield thing("networking.k8s.io/v1", "Ingress", spec={"defaultBackend": backend})
    http = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    for hosts in (
        ["a.example.com"],
        ["a.b", "", "c.d", "e.f"],
        ["a.b", "c.d", "e.f"],
        ["a.b", "c.d", "e.f", "", "g.h"],
    ):
        rules = [{"host": host, **http} if host else http for host in hosts]
        spec = {"rules": rules, "ingressClassName": "c", "tls": [{"hosts": ["a.b"]}]}
        yield thing("networking.k8s.io/v1", "Ingress", spec=spec)
    controller = {"controller": "example.com/c"}
    parameters = {"parameters": {"apiGroup": "g.example.com", "kind": "K", "name": "n"}}
    yield thing("networking.k8s.io/v1", "IngressClass", spec=controller)
    default = thing("networking.k8s.io/v1", "IngressClass", spec={**controller, **parameters})
    yield annotated(default, "ingressclass.kubernetes.io/is-default-class", "true")
    yield thing("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}})
    yield thing("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": SELECTOR})
    parent = {"resource": "services", "namespace": "n", "name": "s"}
    address = thing("networking.k8s.io/v1", "IPAddress", spec={"parentRef": parent})
    yield {**address, "metadata": {"name": "192.0.2.9"}}
    elsewhere = {"group": "example.com", "resource": "things", "name": "s"}
    yield {**address, "metadata": {"name": "192.0.2.8"}, "spec": {"parentRef": elsewhere}}
    yield thing("networking.k8s.io/v1", "ServiceCIDR", spec={"cidrs": ["192.0.2.0/24"]})


def policies() -> Iterator[Json]:
    rbac = "rbac.authorization.k8s.io/v1"
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "view"}
    subjects = [
        {"apiGroup": group, "kind": "User", "name": "u1"},
        {"apiGroup": group, "kind": "User", "name": "u2"},
        {"apiGroup": group, "kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
    yield thing(rbac, "Role")
    yield thing(rbac, "ClusterRole")
    for chosen in ([], subjects):
        yield thing(rbac, "RoleBinding", roleRef=role, subjects=chosen)
        yield thing(rbac, "ClusterRoleBinding", roleRef=role, subjects=chosen)
    admission = "admissionregistration.k8s.io/v1"
    hook = {
        "name": "h.example.com",
        "clientConfig": {"url": "https://h.example.com"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        yield thing(admission, kind)
        yield thing(admission, kind, webhooks=[hook, {**hook, "name": "i.example.com"}])
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    checked = {"validations": [{"expression": "true"}], "matchConstraints": {"resourceRules": [rule]}}
    yield thing(admission, "ValidatingAdmissionPolicy", spec=checked)
    parameters = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    yield thing(admission, "ValidatingAdmissionPolicy", spec={**checked, **parameters})
    for reference in (
        {},
        {"paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}},
        {"paramRef": {"name": "p", "namespace": "n", "parameterNotFoundAction": "Deny"}},
        {"paramRef": {"selector": SELECTOR, "parameterNotFoundAction": "Deny"}},
        {"paramRef": {"selector": {}, "parameterNotFoundAction": "Deny"}},
    ):
        spec = {"policyName": "p", "validationActions": ["Deny"], **reference}
        yield thing(admission, "ValidatingAdmissionPolicyBinding", spec=spec)
    flow = "flowcontrol.apiserver.k8s.io/v1"
    level = {"priorityLevelConfiguration": {"name": "exempt"}}
    yield thing(flow, "FlowSchema", spec=level)
    yield thing(flow, "FlowSchema", spec={**level, "distinguisherMethod": {"type": "ByUser"}, "matchingPrecedence": 9})
    reject = {"limitResponse": {"type": "Reject"}}
    queue = {"limitResponse": {"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 5}}}
    for limited in (reject, queue, {**queue, "nominalConcurrencyShares": 7}):
        yield thing(flow, "PriorityLevelConfiguration", spec={"type": "Limited", "limited": limited})
    service = {"group": "g.example.com", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10}
    remote = {"service": {"namespace": "n", "name": "s"}, "insecureSkipTLSVerify": True}
    registered = thing("apiregistration.k8s.io/v1", "APIService", spec={**service, **remote})
    yield {**registered, "metadata": {"name": "v1.g.example.com"}}


CREATED = [*workloads(), *settings(), *volumes(), *network(), *policies()]


def names(documents: list[Json]) -> list[str]:
    return [f"{document['kind']}-{index}" for index, document in enumerate(documents)]


@pytest.mark.parametrize("document", CREATED, ids=names(CREATED))
async def test_new_objects(space: Client, document: Json) -> None:
    resource = for_object(document)
    path = resource.path(namespace=SPACE if resource.namespaced else None)
    same(await asked(space, "POST", path, document, dryRun="All"), printer_of(resource))


def condition(type_: str, status: str = "True", **more: str) -> Json:
    return {"type": type_, "status": status, "lastTransitionTime": TIMES[0], "reason": "Because", "message": "", **more}


def with_status() -> Iterator[tuple[Json, list[Json]]]:
    """Objects, and states that their status is patched to."""
    quiet = {"replicas": 0, "selector": SELECTOR, "template": template()}
    counts = {"replicas": 3, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1}
    yield thing("apps/v1", "Deployment", spec=quiet), [counts]
    yield thing("apps/v1", "ReplicaSet", spec=quiet), [{"replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 2}]
    yield thing("apps/v1", "StatefulSet", spec={**quiet, "serviceName": "s"}), [{"replicas": 1, "readyReplicas": 1}]
    scheduled = {"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberMisscheduled": 0}
    some = {"numberReady": 3, "updatedNumberScheduled": 2, "numberAvailable": 1}
    nowhere = template(nodeSelector={"no": "where"})
    yield (
        thing("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": nowhere}),
        [{**scheduled, **some}, scheduled | {"numberReady": 0}],
    )
    yield from jobs_with_status()
    budget = thing("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": {}})
    told = {"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3}
    yield budget, [told]
    for autoscaler in autoscalers():
        yield autoscaler, autoscaler_statuses(autoscaler)
    group = thing("scheduling.k8s.io/v1alpha2", "PodGroup", spec={"schedulingPolicy": {"gang": {"minCount": 2}}})
    yield (
        group,
        [
            {"conditions": [condition("PodGroupScheduled")]},
            {"conditions": [condition("PodGroupScheduled", "False")]},
            {"conditions": [condition("PodGroupScheduled"), condition("DisruptionTarget", reason="Preempted")]},
            {"conditions": [condition("Other")]},
        ],
    )
    yield from settings_with_status()


def jobs_with_status() -> Iterator[tuple[Json, list[Json]]]:
    work = {"suspend": True, "completions": 5, "template": template(restartPolicy="Never")}
    begun: Json = {"startTime": TIMES[2], "uncountedTerminatedPods": {}}
    done = [condition("SuccessCriteriaMet"), condition("Complete")]
    yield (
        thing("batch/v1", "Job", spec=work),
        [
            {"startTime": None, "conditions": None},
            {**begun, "succeeded": 2, "conditions": []},
            {**begun, "conditions": [condition("Suspended")]},
            {**begun, "conditions": [condition("Suspended", "False"), condition("FailureTarget")]},
            {**begun, "conditions": [condition("SuccessCriteriaMet")]},
            {**begun, "conditions": [condition("FailureTarget"), condition("Failed")]},
            {**begun, "conditions": done, "succeeded": 5, "completionTime": TIMES[0]},
        ],
    )
    job = {"spec": {"template": template(restartPolicy="Never")}}
    cron_job = thing("batch/v1", "CronJob", spec={"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": job})
    yield cron_job, [{"lastScheduleTime": TIMES[0], "active": [{"kind": "Job", "name": "j"}]}]


def autoscaler_statuses(autoscaler: Json) -> list[Json]:
    if autoscaler["apiVersion"] == "autoscaling/v1":
        return [{"currentReplicas": 2, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 33}]
    current = {"averageUtilization": 12, "averageValue": "250m", "value": "11"}
    found = []
    for entry in autoscaler["spec"]["metrics"]:
        field = entry["type"][0].lower() + entry["type"][1:]
        source = {key: value for key, value in entry[field].items() if key != "target"}
        found.append({"type": entry["type"], field: {**source, "current": current}})
    return [
        {"currentReplicas": 3, "desiredReplicas": 3, "currentMetrics": found},
        {"currentReplicas": 3, "desiredReplicas": 3, "currentMetrics": found[:1]},
    ]


def settings_with_status() -> Iterator[tuple[Json, list[Json]]]:
    info = {
        "architecture": "amd64",
        "kernelVersion": "6.1",
        "osImage": "An OS",
        "containerRuntimeVersion": "c://1",
        "kubeletVersion": "v1.36.3",
    }
    addresses = [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "192.0.2.1"}]
    outside = {"type": "ExternalIP", "address": "198.51.100.1"}
    named = [*addresses, outside, {"type": "InternalIP", "address": "192.0.2.2"}]
    yield (
        thing("v1", "Node", spec={"unschedulable": True}),
        [
            {"conditions": [condition("Ready")]},
            {"conditions": [condition("Ready", "Unknown")], "nodeInfo": {"architecture": "arm64"}},
            {"conditions": [condition("MemoryPressure")], "nodeInfo": info, "addresses": named},
        ],
    )
    used = {"hard": {"cpu": "10", "limits.cpu": "2", "requests.memory": "1Gi", "limits.memory": "1", "pods": "4"}}
    quota = thing("v1", "ResourceQuota", spec={"hard": {"cpu": "1"}})
    yield quota, [used, {**used, "used": {"cpu": "1500m", "limits.cpu": "2", "pods": "0"}}]
    claim = thing("resource.k8s.io/v1", "ResourceClaim", spec={"devices": {"requests": [DEVICE_REQUEST]}})
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    allocated = {"allocation": {"devices": {"results": [result]}}}
    holder = {"resource": "pods", "name": "p", "uid": "u"}
    yield claim, [allocated, {**allocated, "reservedFor": [holder]}]
    volume = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}, "accessModes": ["ReadWriteOnce"]}
    yield thing("v1", "PersistentVolume", spec=volume), [{"phase": "Failed", "reason": "Lost"}]
    wanted: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}, "volumeName": "v"}
    bound = {"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}
    yield thing("v1", "PersistentVolumeClaim", spec=wanted), [bound, {"phase": "Lost"}]
    service = thing("v1", "Service", spec={"type": "LoadBalancer", "ports": [{"port": 80}]})
    entries = [{"hostname": "long.name.example.com"}, {"ip": "192.0.2.2"}, {"ip": "192.0.2.1"}]
    yield service, [{"loadBalancer": {"ingress": entries}}]
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    ingress = thing("networking.k8s.io/v1", "Ingress", spec={"defaultBackend": backend})
    yield ingress, [{"loadBalancer": {"ingress": entries}}]


DEVICE_REQUEST = {"name": "r", "exactly": {"deviceClassName": "c"}}
STATES = list(with_status())


# Kinds whose status the server never answers as a table.
NO_TABLES_OF_STATUS = (resources.RESOURCE_CLAIMS, resources.POD_GROUPS)


@pytest.mark.parametrize(("document", "statuses"), STATES, ids=names([document for document, _ in STATES]))
async def test_objects_in_many_states(space: Client, document: Json, statuses: list[Json]) -> None:
    resource = for_object(document)
    namespace = SPACE if resource.namespaced else None
    body = {**document, "metadata": {**document["metadata"], "finalizers": ["example.com/keep"]}}
    await space.create(resource, body, namespace=namespace)
    path = resource.path(namespace=namespace, name="thing", subresource="status")
    try:
        for is_deleted in (False, True):
            if is_deleted:
                await space.delete(resource, "thing", namespace=namespace)
            # A claim is not reserved any more once it is deleted.
            reachable = statuses[:1] if is_deleted and resource is resources.RESOURCE_CLAIMS else statuses
            for status in reachable:
                if resource in NO_TABLES_OF_STATUS:
                    await space.patch(
                        resource, "thing", {"status": status}, kind="merge", namespace=namespace, subresource="status"
                    )
                    real = await asked(space, "GET", path.removesuffix("/status"))
                else:
                    real = await asked(space, "PATCH", path, {"status": status}, dryRun="All")
                same(real, printer_of(resource))
    finally:
        await space.patch(resource, "thing", {"metadata": {"finalizers": None}}, kind="merge", namespace=namespace)


async def test_a_nominated_node(space: Client) -> None:
    body = pod()
    body["metadata"]["name"] = "nominated"
    await space.create(PODS, body)
    path = PODS.path(namespace=SPACE, name="nominated", subresource="status")
    same(await asked(space, "PATCH", path, {"status": {"nominatedNodeName": "n"}}, dryRun="All"), printer_of(PODS))


async def test_whatever_is_there(space: Client) -> None:
    """All kinds that can be listed, with what the control plane has made of them, empty lists included."""
    compared = 0
    for resource in resources.BUILT_IN:
        path = resource.path()
        found = msgspec.json.decode((await space.request_raw("GET", path)).body)
        if not found["kind"].endswith("List"):
            continue
        same(await asked(space, "GET", path), printer_of(resource))
        compared += 1
    assert compared > 60


@pytest.mark.parametrize("include", ["None", "Metadata", "Object"])
async def test_what_a_row_carries_of_its_object(space: Client, include: IncludeObject) -> None:
    path = resources.PRIORITY_CLASSES.path()
    objects = msgspec.json.decode((await space.request_raw("GET", path)).body)["items"]
    complete = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **obj} for obj in objects]
    real = await asked(space, "GET", path, includeObject=include)
    same(real, printer_of(resources.PRIORITY_CLASSES), include, objects=complete)


async def test_a_scale(space: Client) -> None:
    document = thing("apps/v1", "ReplicaSet", spec={"replicas": 0, "selector": SELECTOR, "template": template()})
    document["metadata"] = {"name": "scaled"}
    await space.create(resources.REPLICA_SETS, document, namespace=SPACE)
    path = resources.REPLICA_SETS.path(namespace=SPACE, name="scaled", subresource="scale")
    same(await asked(space, "GET", path), printer_of(SCALES))


COLUMNS: list[Json] = [
    {"name": "Str", "type": "string", "jsonPath": ".spec.str"},
    {"name": "Int", "type": "integer", "jsonPath": ".spec.int", "format": "int32"},
    {"name": "Num", "type": "number", "jsonPath": ".spec.num", "priority": 1},
    {"name": "Bool", "type": "boolean", "jsonPath": ".spec.bool"},
    {"name": "Date", "type": "date", "jsonPath": ".spec.date"},
    {"name": "Any", "type": "string", "jsonPath": ".spec.any"},
    {"name": "First", "type": "string", "jsonPath": ".spec.list[0]"},
    {"name": "All", "type": "string", "jsonPath": ".spec.list[*]"},
    {"name": "Cond", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Wrong", "type": "integer", "jsonPath": ".spec.str"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
ODD: list[Any] = [2**63 - 1, {}, [], {"z": None, "b": [1, {"y": 2, "a": 3}]}, None]
VALUES: list[Json] = [
    {},
    {"str": "text", "int": 5, "num": 2.5, "bool": True, "date": TIMES[0], "list": ["x", "y"]},
    {"str": 5, "int": 5.9, "num": 3, "bool": "no", "date": "yesterday", "list": []},
    {"str": True, "int": "5", "num": "x", "bool": False, "date": "", "list": [{"b": 1, "a": [2, "<&>"]}]},
    {"str": 1.5, "int": True, "num": 1e30, "date": 5, "list": "no list"},
    {"str": 123456789012, "int": -3, "num": 0, "date": "2026-01-02", "list": [[1, 2]]},
    {"str": "", "int": 0, "date": "2026-01-02T03:04:05.5+02:00", "list": [1.0, 2]},
    *({"any": value} for value in (1e21, 1e20, 1e-7, 0.0001, 100000.5, 1234567.5, 2.0, -2.5e-9)),
    *({"any": value} for value in ODD),
]


@pytest.fixture(scope="module")
async def toys(space: Client) -> AsyncIterator[Resource]:
    """A custom kind with all sorts of columns."""
    group = "tables.example.com"
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"scale": scale},
        "additionalPrinterColumns": COLUMNS,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open_schema, "status": open_schema}}},
    }
    names_ = {"plural": "toys", "singular": "toy", "kind": "Toy"}
    definition: Json = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names_, "versions": [version]},
    }
    resource = Resource(group, "v1", "Toy", "toys", namespaced=True)
    await space.create(resources.CRDS, definition)
    # A definition is served a moment after it is established.
    for _ in range(200):
        if (await space.request_raw("GET", resource.path())).status == 200:
            break
        await RealClock().sleep(0.05)
    yield resource
    await space.delete(resources.CRDS, definition["metadata"]["name"])


@pytest.mark.parametrize("spec", VALUES, ids=str)
async def test_custom_columns(space: Client, toys: Resource, spec: Json) -> None:
    status = {"conditions": [condition("Other", "False"), condition("Ready", "Maybe")]}
    toy = {"apiVersion": toys.api_version, "kind": "Toy", "metadata": {"name": "t"}, "spec": spec, "status": status}
    real = await asked(space, "POST", toys.path(namespace=SPACE), toy, dryRun="All")
    printer = custom_printer(COLUMNS)
    same(real, printer)
    told = [column["description"] for column in real["columnDefinitions"]]
    assert told[1:] == [column.description for column in printer.columns[1:]]


async def test_the_scale_of_a_custom_resource(space: Client, toys: Resource) -> None:
    toy = {"apiVersion": toys.api_version, "kind": "Toy", "metadata": {"name": "s"}, "spec": {"replicas": 4}}
    await space.create(toys, toy, namespace=SPACE)
    real = await asked(space, "GET", toys.path(namespace=SPACE, name="s", subresource="scale"))
    same(real, scale_printer())
