"""Whose status and generation are: what the real API server lets updates change of every kind, and ours beside it."""

import contextlib
import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec
import pytest

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kinds import admission, defaults, strategies
from kubedyno.kinds.strategies import services
from kubedyno.kinds.strategies.refusal import Refused
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.resources import NAMESPACES, SERVICE_ACCOUNTS, Resource, by_kind
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

SPACE = "str-all"
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
ONCE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}
SELECTOR = {"matchLabels": {"app": "a"}}
NOTHING = {
    "apiGroups": ["none.example.com"],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["nothings"],
}
WEBHOOK = {
    "name": "a.example.com", "clientConfig": {"url": "https://a.example.com"}, "admissionReviewVersions": ["v1"],
    "sideEffects": "None", "rules": [NOTHING],
}  # fmt: skip
STAMP = "2026-01-01T00:00:00Z"
CONDITION = {"type": "A", "status": "True", "reason": "r", "message": "", "lastTransitionTime": STAMP}
CONDITIONS = {"conditions": [CONDITION]}
RBAC = "rbac.authorization.k8s.io"
REQUEST = (
    # A certificate request of somebody, made for these tests with a key that is gone.
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIY01JR0RBZ0VBTUNFeEVEQU9CZ05WQkFNTUIzTnZiV1Z2Ym1V"
    "eERUQUxCZ05WQkFvTUJIUmxZVzB3V1RBVApCZ2NxaGtqT1BRSUJCZ2dxaGtqT1BRTUJCd05DQUFSOGpmN0VyTE8xOFJSSnJrTGVh"
    "d1hMa29ZN2oyMERVTVFsCm5pMEFwL0c3OWdaRndpWExPSnN0RlNVaFlQcWNKdWovTm1LY205dHpvNzNnajZTd2V6eUlvQUF3Q2dZ"
    "SUtvWkkKemowRUF3SURTQUF3UlFJZ0J2WXJBcDUxSUJHSTJQbEsvMWl4cU1lWCtvSC8ycHBialEzMWc0d2FzZ3dDSVFDdwpJZWFp"
    "eFJ4bHlxd2xqcjFBR0pkTDhOR016YjU0N25CdVdVdlpjNFdkR0E9PQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
)
NOT_OURS = ("managedFields", "uid", "resourceVersion", "creationTimestamp")


class Case(msgspec.Struct):
    """A kind: a body, a change of it that is allowed, and a status that is allowed."""

    api_version: str
    kind: str
    body: Object
    change: Object = {}
    status: Object | None = None
    name: str = "str-x"

    @property
    def resource(self) -> Resource:
        return by_kind(self.api_version, self.kind)

    @property
    def namespace(self) -> str | None:
        return SPACE if self.resource.namespaced else None


def workload(kind: str, *, status: Object, **spec: Any) -> Case:
    body = {"spec": {"selector": SELECTOR, "template": TEMPLATE, **spec}}
    return Case("apps/v1", kind, body, {"minReadySeconds": 5}, status)


CASES = [
    Case("v1", "Pod", {"spec": {"schedulerName": "nobody", "containers": [
        {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}},
    ]}},
         {"activeDeadlineSeconds": 5}, {"phase": "Running", **CONDITIONS}),
    Case("v1", "Node", {"spec": {}}, {"unschedulable": True}, {"capacity": {"cpu": "1"}}),
    Case("v1", "Namespace", {"spec": {"finalizers": ["a.example.com/b"]}}, {"finalizers": []},
        {"phase": "Active", **CONDITIONS}),
    Case("v1", "Service", {"spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}},
         {"selector": {"a": "c"}}, CONDITIONS),
    Case("v1", "ServiceAccount", {"secrets": [{"name": "s", "kind": "Secret"}]}, {"secrets": [{"name": "t",
        "kind": "x"}]}),
    Case("v1", "ConfigMap", {"data": {"a": "b"}}, {"data": {"a": "c"}}),
    Case("v1", "Secret", {"data": {"a": "Yg=="}}, {"data": {"a": "Yw=="}}),
    Case("v1", "Event", {"involvedObject": {"namespace": SPACE}, "reason": "r"}, {"count": 2}),
    Case("v1", "Endpoints", {}, {"subsets": [{"addresses": [{"ip": "1.2.3.4"}]}]}, name="str-y"),
    Case("v1", "PersistentVolume",
         {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}},
         {"mountOptions": ["a"]}, {"phase": "Failed"}),
    Case("v1", "PersistentVolumeClaim",
         {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
         {}, {"phase": "Pending", "capacity": {"storage": "1Gi"}}),
    Case("v1", "ReplicationController", {"spec": {"replicas": 0, "selector": {"app": "a"}, "template": TEMPLATE}},
         {"minReadySeconds": 5}, {"replicas": 3}),
    Case("v1", "ResourceQuota", {"spec": {"hard": {"secrets": "1k"}}}, {"hard": {"secrets": "2k"}},
        {"hard": {"secrets": "5"}}),
    Case("v1", "LimitRange", {"spec": {"limits": []}}, {"limits": [{"type": "Pod", "max": {"cpu": "50"}}]}),
    Case("v1", "PodTemplate", {"template": TEMPLATE}, {"template": {**TEMPLATE, "metadata": {"labels": {"b": "c"}}}}),
    workload("Deployment", replicas=0, status={"replicas": 3}),
    workload("ReplicaSet", replicas=0, status={"replicas": 3}),
    workload("StatefulSet", replicas=0, serviceName="s", status={"replicas": 3}),
    workload("DaemonSet", status={"numberReady": 3, "currentNumberScheduled": 1, "numberMisscheduled": 1,
        "desiredNumberScheduled": 1}),
    Case("apps/v1", "DaemonSet", {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
         {"template": {**TEMPLATE, "metadata": {"labels": {"app": "a", "b": "c"}}}}, name="str-y"),
    Case("apps/v1", "ControllerRevision", {"revision": 1, "data": {}}, {"revision": 2}),
    Case("batch/v1", "Job", {"spec": {"suspend": True, "template": ONCE}}, {"parallelism": 2}, {"active": 3}),
    Case("batch/v1", "Job", {"spec": {
        "suspend": True, "manualSelector": True, "selector": SELECTOR, "template": {**ONCE,
            "metadata": {"labels": {"app": "a"}}},
    }}, {"suspend": False}, name="str-y"),
    Case("batch/v1", "CronJob", {"spec": {"suspend": True, "schedule": "0 0 1 1 *",
        "jobTemplate": {"spec": {"template": ONCE}}}},
         {"schedule": "1 0 1 1 *"}, {"lastScheduleTime": STAMP}),
    Case("autoscaling/v2", "HorizontalPodAutoscaler",
         {"spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment",
             "name": "none"}}},
         {"maxReplicas": 3}, {"currentReplicas": 3, "desiredReplicas": 2}),
    Case("autoscaling/v1", "HorizontalPodAutoscaler",
         {"spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment",
             "name": "none"}}},
         {"maxReplicas": 3}, {"currentReplicas": 3, "desiredReplicas": 2}, name="str-y"),
    Case("certificates.k8s.io/v1", "CertificateSigningRequest",
         {"spec": {"request": REQUEST, "signerName": "a.example.com/s", "usages": ["client auth"]}},
         {"usages": ["server auth"]}, {"conditions": [{**CONDITION, "type": "Failed", "lastUpdateTime": STAMP}]}),
    Case("coordination.k8s.io/v1", "Lease", {"spec": {"holderIdentity": "a"}}, {"holderIdentity": "b"}),
    Case("policy/v1", "PodDisruptionBudget", {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"no": "pod"}}}},
         {"minAvailable": 2}, {"currentHealthy": 3, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 1}),
    Case("scheduling.k8s.io/v1", "PriorityClass", {"value": 5}, {"description": "d"}),
    Case("scheduling.k8s.io/v1alpha2", "Workload",
         {"spec": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}]}}),
    Case("scheduling.k8s.io/v1alpha2", "PodGroup", {"spec": {"schedulingPolicy": {"basic": {}}}}, {}, CONDITIONS),
    Case("resource.k8s.io/v1", "ResourceClaim",
         {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}}, {}, {
        "allocation": {"devices": {"results": [{"request": "a", "driver": "d.example.com", "pool": "p",
            "device": "x"}]}},
        "devices": [{"driver": "d.example.com", "pool": "p", "device": "x"}],
    }),
    Case("resource.k8s.io/v1", "ResourceClaimTemplate", {"spec": {"spec": {"devices": {}}}}),
    Case("resource.k8s.io/v1", "ResourceSlice", {"spec": {
        "driver": "d.example.com", "allNodes": True, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    }}, {"pool": {"name": "p", "generation": 2, "resourceSliceCount": 1}}),
    Case("resource.k8s.io/v1", "DeviceClass", {"spec": {}}, {"selectors": [{"cel": {"expression": "true"}}]}),
    Case("resource.k8s.io/v1beta2", "DeviceTaintRule", {"spec": {
        "deviceSelector": {"driver": "none.example.com"}, "taint": {"key": "a", "effect": "NoSchedule",
            "timeAdded": STAMP},
    }}, {"taint": {"key": "a", "effect": "NoSchedule", "value": "v", "timeAdded": STAMP}}, CONDITIONS),
    Case("storage.k8s.io/v1", "StorageClass", {"provisioner": "a.example.com"}, {"allowVolumeExpansion": True}),
    Case("storage.k8s.io/v1", "VolumeAttachment",
         {"spec": {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}, {},
             {"attached": True}),
    Case("storage.k8s.io/v1", "VolumeAttributesClass", {"driverName": "a.example.com", "parameters": {"a": "b"}}),
    Case("storage.k8s.io/v1", "CSIDriver", {"spec": {}}, {"requiresRepublish": True}),
    Case("storage.k8s.io/v1", "CSINode", {"spec": {"drivers": []}}, {"drivers": [{"name": "a.example.com",
        "nodeID": "n"}]}),
    Case("storage.k8s.io/v1", "CSIStorageCapacity", {"storageClassName": "s"}, {"capacity": "5Gi"}),
    Case(f"{RBAC}/v1", "Role", {"rules": []}, {"rules": [{"verbs": ["get"], "resources": ["pods"],
        "apiGroups": [""]}]}),
    Case(f"{RBAC}/v1", "RoleBinding", {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "str-x"}},
         {"subjects": [{"kind": "User", "apiGroup": RBAC, "name": "u"}]}),
    Case(f"{RBAC}/v1", "ClusterRole", {"rules": []}, {"rules": [{"verbs": ["get"], "resources": ["pods"],
        "apiGroups": [""]}]}),
    Case(f"{RBAC}/v1", "ClusterRoleBinding", {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "str-x"}},
         {"subjects": [{"kind": "User", "apiGroup": RBAC, "name": "u"}]}),
    Case("events.k8s.io/v1", "Event", {
        "eventTime": "2026-01-01T00:00:00.000000Z", "action": "a", "reason": "r", "type": "Normal",
            "reportingInstance": "i",
        "reportingController": "a.example.com/c", "regarding": {"namespace": SPACE},
    }, {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}, name="str-y"),
    Case("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"spec": {
        "group": "str.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    }}, {"versions": [
        {"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
        {"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
    ]}, name="things.str.example.com"),
    Case("apiregistration.k8s.io/v1", "APIService",
         {"spec": {"group": "strb.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}},
         {"versionPriority": 11}, {"conditions": [{"type": "A", "status": "True"}]}, name="v1.strb.example.com"),
    Case("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {"webhooks": [WEBHOOK]},
        {"webhooks": []}),
    Case("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", {"webhooks": [WEBHOOK]}, {"webhooks": []}),
    Case("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy",
         {"spec": {"matchConstraints": {"resourceRules": [NOTHING]}, "validations": [{"expression": "true"}]}},
         {"failurePolicy": "Ignore"}, {"observedGeneration": 9}),
    Case("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
         {"spec": {"policyName": "str-none", "validationActions": ["Warn"]}}, {"validationActions": ["Audit"]}),
    Case("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", {"spec": {
        "reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [NOTHING]}, "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": '[JSONPatch{op: "remove", path: "/a"}]'}},
        ],
    }}, {"failurePolicy": "Ignore"}),
    Case("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", {"spec": {"policyName": "str-none"}},
         {"policyName": "str-other"}),
    Case("discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4", "endpoints": []},
        {"endpoints": [{"addresses": ["1.2.3.4"]}]}),
    Case("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}, {"podSelector": SELECTOR}),
    Case("networking.k8s.io/v1", "Ingress", {"spec": {"defaultBackend": {"service": {"name": "s",
        "port": {"number": 80}}}}},
         {"defaultBackend": {"service": {"name": "s", "port": {"number": 81}}}},
             {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}),
    Case("networking.k8s.io/v1", "IngressClass", {"spec": {"controller": "a.example.com/c"}},
         {"parameters": {"kind": "K", "name": "n", "scope": "Cluster"}}),
    Case("networking.k8s.io/v1", "IPAddress", {"spec": {"parentRef": {"resource": "services", "namespace": SPACE,
        "name": "s"}}},
         name="10.96.77.78"),
    Case("node.k8s.io/v1", "RuntimeClass", {"handler": "h"}, {"scheduling": {"nodeSelector": {"a": "b"}}}),
    Case("flowcontrol.apiserver.k8s.io/v1", "FlowSchema",
         {"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9000}},
         {"matchingPrecedence": 9001}, {"conditions": [{"type": "A", "status": "True"}]}),
    Case("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration",
         {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}},
         {"limited": {"nominalConcurrencyShares": 2, "limitResponse": {"type": "Reject"}}},
         {"conditions": [{"type": "A", "status": "True"}]}),
]  # fmt: skip

CHANGED_METADATA: Object = {"labels": {"l": "m"}, "annotations": {"n": "o"}, "finalizers": ["str.example.com/f"]}


Change = Callable[[Object, Case], Object]
"""From the object as it is to the body of a PUT."""


class Nothing:
    """A cluster with the namespace of the tests and its default account."""

    def get(self, resource: Resource, _namespace: str, name: str) -> Object | None:
        known = {NAMESPACES: SPACE, SERVICE_ACCOUNTS: "default"}
        return {"metadata": {"name": name}} if known.get(resource) == name else None

    def list(self, _resource: Resource, _namespace: str) -> Iterable[Object]:
        return ()


def comparable(obj: Object) -> Object:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in NOT_OURS}
    return {**obj, "metadata": metadata}


def completed(obj: Object, case: Case) -> Object:
    new = normalized(obj, case.api_version, case.kind)
    defaults.apply(new, case.api_version, case.kind)
    return new


def changed(old: Object, case: Case) -> Object:
    """A PUT that tries everything: another spec, status, generation and metadata."""
    metadata = {**old["metadata"], **CHANGED_METADATA, "generation": 99, "creationTimestamp": STAMP}
    metadata["labels"] = {**meta.labels(old), **CHANGED_METADATA["labels"]}
    metadata["annotations"] = {**meta.annotations(old), **CHANGED_METADATA["annotations"]}
    metadata["finalizers"] = [*(old["metadata"].get("finalizers") or ()), *CHANGED_METADATA["finalizers"]]
    metadata.pop("managedFields", None)
    new = {**old, "metadata": metadata}
    if "spec" in case.body:
        new["spec"] = {**old["spec"], **case.change}
    else:
        new |= case.change
    if case.status is not None:
        # The main resource ignores it, the subresource takes it.
        new["status"] = {**old.get("status", {}), **case.status}
    return new


async def updated(
    client: Client, case: Case, *, subresource: str = "", change: Change = changed
) -> tuple[Object, Object]:
    """The object after our update, and after theirs; controllers may come in between, then again."""
    while True:
        old = await client.get(case.resource, case.name, namespace=case.namespace)
        sent = change(old, case)
        try:
            answer = await client.update(case.resource, sent, subresource=subresource or None, dry_run=True)
        except ApiError as refused:
            if refused.is_conflict:
                continue
            raise
        new = completed(sent, case)
        admission.admit_update(new, old, case.resource, Nothing(), subresource=subresource)
        now = answer.get("status", {}).get("lastPhaseTransitionTime", STAMP)
        strategies.prepare_update(new, old, case.resource, now=now, subresource=subresource)
        return comparable(new), comparable(answer)


async def created(client: Client, case: Case) -> Object:
    metadata = {"name": case.name, **({"namespace": SPACE} if case.namespace else {})}
    body = {"apiVersion": case.api_version, "kind": case.kind, "metadata": metadata, **case.body}
    return await client.create(case.resource, body)


async def removed(client: Client, case: Case) -> None:
    with contextlib.suppress(ApiError):
        await client.delete(case.resource, case.name, namespace=case.namespace, grace_s=0)
    with contextlib.suppress(ApiError):
        await client.patch(
            case.resource, case.name, {"metadata": {"finalizers": None}}, kind="merge", namespace=case.namespace
        )


async def finish_namespace(client: Client) -> None:
    """Take away the finalizer that nobody else would."""
    name = next(case.name for case in CASES if case.kind == "Namespace")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}}
    await client.update(NAMESPACES, body, subresource="finalize")


async def prepare(client: Client) -> None:
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    while True:
        with contextlib.suppress(ApiError):
            await client.get(SERVICE_ACCOUNTS, "default", namespace=SPACE)
            return


@pytest.fixture(scope="module", autouse=True)
async def _objects(shared_lab: RunningLab) -> AsyncIterator[None]:
    client = shared_lab.client
    await prepare(client)
    for case in CASES:
        await created(client, case)
    yield
    for case in CASES:
        await removed(client, case)
    await finish_namespace(client)
    await client.delete(NAMESPACES, SPACE)


def told(case: Case) -> str:
    return f"{case.api_version} {case.kind} {case.name}"


@pytest.mark.parametrize("case", CASES, ids=told)
async def test_an_update_changes_what_it_may_and_counts_the_generation(shared_lab: RunningLab, case: Case) -> None:
    made, answer = await updated(shared_lab.client, case)
    assert made == answer


@pytest.mark.parametrize("case", [case for case in CASES if "status" in case.resource.subresources], ids=told)
async def test_an_update_of_status_changes_little_else(shared_lab: RunningLab, case: Case) -> None:
    made, answer = await updated(shared_lab.client, case, subresource="status")
    assert made == answer


def approved(old: Object, case: Case) -> Object:
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": "r",
        "lastUpdateTime": STAMP,
        "lastTransitionTime": STAMP,
    }
    return {**changed(old, case), "status": {"certificate": "eA==", "conditions": [condition]}}


def finalized(old: Object, _case: Case) -> Object:
    return {**old, "spec": {"finalizers": ["a.example.com/b"]}, "status": {"phase": "Terminating"}}


def resized(old: Object, case: Case) -> Object:
    body = changed(old, case)
    container = {**old["spec"]["containers"][0], "image": "i:9", "resources": {"requests": {"cpu": "2"}}}
    return {**body, "spec": {**body["spec"], "containers": [container]}}


def debugged(old: Object, case: Case) -> Object:
    body = changed(old, case)
    debugger = {"name": "d", "image": "i:1", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}
    return {**body, "spec": {**body["spec"], "ephemeralContainers": [debugger]}}


SUBRESOURCES: dict[str, tuple[str, Change]] = {
    "approval": ("CertificateSigningRequest", approved),
    "finalize": ("Namespace", finalized),
    "resize": ("Pod", resized),
    "ephemeralcontainers": ("Pod", debugged),
}


@pytest.mark.parametrize("subresource", SUBRESOURCES)
async def test_an_update_of_a_subresource_changes_that_only(shared_lab: RunningLab, subresource: str) -> None:
    kind, change = SUBRESOURCES[subresource]
    case = next(case for case in CASES if case.kind == kind)
    made, answer = await updated(shared_lab.client, case, subresource=subresource, change=change)
    assert made == answer


async def answers_to_put(client: Client, case: Case) -> tuple[bool, bool]:
    """Whether a PUT creates, and whether it needs no version."""
    old = await client.get(case.resource, case.name, namespace=case.namespace)
    metadata = {name: value for name, value in old["metadata"].items() if name not in NOT_OURS}
    try:
        await client.update(case.resource, {**old, "metadata": metadata}, dry_run=True)
        unconditional = True
    except ApiError as refused:
        unconditional = "must be specified for an update" not in refused.message
    absent = {**old, "metadata": {**metadata, "name": f"absent-{case.name}"}}
    if case.kind == "Event":
        absent["metadata"]["name"] = "absent"
    try:
        await client.update(case.resource, absent, dry_run=True)
        creates = True
    except ApiError as refused:
        creates = not refused.is_not_found
    return creates, unconditional


@pytest.mark.parametrize("case", CASES, ids=told)
async def test_a_put_creates_or_needs_a_version_alike(shared_lab: RunningLab, case: Case) -> None:
    creates, unconditional = await answers_to_put(shared_lab.client, case)
    assert strategies.allows_create_on_update(case.resource) == creates
    assert strategies.allows_unconditional_update(case.resource) == unconditional


class Given:
    """An allocator that gives what the real server gave, and refuses what it refused."""

    def __init__(self, spec: Object, refusal: str) -> None:
        ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
        self._addresses = [spec["clusterIP"]] if spec.get("clusterIP") else []
        self._ports = list(dict.fromkeys([*ports, *filter(None, [spec.get("healthCheckNodePort")])]))
        self._refusal = refusal

    def cluster_ip(self, wanted: str | None) -> str:
        return str(self._drawn(self._addresses, wanted))

    def node_port(self, wanted: int | None) -> int:
        return int(self._drawn(self._ports, wanted))

    def _drawn(self, given: list[Any], wanted: Any) -> Any:
        if not given:
            raise services.Unavailable(self._refusal)
        drawn = given[0] if wanted is None else wanted
        given.remove(drawn)
        return drawn


def service(**spec: Any) -> Object:
    return {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}], **spec}}


TWICE = [{"name": "t", "port": 80}, {"name": "u", "port": 80, "protocol": "UDP"}]
OUT_OF_RANGE = "the provided IP (10.1.2.3) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
NEW_SERVICES = [
    (service(), ""),
    (service(clusterIP="None"), ""),
    ({"spec": {"clusterIP": "None", "ports": [{"port": 80}]}}, ""),
    ({"spec": {"clusterIP": "None", "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}]}}, ""),
    (service(ipFamilyPolicy="PreferDualStack"), ""),
    (service(clusterIP="10.96.200.7"), ""),
    (service(clusterIP="10.96.0.1"), "provided IP is already allocated"),
    (service(clusterIP="10.1.2.3"), OUT_OF_RANGE),
    (service(type="NodePort"), ""),
    (service(type="NodePort", ports=TWICE), ""),
    (service(type="NodePort", ports=[{**TWICE[0], "nodePort": 30123}, TWICE[1]]), ""),
    (service(type="NodePort", ports=[TWICE[0], {**TWICE[1], "nodePort": 30123}]), ""),
    (service(type="NodePort", ports=[{"port": 80, "nodePort": 80}]),
     "provided port is not in the valid range. The range of valid ports is 30000-32767"),
    (service(type="LoadBalancer"), ""),
    (service(type="LoadBalancer", allocateLoadBalancerNodePorts=False), ""),
    (service(type="LoadBalancer", externalTrafficPolicy="Local"), ""),
    ({"spec": {"type": "ExternalName", "externalName": "a.example.com"}}, ""),
]  # fmt: skip


async def served(client: Client, fields: Object, refusal: str) -> tuple[Any, Any]:
    """Our new service or Status, and theirs."""
    case = Case("v1", "Service", fields)
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "str-new", "namespace": SPACE}, **fields}
    try:
        answer = await client.create(case.resource, body, dry_run=True)
    except ApiError as error:
        answer = msgspec.to_builtins(error.status)
    new = completed(body, case)
    try:
        services.allocate(new, None, Given(answer.get("spec", {}), refusal))
    except Refused as refused:
        return msgspec.to_builtins(refused.status), answer
    strategies.prepare_create(new, case.resource, now=STAMP)
    return comparable(new), comparable(answer)


@pytest.mark.parametrize(("fields", "refusal"), NEW_SERVICES, ids=str)
async def test_a_new_service_is_given_its_addresses_alike(shared_lab: RunningLab, fields: Object, refusal: str) -> None:
    made, answer = await served(shared_lab.client, fields, refusal)
    assert made == answer


LEFT_OUT = ("clusterIP", "clusterIPs", "ports")
NEW_TYPES = [
    (service(), {"sessionAffinity": "ClientIP"}),
    (service(), {"type": "NodePort"}),
    (service(), {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}),
    (service(), {"type": "ExternalName", "externalName": "a.example.com"}),
    (service(type="NodePort"), {"type": "ClusterIP"}),
    (service(type="NodePort"), {"ports": [{"port": 81}]}),
    (service(type="NodePort"), {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}),
    (service(type="LoadBalancer", externalTrafficPolicy="Local", loadBalancerClass="a.example.com/c"),
        {"type": "ClusterIP"}),
    (service(type="LoadBalancer", externalTrafficPolicy="Local"), {"externalTrafficPolicy": "Cluster"}),
    ({"spec": {"type": "ExternalName", "externalName": "a.example.com"}}, {"type": "ClusterIP",
        "ports": [{"port": 80}]}),
]  # fmt: skip


async def retyped(client: Client, fields: Object, change: Object, *, whole: bool) -> tuple[Object, Object]:
    """The service after our update and theirs; a PUT that is not whole leaves out what was allocated."""
    case = Case("v1", "Service", fields, name="str-typed")
    old = await created(client, case)
    kept = {name: value for name, value in old["spec"].items() if whole or name not in LEFT_OUT}
    spec = {"ports": fields["spec"].get("ports", []), **kept, **change}
    try:
        answer = await client.update(case.resource, {**old, "spec": spec}, dry_run=True)
    finally:
        await removed(client, case)
    new = completed({**old, "spec": spec}, case)
    services.allocate(new, old, Given(answer["spec"], ""))
    strategies.prepare_update(new, old, case.resource, now=STAMP)
    return comparable(new), comparable(answer)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("fields", "change"), NEW_TYPES, ids=str)
async def test_a_service_of_another_type_keeps_what_it_needs(
    shared_lab: RunningLab, fields: Object, change: Object, *, whole: bool
) -> None:
    made, answer = await retyped(shared_lab.client, fields, change, whole=whole)
    assert made == answer


def warned(metadata: Object | None = None, **spec: Any) -> Object:
    spec.setdefault("containers", [{"name": "c", "image": "i:1"}])
    return {"metadata": {"name": "str-w", **(metadata or {})}, "spec": spec}


def container(**fields: Any) -> list[Object]:
    return [{"name": "c", "image": "i:1", **fields}]


TERM = {"topologyKey": "zone"}
OLD_LABEL = {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WARNED = [
    warned(),
    warned({"name": "str.w"}),
    warned({"annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""}}),
    warned(nodeSelector={"beta.kubernetes.io/arch": "x"}),
    warned(affinity={"nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [OLD_LABEL]}, PREFERRED: [{"weight": 1, "preference": OLD_LABEL}],
    }}),
    warned(affinity={
        "podAffinity": {REQUIRED: [TERM]}, "podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]},
    }),
    warned(topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": "failure-domain.beta.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"},
    ]),
    warned(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a"]}, {"ip": "1.2.3.4", "hostnames": ["b"]}]),
    warned(imagePullSecrets=[{"name": "a"}, {"name": "a"}, {}]),
    warned(containers=container(resources={"requests": {"memory": "100m"}, "limits": {"memory": "1500m"}})),
    warned(containers=container(env=[
        {"name": "A", "value": "a"}, {"name": "A", "value": "b"}, {"name": "A", "value": "$(A)c"}, {"name": "A",
            "value": "$(A)"},
    ])),
    warned(containers=container(ports=[{"containerPort": 80}, {"containerPort": 80}])),
    warned(containers=container(ports=[{"containerPort": 80, "hostPort": 81}, {"containerPort": 80}])),
    warned(containers=container(ports=[
        {"containerPort": 80, "hostPort": 81}, {"containerPort": 80, "hostPort": 81, "hostIP": "1.2.3.4"},
    ])),
    warned(containers=[
        {"name": "c", "image": "i:1", "ports": [{"name": "a", "containerPort": 80}]},
        {"name": "d", "image": "i:1", "ports": [{"name": "a", "containerPort": 81}]},
    ], initContainers=[{"name": "e", "image": "i:1", "ports": [{"containerPort": 80}]}]),
    warned(terminationGracePeriodSeconds=-1),
]  # fmt: skip
WRAPPED = ("Pod", "Job", "Deployment")


def wrapped(kind: str, pod: Object) -> tuple[Case, Object]:
    case = Case({"Pod": "v1", "Job": "batch/v1", "Deployment": "apps/v1"}[kind], kind, {})
    template = {"metadata": {**pod["metadata"], "labels": {"app": "a"}}, "spec": pod["spec"]}
    spec: Object = {"template": template}
    if kind == "Pod":
        spec = pod["spec"]
    elif kind == "Job":
        template["spec"] = {"restartPolicy": "Never", **pod["spec"]}
    else:
        spec["selector"] = SELECTOR
    body = {
        "apiVersion": case.api_version,
        "kind": kind,
        "metadata": {**pod["metadata"], "namespace": SPACE},
        "spec": spec,
    }
    return case, body


async def warnings(client: Client, kind: str, pod: Object) -> tuple[list[str], list[str]]:
    """Our warnings and theirs."""
    case, body = wrapped(kind, pod)
    path = case.resource.path(namespace=SPACE)
    response = await client.request_raw("POST", path, query={"dryRun": "All"}, body=msgspec.json.encode(body))
    headers = [value for name, value in response.headers.items() if name.lower() == "warning"]
    said = [part for value in headers for part in re.findall(r'299 - "((?:[^"\\]|\\.)*)"', value)]
    made = strategies.warnings_on_create(completed(body, case), case.resource)
    return made, [re.sub(r"\\(.)", r"\1", text) for text in said]


@pytest.mark.parametrize("kind", WRAPPED)
@pytest.mark.parametrize("pod", WARNED, ids=str)
async def test_the_same_warnings_are_told(shared_lab: RunningLab, kind: str, pod: Object) -> None:
    made, said = await warnings(shared_lab.client, kind, pod)
    assert made == said
