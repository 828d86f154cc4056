"""What the real API server makes of objects that say little, and ours beside it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubedyno.client.rest import Client
from kubedyno.controllers.volumes import provisioning
from kubedyno.kinds import defaults
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.resources import for_object
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

Body = dict[str, Any]

BODIES = json.loads(Path(__file__).with_name("defaults_bodies.json").read_text())

# What admission and strategies set: not the subject here.
_OF_STRATEGIES = ("uid", "creationTimestamp", "managedFields", "generation", "namespace", "resourceVersion")
_LEFT_OUT: dict[str, tuple[str, ...]] = {
    "Pod": (
        "status",
        "spec.priority",
        "spec.preemptionPolicy",
        "spec.serviceAccount",
        "spec.serviceAccountName",
        "spec.tolerations",
    ),
    "Service": (
        "status",
        "spec.clusterIP",
        "spec.clusterIPs",
        "spec.ipFamilies",
        "spec.ipFamilyPolicy",
        "spec.healthCheckNodePort",
    ),
    "CertificateSigningRequest": ("status", "spec.username", "spec.groups", "spec.uid", "spec.extra"),
    "Job": ("status", "spec.selector"),
    "DaemonSet": ("status", "metadata.annotations"),
    "Node": ("spec.taints",),
    "Namespace": ("status", "spec"),
    "PersistentVolume": ("metadata.finalizers", "status.lastPhaseTransitionTime"),
    "PersistentVolumeClaim": ("metadata.finalizers", "spec.dataSource"),
    "VolumeAttributesClass": ("metadata.finalizers",),
    "PodGroup": ("status", "metadata.finalizers", "spec.priority"),
    "VolumeAttachment": ("status",),
    "APIService": ("status", "metadata.labels"),
    "Ingress": ("status", "spec.ingressClassName"),
}
_OTHERWISE = ("status",)
_OF_JOBS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")


def compared(obj: Body) -> Body:
    """A copy without what is left out."""
    obj = copy.deepcopy(obj)
    for path in (*(f"metadata.{name}" for name in _OF_STRATEGIES), *_LEFT_OUT.get(obj["kind"], _OTHERWISE)):
        *above, last = path.split(".")
        holder = obj
        for name in above:
            holder = holder.get(name, {})
        holder.pop(last, None)
    if obj["kind"] == "Pod":
        _forget_token(obj["spec"])
    if obj["kind"] == "PersistentVolumeClaim" and obj["spec"].get("storageClassName") == provisioning.IMMEDIATE:
        del obj["spec"]["storageClassName"]  # admission's: it is the lab's default class
    if obj["kind"] == "Service":
        for port in obj["spec"].get("ports", ()):
            port.pop("nodePort", None)
    if obj["kind"] == "Job":
        for metadata in (obj["metadata"], obj["spec"]["template"]["metadata"]):
            labels = {key: text for key, text in metadata.pop("labels", {}).items() if key not in _OF_JOBS}
            if labels:
                metadata["labels"] = labels
    return obj


def _forget_token(spec: Body) -> None:
    """The volume with the service account's token, and its mounts."""
    lists: list[tuple[Body, str]] = [(spec, "volumes")]
    lists += [(one, "volumeMounts") for one in (*spec["containers"], *spec.get("initContainers", ()))]
    for holder, name in lists:
        kept = [item for item in holder.pop(name, ()) if not item["name"].startswith("kube-api-access-")]
        if kept:
            holder[name] = kept


def ours(body: Body) -> Body:
    made = normalized(body, body["apiVersion"], body["kind"])
    defaults.apply(made, body["apiVersion"], body["kind"])
    return made


async def theirs(client: Client, body: Body) -> Body:
    """What the server would create; an answer that it refuses fails the test with its words."""
    resource = for_object(body)
    return await client.create(
        resource, body, namespace="default" if resource.namespaced else None, dry_run=True, field_validation="Ignore"
    )


def told(body: Body) -> str:
    return f"{body['kind']}-{list(body.values())[3:]}"[:120]


@pytest.mark.parametrize("body", BODIES, ids=told)
async def test_what_is_not_said_is_filled_in_as_by_the_server(shared_lab: RunningLab, body: Body) -> None:
    assert compared(ours(body)) == compared(await theirs(shared_lab.client, body))


STATUSES = [
    ("v1", "Pod", {"spec": {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "g"}]}}, [
        {},
        {"phase": "Pending", "podIP": "1.2.3.4", "startTime": "2026-01-02T03:04:05.678+02:00"},
        {"podIPs": [{"ip": "1.2.3.4"}, {"ip": "::1"}], "hostIP": "", "hostIPs": [], "conditions": []},
        {"conditions": [{"type": "Ready", "status": "True"}, {"type": "A", "status": "False", "reason": ""}]},
        {"conditions": [{"type": "A", "status": "True", "lastProbeTime": None, "observedGeneration": 0}]},
        {"containerStatuses": [{"name": "c", "ready": False, "state": {"waiting": {}}}]},
        {"containerStatuses": [{"name": "c", "state": {"running": {}}, "started": False, "restartCount": 0}]},
        {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 0}}, "lastState": None}]},
        {"resourceClaimStatuses": [], "extendedResourceClaimStatus": None, "unknown": 1},
    ]),
    ("apps/v1", "Deployment", {"spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }}, [{"replicas": 0, "availableReplicas": 0}, {"conditions": [{"type": "A", "status": "True"}]}]),
    ("apps/v1", "ReplicaSet", {"spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }}, [{}, {"replicas": 0, "terminatingReplicas": 0}]),
    ("batch/v1", "Job", {"spec": {
        "suspend": True,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
    }}, [{}, {"ready": 0, "terminating": 0, "uncountedTerminatedPods": {}, "completedIndexes": ""}]),
    ("v1", "ResourceQuota", {"spec": {"hard": {"pods": "5"}}}, [{"hard": {"pods": "1000m"}, "used": {}}]),
    ("v1", "PersistentVolumeClaim", {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none",
    }}, [{"phase": "", "capacity": {"storage": "1024Mi"}}, {"accessModes": [], "allocatedResources": {"storage": 1}}]),
]  # fmt: skip


@pytest.mark.parametrize(("api_version", "kind", "of_it", "statuses"), STATUSES, ids=str)
async def test_statuses_are_printed_as_by_the_server(
    shared_lab: RunningLab, api_version: str, kind: str, of_it: Body, statuses: list[Body]
) -> None:
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "status-of-defaults"}, **of_it}
    resource, client = for_object(body), shared_lab.client
    created = await client.create(resource, body, namespace="default")
    try:
        del created["metadata"]["resourceVersion"]  # controllers may write it meanwhile
        for status in statuses:
            written = {**created, "status": status}
            answer = await client.update(
                resource, written, subresource="status", dry_run=True, field_validation="Ignore"
            )
            answer["status"].pop("qosClass", None)  # a strategy's
            assert ours(written)["status"] == answer["status"]
    finally:
        await client.delete(resource, "status-of-defaults", namespace="default", grace_s=0)
