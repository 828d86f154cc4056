"""What the real API server says of wrong objects outside the core group, and ours beside it."""

import contextlib
import itertools
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kinds import defaults
from kubedyno.kinds.conversions import storage_resource
from kubedyno.kinds.rules import (
    apps,
    autoscaling,
    batch,
    coordination,
    devices,
    events,
    networking,
    policy,
    rbac,
    runtimes,
    scheduling,
    storage,
    webhooks,
)
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.meta import copied
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.problems import Problem, invalid_status
from kubedyno.kube.resources import Resource, for_object
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

Document = dict[str, Any]
GROUPS = (
    apps,
    autoscaling,
    batch,
    coordination,
    devices,
    events,
    networking,
    policy,
    rbac,
    runtimes,
    scheduling,
    storage,
    webhooks,
)
UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SOME_UID = "00000000-0000-0000-0000-000000000000"
LONG = "x" * 70
COUNTER = itertools.count()


def obj(api_version: str, kind: str, /, **fields: Any) -> Document:
    metadata = {"name": "rules-of-groups", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def containers(**pod: Any) -> Document:
    return {"containers": [{"name": "a", "image": "i"}], **pod}


def workload(kind: str, **spec: Any) -> Document:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": containers()}
    return obj("apps/v1", kind, spec={"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec})


def labelled(labels: Document, **pod: Any) -> Document:
    return {"metadata": {"labels": labels}, "spec": containers(**pod)}


def job(*, pod: Document | None = None, labels: Document | None = None, **spec: Any) -> Document:
    template: Document = {"spec": containers(**{"restartPolicy": "Never", **(pod or {})})}
    if labels is not None:
        template["metadata"] = {"labels": labels}
    return obj("batch/v1", "Job", spec={"template": template, **spec})


def indexed(**spec: Any) -> Document:
    return job(**{"completionMode": "Indexed", "completions": 3, "parallelism": 2, **spec})


def failing(*rules: Document, **spec: Any) -> Document:
    return job(podFailurePolicy={"rules": list(rules)}, **spec)


def succeeding(*rules: Document) -> Document:
    return indexed(successPolicy={"rules": list(rules)})


def cron(*, job_spec: Document | None = None, **spec: Any) -> Document:
    template = {"spec": {**job()["spec"], **(job_spec or {})}}
    return obj("batch/v1", "CronJob", spec={"schedule": "* * * * *", "jobTemplate": template, **spec})


def budget(**spec: Any) -> Document:
    return obj("policy/v1", "PodDisruptionBudget", spec=spec)


def priority(name: str = "rules-of-groups", **fields: Any) -> Document:
    return obj("scheduling.k8s.io/v1", "PriorityClass", metadata={"name": name}, **fields)


def pod_group(policy_: Document | None = None, **spec: Any) -> Document:
    return obj("scheduling.k8s.io/v1alpha2", "PodGroup", spec={"schedulingPolicy": policy_ or {"basic": {}}, **spec})


def gangs(*templates: Document, **spec: Any) -> Document:
    spec = {"podGroupTemplates": list(templates), **spec}
    return obj("scheduling.k8s.io/v1alpha2", "Workload", spec=spec)


def gang(name: str = "t", policy_: Document | None = None, **template: Any) -> Document:
    return {"name": name, "schedulingPolicy": policy_ or {"gang": {"minCount": 2}}, **template}


def lease(**spec: Any) -> Document:
    return obj("coordination.k8s.io/v1", "Lease", spec=spec)


def claim(*requests: Document, **devices_: Any) -> Document:
    return obj("resource.k8s.io/v1", "ResourceClaim", spec={"devices": {"requests": list(requests), **devices_}})


def exactly(name: str = "r", **request: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": "c", **request}}


def first(*alternatives: Document) -> Document:
    return {"name": "r", "firstAvailable": list(alternatives)}


def opaque(driver: str = "d", parameters: Any = None, **more: Any) -> Document:
    return {"opaque": {"driver": driver, "parameters": {} if parameters is None else parameters}, **more}


def resource_slice(*devices_: Document, **spec: Any) -> Document:
    whole = {
        "driver": "d",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": list(devices_),
        **spec,
    }
    return obj(
        "resource.k8s.io/v1", "ResourceSlice", spec={name: value for name, value in whole.items() if value != []}
    )


def attribute(**value: Any) -> Document:
    return resource_slice({"name": "g", "attributes": {"a": value}})


def capacity(policy_: Document, value: str = "10", *, shared: bool = True) -> Document:
    device = {"name": "g", "capacity": {"c": {"value": value, "requestPolicy": policy_}}}
    return resource_slice({**device, "allowMultipleAllocations": True} if shared else device)


def device_class(**spec: Any) -> Document:
    return obj("resource.k8s.io/v1", "DeviceClass", spec=spec)


def taint_rule(taint: Document, **selector: Any) -> Document:
    spec = {"taint": taint, **({"deviceSelector": selector} if selector else {})}
    return obj("resource.k8s.io/v1beta2", "DeviceTaintRule", spec=spec)


def stored(kind: str, **fields: Any) -> Document:
    return obj("storage.k8s.io/v1", kind, **fields)


def role(*rules: Document, kind: str = "Role", **fields: Any) -> Document:
    return obj("rbac.authorization.k8s.io/v1", kind, rules=list(rules), **fields)


def binding(role_ref: Document, *subjects: Document, kind: str = "RoleBinding") -> Document:
    return obj("rbac.authorization.k8s.io/v1", kind, roleRef=role_ref, subjects=list(subjects))


def event(**fields: Any) -> Document:
    return obj("events.k8s.io/v1", "Event", **fields)


def timed(**fields: Any) -> Document:
    whole = {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "a.b/c",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        **fields,
    }
    return event(**whole)


def core_event(**fields: Any) -> Document:
    return obj("v1", "Event", **{"involvedObject": {"namespace": "default"}, **fields})


def autoscaler(**spec: Any) -> Document:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target, **spec}
    return obj("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)


def ingress(**spec: Any) -> Document:
    return obj("networking.k8s.io/v1", "Ingress", spec=spec)


def http(**path: Any) -> Document:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    return ingress(rules=[{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend, **path}]}}])


def network_policy(**spec: Any) -> Document:
    return obj("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, **spec})


def webhook(**hook: Any) -> Document:
    whole = {
        "name": "a.b.c",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://h"},
        **hook,
    }
    return obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[whole])


def called(**rule: Any) -> Document:
    whole = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], **rule}
    return webhook(rules=[whole])


GROUP = "rbac.authorization.k8s.io"
ROLE = {"apiGroup": GROUP, "kind": "Role", "name": "r"}
CLUSTER_ROLE = {**ROLE, "kind": "ClusterRole"}
EXIT = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
WRONG_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Is"}, {"key": "-", "operator": "In"}]}
RULE = {"operator": "Exists", "key": "k"}

WRONG: list[Document] = [
    # apps
    workload("Deployment", replicas=-1),
    workload("Deployment", selector=None),
    workload("Deployment", selector={}),
    workload("Deployment", selector=WRONG_SELECTOR),
    workload("Deployment", selector={"matchLabels": {"a": "c"}}),
    workload("Deployment", selector={"matchLabels": {"a/b/c": "-"}}),
    workload("Deployment", selector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
    workload("Deployment", template={"spec": containers()}),
    workload("Deployment", template=labelled({"a": "b"}, restartPolicy="Never", activeDeadlineSeconds=3)),
    workload("Deployment", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
    workload("Deployment", strategy={"type": "Slow"}),
    workload("Deployment", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
    workload("Deployment", strategy={"rollingUpdate": {"maxSurge": "a%", "maxUnavailable": "200%"}}),
    workload("Deployment", strategy={"rollingUpdate": {"maxSurge": -1, "maxUnavailable": "-5%"}}),
    workload("Deployment", minReadySeconds=-1, revisionHistoryLimit=-2, progressDeadlineSeconds=-3),
    workload("Deployment", minReadySeconds=700),
    workload("ReplicaSet", replicas=-1, minReadySeconds=-1),
    workload("ReplicaSet", selector={"matchLabels": {"a": "c"}}),
    workload("ReplicaSet", selector={}, template=labelled({"a": "b"}, restartPolicy="OnFailure")),
    workload("StatefulSet", podManagementPolicy="Any", replicas=-1, minReadySeconds=-1),
    workload("StatefulSet", updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 1}}),
    workload("StatefulSet", updateStrategy={"type": "Fast"}),
    workload("StatefulSet", updateStrategy={"rollingUpdate": {"partition": -1}}),
    workload("StatefulSet", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Keep", "whenScaled": "Delete"}),
    workload("StatefulSet", ordinals={"start": -1}, serviceName="A_B"),
    workload("StatefulSet", selector={}),
    workload("StatefulSet", selector=WRONG_SELECTOR),
    workload("StatefulSet", template=labelled({"a": "b", "c": "-"}, restartPolicy="Never", activeDeadlineSeconds=1)),
    workload("StatefulSet", serviceName="a.b"),
    workload("DaemonSet", selector={}),
    workload("DaemonSet", selector=None),
    workload("DaemonSet", selector={"matchLabels": {"a": "c"}}),
    workload("DaemonSet", updateStrategy={"type": "Slow"}),
    workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}),
    workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}),
    workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": "101%", "maxUnavailable": "x"}}),
    workload("DaemonSet", minReadySeconds=-1, revisionHistoryLimit=-1),
    workload("DaemonSet", template=labelled({"a": "b"}, restartPolicy="Never", activeDeadlineSeconds=1)),
    obj("apps/v1", "ControllerRevision", revision=-1),
    obj("apps/v1", "ControllerRevision", revision=1, data=[1]),
    # batch
    job(parallelism=-1, completions=-2, activeDeadlineSeconds=-3, backoffLimit=-4, ttlSecondsAfterFinished=-5),
    job(backoffLimitPerIndex=-1),
    job(maxFailedIndexes=1),
    job(managedBy=""),
    job(managedBy="acme"),
    job(managedBy="Acme_/a b"),
    job(managedBy=f"acme.io/{LONG}"),
    job(completionMode="Some"),
    job(completionMode="Indexed", parallelism=1),
    indexed(parallelism=100_001),
    indexed(maxFailedIndexes=4, backoffLimitPerIndex=1),
    indexed(completions=200_000, parallelism=20_000, backoffLimitPerIndex=1),
    indexed(completions=200_000, parallelism=1, backoffLimitPerIndex=1, maxFailedIndexes=100_001),
    job(pod={"restartPolicy": "Always"}),
    job(pod={"restartPolicy": "Sometimes"}),
    failing(EXIT, pod={"restartPolicy": "OnFailure"}),
    failing(EXIT, podReplacementPolicy="TerminatingOrFailed"),
    job(podReplacementPolicy="Never"),
    failing(*[EXIT] * 21),
    failing({}),
    failing({"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}),
    failing({"action": "Panic", "onPodConditions": [{"type": "a/b/c", "status": "Yes"}, {"type": "", "status": ""}]}),
    failing({**EXIT, "onPodConditions": [{"type": "A", "status": "True"}]}),
    failing({"action": "Ignore", "onExitCodes": {"operator": "Is", "containerName": "z"}}),
    failing({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3, 0, 3]}}),
    failing({"action": "Ignore", "onExitCodes": {"operator": "In", "values": list(range(1, 300))}}),
    job(successPolicy={"rules": [{"succeededCount": 1}]}),
    succeeding(),
    succeeding({}),
    succeeding({"succeededCount": -1}, {"succeededCount": 9}, {"succeededCount": 2, "succeededIndexes": "1"}),
    succeeding({"succeededIndexes": "a"}, {"succeededIndexes": "1-2-3"}, {"succeededIndexes": "5"}),
    succeeding({"succeededIndexes": "2-1"}, {"succeededIndexes": "1,0"}, {"succeededIndexes": "0-x"}),
    job(labels={"job-name": "other"}),
    job(labels={"controller-uid": "other"}),
    job(selector={"matchLabels": {"a": "b"}}),
    job(manualSelector=True),
    job(manualSelector=True, selector={"matchLabels": {"a": "b"}}),
    job(manualSelector=True, selector={"matchLabels": {"a": "-"}}, labels={"a": "b"}),
    cron(schedule=""),
    cron(schedule="* * *"),
    cron(schedule="a * * * *"),
    cron(schedule="70 * * * *"),
    cron(schedule="5-1 * * * *"),
    cron(schedule="1-2-3 * * * *"),
    cron(schedule="*/0 * * * *"),
    cron(schedule="1/2/3 * * * *"),
    cron(schedule="* * 0 * *"),
    cron(schedule="@often"),
    cron(schedule="@every soon"),
    cron(schedule="TZ=UTC * * * * *"),
    cron(schedule="CRON_TZ=Nowhere/City * * * * *"),
    cron(timeZone=""),
    cron(timeZone="Local"),
    cron(timeZone="Nowhere/City"),
    cron(timeZone="../etc"),
    cron(startingDeadlineSeconds=-1, successfulJobsHistoryLimit=-1, failedJobsHistoryLimit=-1),
    cron(concurrencyPolicy="Queue"),
    cron(job_spec={"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True, "parallelism": -1}),
    {**cron(), "metadata": {"name": "c" * 53}},
    # policy, scheduling, coordination
    budget(minAvailable=1, maxUnavailable="5%", selector={"matchLabels": {"a": "b"}}),
    budget(minAvailable=-1),
    budget(maxUnavailable="x"),
    budget(maxUnavailable="101%"),
    budget(minAvailable=1, selector=WRONG_SELECTOR, unhealthyPodEvictionPolicy="Never"),
    priority(value=1_000_000_001),
    priority("system-mine", value=1),
    priority("system-node-critical", value=5),
    priority("system-cluster-critical", value=2_000_000_000, globalDefault=True),
    priority(value=1, preemptionPolicy="Sometimes"),
    gangs(),
    gangs(gang(""), gang("T_"), gang("a", {"gang": {}}), gang("b", {"gang": {"minCount": -1}})),
    gangs(gang(), gang()),
    gangs(*[gang(f"t{index}") for index in range(9)]),
    gangs(gang(), controllerRef={"apiGroup": "_", "kind": "a/b", "name": ""}),
    gangs(gang("t", {"gang": {"minCount": 1}, "basic": {}})),
    gangs({"name": "t"}),
    pod_group({"gang": {}, "basic": {}}),
    pod_group({"gang": {"minCount": -2}}),
    pod_group(schedulingConstraints={"topology": [{"key": "-"}]}),
    pod_group(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
    pod_group(disruptionMode="Odd"),
    gangs(gang(disruptionMode="Odd", priorityClassName="_", priority=1_000_000_001)),
    pod_group(podGroupTemplateRef={}),
    pod_group(podGroupTemplateRef={"workload": {"workloadName": "W_", "podGroupTemplateName": ""}}),
    lease(leaseDurationSeconds=0, leaseTransitions=-1),
    # resource.k8s.io
    claim({"name": "r"}),
    claim({"name": "R_", "exactly": {"deviceClassName": "_"}}),
    claim(exactly(), exactly()),
    claim({**exactly(), **first({"name": "a", "deviceClassName": "c"})}),
    claim(*[exactly(f"r{index}") for index in range(33)]),
    claim(exactly(deviceClassName="")),
    claim(exactly(allocationMode="All", count=3), exactly("s", count=-1), exactly("t", allocationMode="Some")),
    claim(exactly(selectors=[{}])),
    claim(exactly(selectors=[{"cel": {"expression": "true || " * 1300 + "true"}}])),
    claim(exactly(tolerations=[{"operator": "Is", "key": "-", "effect": "Now"}, {"operator": "Exists", "value": "x"}])),
    claim(exactly(tolerations=[{"operator": "Equal", "value": "-"}])),
    claim(first({"name": "a", "deviceClassName": "c"}, {"name": "a", "deviceClassName": ""})),
    claim(first(*[{"name": f"a{index}", "deviceClassName": "c"} for index in range(9)])),
    claim(exactly(), constraints=[{"requests": ["x", "r/a", "a/b/c", "r", "r"], "matchAttribute": "a/b"}]),
    claim(exactly(), constraints=[{"matchAttribute": "a"}, {"matchAttribute": "/x"}, {"matchAttribute": "a.b/"}]),
    claim(exactly(), constraints=[{"distinctAttribute": "a/-"}, {}, {"matchAttribute": f"a/{LONG}"}]),
    claim(exactly(), config=[{}, opaque("_"), opaque("", [1]), opaque(parameters={"a": "x" * 11_000})]),
    claim(exactly(), config=[opaque(LONG, requests=["z"])]),
    obj(
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        spec={"metadata": {"labels": {"a": "-"}}, "spec": claim({"name": "r"})["spec"]},
    ),
    resource_slice(driver=""),
    resource_slice(driver="D_", pool={"name": "", "generation": -1, "resourceSliceCount": 0}),
    resource_slice(pool={"name": "a//B", "generation": 1, "resourceSliceCount": 1}),
    resource_slice(nodeName=None),
    resource_slice(nodeName="N_"),
    resource_slice(nodeName=""),
    resource_slice(allNodes=True),
    resource_slice(nodeName=None, allNodes=False, perDeviceNodeSelection=False),
    resource_slice(nodeName=None, nodeSelector={}),
    resource_slice(
        nodeName=None,
        nodeSelector={
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "a", "operator": "Gt"}]},
                {"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]},
            ]
        },
    ),
    resource_slice({"name": "G"}, {"name": "g"}, {"name": "g"}),
    resource_slice(*[{"name": f"g{index}"} for index in range(129)]),
    resource_slice(*[{"name": f"g{index}", "taints": [{"key": "a", "effect": "None"}]} for index in range(65)]),
    attribute(),
    attribute(int=1, bool=True),
    attribute(string=LONG),
    attribute(version="1.2"),
    attribute(version="v" + LONG),
    resource_slice({"name": "g", "attributes": {f"a{index}": {"int": 1} for index in range(33)}}),
    resource_slice({"name": "g", "attributes": {"a b": {"int": 1}}}),
    resource_slice({"name": "g", "attributes": {"/x": {"int": 1}}}),
    resource_slice({"name": "g", "capacity": {f"d/{LONG}": {"value": "1"}}}),
    resource_slice({"name": "g", "attributes": {"y" * 110: {}}}),
    capacity({"default": "1", "validValues": ["1"]}, shared=False),
    capacity({"default": "1", "validValues": ["1"], "validRange": {"min": "1"}}),
    capacity({"validValues": ["1"]}),
    capacity({"validRange": {"min": "1"}}),
    capacity({"default": "3", "validValues": ["2", "1", "20", "1"]}),
    capacity({"default": "1", "validRange": {"max": "2"}}),
    capacity({"default": "1", "validRange": {"min": "20", "max": "15"}}),
    capacity({"default": "9", "validRange": {"min": "1", "max": "6", "step": "3"}}),
    capacity({"default": "1", "validRange": {"min": "1", "step": "15"}}),
    resource_slice({"name": "g", "taints": [{"key": "", "value": "-", "effect": "Soon"}, {"key": "a"}]}),
    resource_slice({"name": "g", "consumesCounters": [{"counterSet": "", "counters": {}}, {"counterSet": "C_"}]}),
    resource_slice({"name": "g", "consumesCounters": [{"counterSet": "c", "counters": {"C_": {"value": "1"}}}] * 2}),
    resource_slice({"name": "g", "nodeName": "n"}),
    resource_slice({"name": "g"}, {"name": "h", "nodeName": ""}, nodeName=None, perDeviceNodeSelection=True),
    resource_slice(
        {"name": "g", "nodeName": "n", "allNodes": True},
        {"name": "h", "allNodes": False},
        nodeName=None,
        perDeviceNodeSelection=True,
    ),
    resource_slice({"name": "g", "bindingConditions": ["-", "a", "a"], "bindingFailureConditions": ["a"]}),
    resource_slice({"name": "g", "bindingConditions": ["a"]}, {"name": "h", "bindingFailureConditions": ["a"]}),
    resource_slice({"name": "g", "bindingConditions": list("abcde"), "bindingFailureConditions": ["f"]}),
    resource_slice(sharedCounters=[{"name": "", "counters": {}}, {"name": "C", "counters": {"c": {"value": "1"}}}]),
    resource_slice({"name": "g"}, sharedCounters=[{"name": "c", "counters": {"c": {"value": "1"}}}]),
    resource_slice(sharedCounters=[{"name": "c", "counters": {f"c{index}": {"value": "1"} for index in range(33)}}]),
    device_class(selectors=[{}], config=[{}, opaque("")]),
    device_class(extendedResourceName="gpu"),
    device_class(extendedResourceName="kubernetes.io/gpu"),
    taint_rule({"key": "-", "effect": "Soon"}, driver="", pool="", device="_"),
    taint_rule({"key": "k", "value": "-"}),
    # storage.k8s.io
    stored("StorageClass", provisioner=""),
    stored("StorageClass", provisioner="a/b/c", reclaimPolicy="Burn", volumeBindingMode="Later"),
    stored("StorageClass", provisioner="p", parameters={"": "x"}),
    stored(
        "StorageClass",
        provisioner="p",
        allowedTopologies=[{"matchLabelExpressions": [{"key": "-", "values": ["a", "a"]}, {"key": "-", "values": []}]}],
    ),
    stored(
        "StorageClass",
        provisioner="p",
        allowedTopologies=[{"matchLabelExpressions": [{"key": "k", "values": ["a"]}]}] * 2,
    ),
    stored("VolumeAttributesClass", driverName="", parameters={}),
    stored("VolumeAttachment", spec={"attacher": "", "nodeName": "_", "source": {}}),
    stored("VolumeAttachment", spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": ""}}),
    stored("VolumeAttachment", spec={"attacher": LONG, "nodeName": "n", "source": {"persistentVolumeName": "V"}}),
    stored("CSINode", spec={"drivers": [{"name": "", "nodeID": ""}, {"name": "d_", "nodeID": "n" * 257}]}),
    stored(
        "CSINode",
        spec={
            "drivers": [
                {"name": "d", "nodeID": "n", "allocatable": {"count": -1}},
                {"name": "d", "nodeID": "n", "topologyKeys": ["a", "a", "", "-"]},
            ]
        },
    ),
    stored("CSIDriver", spec={"fsGroupPolicy": "Some", "volumeLifecycleModes": ["Short"]}),
    stored("CSIDriver", spec={"nodeAllocatableUpdatePeriodSeconds": 5, "serviceAccountTokenInSecrets": True}),
    stored(
        "CSIDriver",
        spec={"tokenRequests": [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}, {"audience": "b"}]},
    ),
    stored("CSIDriver", spec={"tokenRequests": [{"audience": "a", "expirationSeconds": 2**32 + 1}]}),
    stored("CSIStorageCapacity", storageClassName="_", capacity="-1", nodeTopology=WRONG_SELECTOR),
    # rbac
    role({}),
    role({"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}),
    role({"nonResourceURLs": ["/x"], "resources": ["pods"]}, kind="ClusterRole"),
    role(kind="ClusterRole", aggregationRule={}),
    role(kind="ClusterRole", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "-"}}]}),
    binding({"apiGroup": "x", "kind": "Pod", "name": ""}),
    binding({**ROLE, "name": "a/b%"}),
    binding({**ROLE, "name": ".."}),
    binding(ROLE, {"kind": "ServiceAccount", "name": "_", "apiGroup": "x"}, {"kind": "Robot", "name": ""}),
    binding(ROLE, {"kind": "User", "name": "u", "apiGroup": "x"}, {"kind": "Group", "name": "", "apiGroup": "y"}),
    binding(ROLE, kind="ClusterRoleBinding"),
    binding(CLUSTER_ROLE, {"kind": "ServiceAccount", "name": "s"}, kind="ClusterRoleBinding"),
    # events
    event(),
    event(regarding={"namespace": "elsewhere"}, deprecatedCount=1, deprecatedSource={"component": "c"}),
    event(deprecatedFirstTimestamp="2026-01-01T00:00:00Z", deprecatedLastTimestamp="2026-01-01T00:00:00Z"),
    timed(reportingController="", reportingInstance="", action="", reason="", type="Odd"),
    timed(
        reportingController="a/b/c", reportingInstance="i" * 129, action="a" * 129, reason="r" * 129, note="n" * 1025
    ),
    timed(series={"count": 1, "lastObservedTime": None}),
    core_event(involvedObject={"namespace": "elsewhere"}),
    core_event(eventTime="2026-01-01T00:00:00.000000Z"),
    core_event(eventTime="2026-01-01T00:00:00.000000Z", reportingComponent="-", message="n" * 1025),
    # autoscaling
    autoscaler(maxReplicas=0),
    autoscaler(maxReplicas=-1, minReplicas=0),
    autoscaler(maxReplicas=1, minReplicas=2),
    autoscaler(scaleTargetRef={"kind": "", "name": "a/b"}),
    autoscaler(scaleTargetRef={"apiVersion": "a/b/c", "kind": "K", "name": "n"}),
    autoscaler(metrics=[{"type": ""}]),
    autoscaler(metrics=[{"type": "Pods", "resource": {"name": "", "target": {"type": "Odd"}}}]),
    autoscaler(metrics=[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]),
    autoscaler(
        metrics=[{"type": "Pods", "pods": {"metric": {"name": ""}, "target": {"type": "Value", "value": "-1"}}}]
    ),
    autoscaler(metrics=[{"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value"}}}]),
    autoscaler(
        metrics=[
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "",
                    "target": {"type": "Utilization", "averageUtilization": 0, "averageValue": "1"},
                },
            }
        ]
    ),
    autoscaler(behavior={"scaleUp": {"stabilizationWindowSeconds": -1, "selectPolicy": "Mid", "tolerance": "-1"}}),
    autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 3601, "policies": [{"type": "Some"}]}}),
    autoscaler(behavior={"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1801}]}}),
    obj("autoscaling/v1", "HorizontalPodAutoscaler", spec={"maxReplicas": 0, "scaleTargetRef": {}}),
    # networking, node, admissionregistration
    ingress(),
    ingress(defaultBackend={}, ingressClassName="_", tls=[{"hosts": ["a_", "*a"], "secretName": "S"}]),
    ingress(defaultBackend={"service": {"name": "", "port": {"name": "x", "number": 1}}}),
    ingress(defaultBackend={"service": {"name": "S", "port": {"number": 70_000}}}),
    ingress(defaultBackend={"resource": {"kind": "", "name": "a/b", "apiGroup": "_"}}),
    ingress(rules=[{"host": "1.2.3.4"}, {"host": "*.*"}, {"http": {"paths": []}}]),
    http(pathType=None),
    http(pathType="Odd"),
    http(path="x//y/.."),
    http(path="x", pathType="ImplementationSpecific", backend={"service": {"name": "s"}}),
    obj("networking.k8s.io/v1", "IngressClass", spec={"controller": "x", "parameters": {"kind": "", "name": ""}}),
    obj(
        "networking.k8s.io/v1",
        "IngressClass",
        spec={"controller": "a.b/c", "parameters": {"kind": "k", "name": "n", "scope": "Namespace"}},
    ),
    network_policy(podSelector=WRONG_SELECTOR, policyTypes=["Up"]),
    network_policy(ingress=[{"from": [{}], "ports": [{"protocol": "X", "port": 0}, {"endPort": 5}]}]),
    network_policy(egress=[{"to": [{"ipBlock": {"cidr": "x"}, "podSelector": {}}], "ports": [{"port": "a--b"}]}]),
    network_policy(egress=[{"ports": [{"port": 10, "endPort": 5}, {"port": "http", "endPort": 5}]}]),
    obj("node.k8s.io/v1", "RuntimeClass", handler=""),
    obj("node.k8s.io/v1", "RuntimeClass", handler="A_", scheduling={"nodeSelector": {"a": "-"}}),
    obj("node.k8s.io/v1", "RuntimeClass", handler="a", scheduling={"tolerations": [RULE, RULE]}),
    webhook(name="", sideEffects=None, admissionReviewVersions=[], timeoutSeconds=31),
    webhook(name="a.b", sideEffects="Some", admissionReviewVersions=["v9", "V", "v9"], failurePolicy="Odd"),
    webhook(clientConfig={}, namespaceSelector=WRONG_SELECTOR, matchPolicy="Odd"),
    webhook(clientConfig={"url": "http://u@h/p?q#f"}),
    webhook(clientConfig={"service": {"name": "", "namespace": "n", "port": 0, "path": "a//B"}}),
    webhook(matchConditions=[{"name": "", "expression": " "}]),
    called(operations=["GET", "*"], apiGroups=[], apiVersions=["*", ""], scope="Odd"),
    called(resources=["*/*", "pods", "", "a/*", "a/b", "*/c", "d/c"]),
    called(resources=["*", "pods"]),
]


def changed(base: Document, **changes: Any) -> tuple[Document, Document]:
    """An object, and the same with other values at paths that are written with `__` between the names."""
    new = copied(base)
    for path, value in changes.items():
        *steps, last = path.split("__")
        holder = new
        for step in steps:
            holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
        if isinstance(holder, list):
            holder[int(last)] = value
        else:
            holder[last] = value
    return base, new


# Jobs of somebody else: the controller leaves them alone.
MANAGED = "tests.example/nobody"
SUSPENDED = job(suspend=True, managedBy=MANAGED)
ALLOCATABLE = claim(exactly(), first({"name": "a", "deviceClassName": "c"}) | {"name": "s"})
POLICED = failing(EXIT, suspend=True, managedBy=MANAGED)

CHANGES: list[tuple[Document, Document]] = [
    changed(
        workload("Deployment", replicas=0), spec__selector__matchLabels__c="d", spec__template__metadata__labels__c="d"
    ),
    changed(workload("ReplicaSet", replicas=0), spec__selector__matchLabels__c="d", spec__replicas=-1),
    changed(workload("StatefulSet", replicas=0), spec__serviceName="other", spec__replicas=-1),
    changed(workload("StatefulSet", replicas=0), spec__podManagementPolicy="Parallel"),
    changed(workload("DaemonSet"), spec__selector__matchLabels__a="c"),
    changed(obj("apps/v1", "ControllerRevision", revision=1, data={"a": 1}), data={"a": 2}, revision=-1),
    changed(SUSPENDED, spec__completions=5),
    changed(SUSPENDED, spec__template__spec__containers__0__image="j"),
    changed(
        SUSPENDED,
        spec__template__spec__containers__0__resources={"limits": {"cpu": "1"}},
        spec__template__spec__hostNetwork=True,
    ),
    changed(SUSPENDED, spec__template__spec__affinity={"podAffinity": {}}, spec__parallelism=-1),
    changed(SUSPENDED, spec__completionMode="Indexed", spec__completions=1, spec__backoffLimitPerIndex=1),
    changed(SUSPENDED, spec__managedBy="a.b/c"),
    changed(job(parallelism=0, managedBy=MANAGED), spec__template__metadata__annotations={"a": "<b>"}),
    changed(job(parallelism=0, managedBy=MANAGED), spec__template__spec__nodeSelector={"a": "b"}),
    changed(indexed(parallelism=0, managedBy=MANAGED), spec__completions=4),
    changed(POLICED, spec__podFailurePolicy__rules__0__onExitCodes__values=[1, 2]),
    changed(
        indexed(suspend=True, managedBy=MANAGED, successPolicy={"rules": [{"succeededCount": 1}]}),
        spec__successPolicy={"rules": [{"succeededIndexes": "1"}]},
    ),
    changed(cron(suspend=True), spec__schedule="TZ=UTC * * * * *", spec__timeZone="Nowhere"),
    changed(budget(minAvailable=1), spec__maxUnavailable=1),
    changed(priority(value=5), value=6, preemptionPolicy="Never"),
    changed(gangs(gang()), spec__podGroupTemplates__0__name="u"),
    changed(gangs(gang()), spec__controllerRef={"kind": "K", "name": "n"}),
    changed(pod_group({"gang": {"minCount": 2}}, priority=0), spec__schedulingPolicy__gang__minCount=3),
    changed(
        pod_group(priority=0), spec__disruptionMode="PodGroup", spec__schedulingConstraints={"topology": [{"key": "a"}]}
    ),
    changed(
        pod_group(priority=0),
        spec__podGroupTemplateRef={"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
    ),
    changed(lease(leaseDurationSeconds=5), spec__leaseDurationSeconds=-5),
    changed(ALLOCATABLE, spec__devices__requests__0__exactly__count=3),
    changed(
        obj("resource.k8s.io/v1", "ResourceClaimTemplate", spec={"spec": claim(exactly())["spec"]}),
        spec__spec__devices__requests__0__name="other",
        spec__metadata__labels={"a": "b"},
    ),
    changed(resource_slice({"name": "g"}), spec__driver="e", spec__nodeName="m", spec__pool__name="q"),
    changed(device_class(), spec__config=[{}]),
    changed(taint_rule({"key": "k", "effect": "None"}), spec__taint={"key": "-", "effect": "Odd"}),
    changed(
        stored("StorageClass", provisioner="p"),
        provisioner="q",
        parameters={"a": "b"},
        reclaimPolicy="Retain",
        volumeBindingMode="WaitForFirstConsumer",
    ),
    changed(
        stored("VolumeAttributesClass", driverName="d", parameters={"a": "b"}), driverName="e", parameters={"a": "c"}
    ),
    changed(
        stored("VolumeAttachment", spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}),
        spec__nodeName="m",
    ),
    changed(stored("CSINode", spec={"drivers": [{"name": "d", "nodeID": "n"}]}), spec__drivers__0__nodeID="m"),
    changed(stored("CSIDriver", spec={}), spec__attachRequired=False, spec__volumeLifecycleModes=["Ephemeral"]),
    changed(
        stored("CSIStorageCapacity", storageClassName="c"),
        storageClassName="d",
        nodeTopology={"matchLabels": {"a": "b"}},
    ),
    changed(role({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), rules=[{}]),
    changed(binding(ROLE), roleRef__name="other"),
    changed(binding(CLUSTER_ROLE, kind="ClusterRoleBinding"), roleRef__name="other", subjects=[{"kind": "User"}]),
    changed(
        timed(regarding={"namespace": "default", "name": "a"}, note="n"),
        regarding__name="b",
        note="m",
        reason="q",
        type="Warning",
        action="z",
        reportingController="d",
        reportingInstance="j",
        series={"count": 1, "lastObservedTime": None},
        eventTime="2026-01-02T00:00:00.000000Z",
        related={"name": "x"},
    ),
    changed(core_event(), involvedObject__namespace="elsewhere"),
    changed(autoscaler(), spec__maxReplicas=0),
    changed(obj("networking.k8s.io/v1", "IngressClass", spec={"controller": "a.b/c"}), spec__controller="a.b/d"),
    changed(obj("node.k8s.io/v1", "RuntimeClass", handler="a"), handler="b"),
]

TRUE = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R"}
ALLOCATION = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "g"}]}}
CONSUMER = {"resource": "pods", "name": "p", "uid": "u"}


def conditions(*types: str) -> list[Document]:
    return [{"type": type_, **TRUE} for type_ in types]


# An object, its status, and the wrong status that comes after.
STATUSES: list[tuple[Document, Document, Document]] = [
    (
        workload("Deployment", replicas=0, paused=True),
        {"collisionCount": 3},
        {"replicas": -1, "readyReplicas": 2, "availableReplicas": 3, "updatedReplicas": 1, "collisionCount": 1},
    ),
    (workload("ReplicaSet", replicas=0), {}, {"replicas": 1, "fullyLabeledReplicas": 2, "availableReplicas": -1}),
    (
        workload("StatefulSet", replicas=0),
        {},
        {"replicas": 1, "currentReplicas": 2, "availableReplicas": 1, "collisionCount": 0},
    ),
    (workload("DaemonSet"), {}, {"numberReady": -1, "desiredNumberScheduled": -2, "currentNumberScheduled": -3}),
    (SUSPENDED, {}, {"active": -1, "succeeded": -2, "failed": -3, "ready": -4, "terminating": -5}),
    (SUSPENDED, {}, {"ready": 2, "active": 1, "uncountedTerminatedPods": {"succeeded": ["a", "a", ""]}}),
    (SUSPENDED, {}, {"conditions": conditions("Complete")}),
    (SUSPENDED, {}, {"conditions": conditions("Failed"), "startTime": "2026-01-01T00:00:00Z", "active": 1}),
    (SUSPENDED, {}, {"conditions": conditions("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")}),
    (SUSPENDED, {}, {"completionTime": "2026-01-01T00:00:00Z", "startTime": "2026-01-02T00:00:00Z"}),
    (
        SUSPENDED,
        {},
        {
            "conditions": conditions("Failed", "FailureTarget"),
            "startTime": "2026-01-01T00:00:00Z",
            "terminating": 1,
            "uncountedTerminatedPods": {"failed": ["a"]},
        },
    ),
    (SUSPENDED, {}, {"completedIndexes": "1", "failedIndexes": "2"}),
    (
        indexed(suspend=True, managedBy=MANAGED, backoffLimitPerIndex=1),
        {},
        {"completedIndexes": "0-1", "failedIndexes": "1-2"},
    ),
    (
        indexed(suspend=True, managedBy=MANAGED, backoffLimitPerIndex=1),
        {},
        {"completedIndexes": "x", "failedIndexes": "7"},
    ),
    (
        indexed(suspend=True, managedBy=MANAGED, successPolicy={"rules": [{"succeededCount": 1}]}),
        {},
        {"conditions": conditions("Complete"), "startTime": "2026-01-01T00:00:00Z"},
    ),
    (SUSPENDED, {"conditions": conditions("FailureTarget"), "failed": 2, "succeeded": 2}, {"failed": 1}),
    (SUSPENDED, {"conditions": conditions("SuccessCriteriaMet")}, {}),
    (
        job(parallelism=0, managedBy=MANAGED),
        {"startTime": "2026-01-01T00:00:00Z"},
        {"startTime": "2026-01-03T00:00:00Z"},
    ),
    (
        budget(minAvailable=1),
        {},
        {"disruptionsAllowed": -1, "currentHealthy": -1, "desiredHealthy": 0, "expectedPods": 0},
    ),
    (budget(minAvailable=1), {}, {"conditions": [{"type": "-", "status": "No", "reason": "1"}, *conditions("A", "A")]}),
    (pod_group(), {}, {"conditions": [{"type": "-", "status": "No"}, *conditions("A", "A")]}),
    (autoscaler(), {}, {"currentReplicas": -1, "desiredReplicas": -1, "currentMetrics": None}),
    (ALLOCATABLE, {}, {"reservedFor": [CONSUMER]}),
    (ALLOCATABLE, {}, {"allocation": ALLOCATION, "reservedFor": [CONSUMER, CONSUMER, {}]}),
    (ALLOCATABLE, {"allocation": ALLOCATION}, {"allocation": {"devices": {}}}),
    (
        ALLOCATABLE,
        {},
        {"allocation": {"devices": {"results": [{"request": "s/b", "driver": "", "pool": "", "device": "_"}]}}},
    ),
    (
        ALLOCATABLE,
        {},
        {
            "allocation": {
                "devices": {
                    "results": [{**ALLOCATION["devices"]["results"][0], "shareID": "x", "bindingConditions": ["a"]}],
                    "config": [{"source": "", "requests": ["z"], **opaque("")}, {"source": "FromAbove", **opaque()}],
                },
                "nodeSelector": {"nodeSelectorTerms": []},
            }
        },
    ),
    (
        ALLOCATABLE,
        {"allocation": ALLOCATION},
        {
            "allocation": ALLOCATION,
            "devices": [
                {
                    "driver": "d",
                    "pool": "p",
                    "device": "g",
                    "data": [1],
                    "conditions": [{"type": "-"}],
                    "networkData": {
                        "interfaceName": "x" * 257,
                        "ips": ["10.0.0.1", "10.0.0.1/24", "10.0.0.1/24", "::0/8"],
                    },
                },
                {"driver": "d", "pool": "p", "device": "g"},
            ],
        },
    ),
    (
        taint_rule({"key": "k", "effect": "None"}),
        {},
        {"conditions": [*conditions("A", "A"), {"type": "B", "status": "X"}]},
    ),
    (
        stored("VolumeAttachment", spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}),
        {},
        {"attached": False, "attachError": {"message": "m" * 1025, "errorCode": -1}},
    ),
]


def rules_of(resource: Resource) -> Rules:
    rules: dict[tuple[str, str], Rules] = {}
    for group in GROUPS:
        rules |= group.RULES
    return rules[resource.group, resource.kind]


def prepared(document: Document, *, uid: str = SOME_UID) -> Document:
    """The object as the rules get it: read, defaulted, and with the selector that a Job is given."""
    api_version, kind = document["apiVersion"], document["kind"]
    ready = normalized(document, api_version, kind)
    defaults.apply(ready, api_version, kind)
    ready["metadata"]["uid"] = uid
    if for_object(document).namespaced:
        ready["metadata"]["namespace"] = "default"
    if kind == "Job" and not ready["spec"].get("manualSelector"):
        name = ready["metadata"]["name"]
        labels = ready["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {})
        for prefix in ("", "batch.kubernetes.io/"):
            labels.setdefault(f"{prefix}job-name", name)
            labels.setdefault(f"{prefix}controller-uid", uid)
        selector = ready["spec"].setdefault("selector", {}).setdefault("matchLabels", {})
        selector.setdefault("batch.kubernetes.io/controller-uid", uid)
    return ready


def same_uids(text: str) -> str:
    return UID.sub(SOME_UID, text)


def assert_same(refused: ApiError, document: Document, problems: Iterable[Problem]) -> None:
    # The server names the group that it keeps the object in.
    resource = storage_resource(for_object(document))
    ours = invalid_status(resource.kind, resource.group, document["metadata"]["name"], list(problems))
    theirs = [(cause.field, cause.reason, same_uids(cause.message)) for cause in refused.causes]
    assert [(cause.field, cause.reason, same_uids(cause.message)) for cause in ours.causes] == theirs
    assert (refused.code, refused.reason) == (ours.code, ours.reason)
    assert same_uids(ours.message) == same_uids(refused.message)


def place(resource: Resource) -> str | None:
    return "default" if resource.namespaced else None


@contextlib.asynccontextmanager
async def existing(client: Client, document: Document) -> AsyncIterator[Document]:
    """The object, created, and deleted again."""
    resource = for_object(document)
    name = f"{document['metadata']['name']}-{next(COUNTER)}"
    obj_ = await client.create(
        resource, {**document, "metadata": {**document["metadata"], "name": name}}, namespace=place(resource)
    )
    try:
        yield obj_
    finally:
        await client.delete(resource, name, namespace=place(resource))


async def refusal(client: Client, document: Document, subresource: str | None = None) -> tuple[ApiError, Document]:
    """How the server refuses the update of what object: controllers may have written meanwhile."""
    resource, metadata = for_object(document), document["metadata"]
    for _ in range(20):
        latest = await client.get(resource, metadata["name"], namespace=place(resource))
        version = {"resourceVersion": latest["metadata"]["resourceVersion"]}
        update = {**document, "metadata": {**metadata, **version}}
        try:
            await client.update(resource, update, subresource=subresource, dry_run=True)
        except ApiError as error:
            if not error.is_conflict:
                return error, latest
    pytest.fail("the server took the update, or it conflicted every time")


@pytest.mark.parametrize("document", WRONG, ids=str)
async def test_a_wrong_object_is_refused_in_the_same_words(shared_lab: RunningLab, document: Document) -> None:
    resource = for_object(document)
    with pytest.raises(ApiError) as refused:
        await shared_lab.client.create(resource, document, namespace=place(resource), dry_run=True)
    assert_same(refused.value, document, rules_of(resource).create(prepared(document)))


@pytest.mark.parametrize(("before", "after"), CHANGES, ids=str)
async def test_a_wrong_change_is_refused_in_the_same_words(
    shared_lab: RunningLab, before: Document, after: Document
) -> None:
    resource = for_object(before)
    async with existing(shared_lab.client, before) as obj_:
        if resource.kind == "Job":
            fixed = {**copied(obj_), "spec": {**copied(after["spec"]), "selector": obj_["spec"]["selector"]}}
            labels = fixed["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {})
            labels |= obj_["spec"]["template"]["metadata"]["labels"]
            after = fixed
        after = {**after, "metadata": obj_["metadata"]}
        refused, old = await refusal(shared_lab.client, after)
        uid = obj_["metadata"]["uid"]
        assert_same(refused, after, rules_of(resource).update(prepared(after, uid=uid), prepared(old, uid=uid)))


@pytest.mark.parametrize(("document", "status", "wrong"), STATUSES, ids=str)
async def test_a_wrong_status_is_refused_in_the_same_words(
    shared_lab: RunningLab, document: Document, status: Document, wrong: Document
) -> None:
    resource = for_object(document)
    async with existing(shared_lab.client, document) as created:
        name = created["metadata"]["name"]
        if status:
            await shared_lab.client.modify(
                resource,
                name,
                lambda latest: latest.update(status=status),
                namespace=place(resource),
                subresource="status",
            )
        new = {**created, "status": wrong}
        refused, old = await refusal(shared_lab.client, new, "status")
        assert_same(refused, new, rules_of(resource).update_status(prepared(new), prepared(old)))
