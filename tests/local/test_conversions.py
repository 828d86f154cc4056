"""One object in two versions, as the real API server gives it, and ours beside it; and what can be selected by."""

from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.kinds.conversions import converted, selectable_fields, storage_resource, unselectable
from kubedyno.kube.resources import BUILT_IN, Resource, by_kind, for_object
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

Document = dict[str, Any]
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
SELECTOR = {
    "matchExpressions": [{"key": "a", "operator": "In", "values": ["c", "b"]}],
    "matchLabels": {"z": "1", "a": "<2>"},
}
ANNOTATION = "autoscaling.alpha.kubernetes.io"


def obj(api_version: str, kind: str, **fields: Any) -> Document:
    metadata = {"generateName": "conversions-", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def core_event(**fields: Any) -> Document:
    return obj("v1", "Event", **{"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, **fields})


def event(**fields: Any) -> Document:
    whole = {
        "eventTime": "2026-01-01T00:00:00.123456Z",
        "reportingController": "a.b/c",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "default"},
        **fields,
    }
    return obj("events.k8s.io/v1", "Event", **whole)


def autoscaler(version: str, annotations: Document | None = None, **spec: Any) -> Document:
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, **spec}
    metadata = {"annotations": annotations} if annotations else {}
    return obj(f"autoscaling/{version}", "HorizontalPodAutoscaler", spec=spec, metadata=metadata)


def metric(type_: str, **source: Any) -> Document:
    return {"type": type_, type_[0].lower() + type_[1:]: source}


def watched(*current: Document, **status: Any) -> Document:
    """An autoscaler that has seen metrics."""
    conditions = [
        {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R"}
    ]
    whole = {"desiredReplicas": 2, "currentMetrics": list(current), "conditions": conditions, **status}
    return {**autoscaler("v2"), "status": whole}


def device(version: str, kind: str, **spec: Any) -> Document:
    return obj(f"resource.k8s.io/{version}", kind, spec=spec)


CLAIM = {
    "devices": {
        "requests": [
            {"name": "r", "exactly": {"deviceClassName": "c", "count": 2, "tolerations": [{"operator": "Exists"}]}},
            {"name": "s", "firstAvailable": [{"name": "a", "deviceClassName": "c", "allocationMode": "All"}]},
        ],
        "constraints": [{"requests": ["r"], "matchAttribute": "d/a"}],
        "config": [{"requests": ["s/a"], "opaque": {"driver": "d", "parameters": {"x": [1, None]}}}],
    }
}
SLICE = {
    "driver": "d",
    "nodeName": "n",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "devices": [
        {
            "name": "g",
            "attributes": {"a": {"int": 1}, "b": {"version": "1.2.3"}},
            "capacity": {"memory": {"value": "1024Mi"}},
        }
    ],
}
COUNTERS = {
    "driver": "d",
    "allNodes": True,
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "sharedCounters": [{"name": "c", "counters": {"x": {"value": "1000m"}}}],
}
CLASS = {
    "selectors": [{"cel": {"expression": "true"}}],
    "config": [{"opaque": {"driver": "d", "parameters": {}}}],
    "extendedResourceName": "example.com/conversions",
}

DOCUMENTS: list[tuple[Document, str]] = [
    *(
        (document, "events.k8s.io/v1")
        for document in (
            core_event(),
            core_event(message="m", reason="r", type="Normal", count=3, source={"component": "c", "host": "h"}),
            core_event(firstTimestamp="2026-01-01T00:00:00Z", lastTimestamp="2026-01-01T00:00:01Z"),
            core_event(source={"component": "c"}, reportingComponent="a.b/c", reportingInstance="i"),
            core_event(
                eventTime="2026-01-01T00:00:00.000001Z",
                reportingComponent="a.b/c",
                reportingInstance="i",
                action="a",
                reason="r",
                series={"count": 2, "lastObservedTime": "2026-01-01T00:00:00.500000Z"},
            ),
            core_event(related={"kind": "Node", "name": "n"}, metadata={"labels": {"a": "b"}}),
            core_event(involvedObject={}, metadata={"annotations": {"a": "b"}}),
        )
    ),
    *(
        (document, "v1")
        for document in (
            event(),
            event(note="n", type="Warning", related={"kind": "Node", "name": "n", "uid": "u"}),
            event(series={"count": 3, "lastObservedTime": "2026-01-01T00:00:00.500000Z"}),
            event(regarding={"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "default", "fieldPath": "x"}),
            event(metadata={"labels": {"a": "b"}}),
        )
    ),
    *(
        (document, "autoscaling/v1")
        for document in (
            autoscaler("v2"),
            autoscaler("v2", minReplicas=2, metrics=[]),
            autoscaler("v2", {"a": "b", f"{ANNOTATION}/metrics": "[]"}),
            autoscaler(
                "v2",
                metrics=[metric("Resource", name="cpu", target={"type": "Utilization", "averageUtilization": 40})],
            ),
            autoscaler(
                "v2", metrics=[metric("Resource", name="cpu", target={"type": "AverageValue", "averageValue": "1"})]
            ),
            autoscaler(
                "v2",
                metrics=[
                    metric("Resource", name="memory", target={"type": "Utilization", "averageUtilization": 4}),
                    metric("Resource", name="cpu", target={"type": "Utilization", "averageUtilization": 5}),
                ],
            ),
            autoscaler(
                "v2",
                metrics=[
                    metric(
                        "Object",
                        describedObject=TARGET,
                        metric={"name": "m", "selector": SELECTOR},
                        target={"type": "AverageValue", "averageValue": "3"},
                    ),
                    metric(
                        "Object",
                        describedObject=TARGET,
                        metric={"name": "m"},
                        target={"type": "Value", "value": "3"},
                    ),
                    metric("Pods", metric={"name": "p"}, target={"type": "AverageValue", "averageValue": "1500m"}),
                ],
            ),
            autoscaler(
                "v2",
                metrics=[
                    metric(
                        "External",
                        metric={"name": "e", "selector": SELECTOR},
                        target={"type": "Value", "value": "2"},
                    ),
                    metric("External", metric={"name": "e"}, target={"type": "AverageValue", "averageValue": "2"}),
                    metric(
                        "ContainerResource",
                        name="cpu",
                        container="c",
                        target={"type": "Utilization", "averageUtilization": 7},
                    ),
                ],
            ),
            watched(metric("Resource", name="cpu", current={"averageUtilization": 7, "averageValue": "70m"})),
            watched(
                metric("Resource", name="memory", current={"averageValue": "1Gi"}),
                metric("Pods", metric={"name": "p"}, current={"averageValue": "3"}),
                metric("Object", describedObject=TARGET, metric={"name": "m"}, current={"value": "3"}),
                metric("External", metric={"name": "e"}, current={"value": "1", "averageValue": "2"}),
                currentReplicas=3,
                lastScaleTime="2026-01-01T00:00:00Z",
                observedGeneration=1,
            ),
            autoscaler("v2", behavior={"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 3}]}}),
            autoscaler("v2", behavior={"scaleDown": {"stabilizationWindowSeconds": 5, "tolerance": "100m"}}),
        )
    ),
    *(
        (document, "autoscaling/v2")
        for document in (
            autoscaler("v1"),
            autoscaler("v1", targetCPUUtilizationPercentage=33, minReplicas=1),
            autoscaler("v1", {f"{ANNOTATION}/metrics": "nothing", f"{ANNOTATION}/behavior": "{}"}),
            autoscaler(
                "v1",
                {
                    f"{ANNOTATION}/metrics": '[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"2"}}]',
                    f"{ANNOTATION}/behavior": '{"ScaleUp":{"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":9}]}}',
                },
                targetCPUUtilizationPercentage=33,
            ),
        )
    ),
    *(
        (device(version, kind, **spec), f"resource.k8s.io/{other}")
        for version, other in (("v1", "v1beta2"), ("v1beta2", "v1"))
        for kind, spec in (
            ("ResourceClaim", CLAIM),
            ("ResourceClaimTemplate", {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM}),
            ("ResourceSlice", SLICE),
            ("ResourceSlice", COUNTERS),
            ("DeviceClass", CLASS),
        )
    ),
]


def place(resource: Resource) -> str | None:
    return "default" if resource.namespaced else None


def without_managers(document: Document) -> Document:
    metadata = {name: value for name, value in document["metadata"].items() if name != "managedFields"}
    return {**document, "metadata": metadata}


@pytest.mark.parametrize(("document", "other_version"), DOCUMENTS, ids=str)
async def test_an_object_is_the_same_in_both_versions(
    shared_lab: RunningLab, document: Document, other_version: str
) -> None:
    client, resource = shared_lab.client, for_object(document)
    other = by_kind(other_version, resource.kind)
    name = (await client.create(resource, document, namespace=place(resource)))["metadata"]["name"]
    one: Document = {}
    another: Document = {"metadata": {"resourceVersion": ""}}
    try:
        if "status" in document:
            await client.modify(
                resource,
                name,
                lambda latest: latest.update(status=document["status"]),
                namespace=place(resource),
                subresource="status",
            )
        # Controllers may write between the two.
        while one.get("metadata", {}).get("resourceVersion") != another["metadata"]["resourceVersion"]:
            one = without_managers(await client.get(resource, name, namespace=place(resource)))
            another = without_managers(await client.get(other, name, namespace=place(other)))
    finally:
        await client.delete(resource, name, namespace=place(resource))
    assert converted(one, other) == another
    assert converted(another, resource) == one


CANDIDATES = sorted(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "name",
        "spec.replicas",
        "status.successful",
        "status.replicas",
        *(field.name for resource in BUILT_IN for field in selectable_fields(resource)),
    }
)
UNLISTED = {"bindings", "componentstatuses"}
LISTED = [
    resource
    for resource in BUILT_IN
    if resource.plural not in UNLISTED and not resource.group.startswith("auth") and resource.version != "v1alpha2"
]


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: f"{resource.api_version} {resource.kind}")
async def test_the_same_fields_can_be_selected_by(shared_lab: RunningLab, resource: Resource) -> None:
    said: dict[str, str | None] = {}
    for name in CANDIDATES:
        try:
            await shared_lab.client.list(resource, field_selector=f"{name}=none", limit=1)
            said[name] = None
        except ApiError as error:
            said[name] = error.message
    assert {name: unselectable(resource, name) for name in CANDIDATES} == said


def test_objects_are_kept_in_a_version_that_is_served() -> None:
    assert {storage_resource(resource) for resource in BUILT_IN} <= set(BUILT_IN)
