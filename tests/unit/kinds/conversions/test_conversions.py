"""Objects in two versions; the pairs in `conversions_cases.json` are what a real API server gave for one object."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.kinds.conversions import (
    SelectableField,
    converted,
    field_text,
    selectable_fields,
    storage_resource,
    unselectable,
)
from kubedyno.kube.meta import copied
from kubedyno.kube.resources import BUILT_IN, CORE_EVENTS, EVENTS, JOBS, NODES, PODS, REPLICA_SETS, by_kind, for_object

pytestmark = pytest.mark.unit

Document = dict[str, Any]
PAIRS: list[tuple[Document, Document]] = msgspec.json.decode(
    Path(__file__).with_name("conversions_cases.json").read_bytes(), type=list[tuple[Document, Document]]
)


@pytest.mark.parametrize(("one", "another"), PAIRS, ids=str)
def test_an_object_is_converted_there_and_back_as_the_server_does(one: Document, another: Document) -> None:
    assert converted(one, for_object(another)) == another
    assert converted(another, for_object(one)) == one


@pytest.mark.parametrize(("one", "another"), PAIRS, ids=str)
def test_a_conversion_leaves_its_object_alone(one: Document, another: Document) -> None:
    before = copied(one)
    converted(one, for_object(another))
    assert one == before


def test_an_object_in_its_own_version_stays_the_same() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert converted(pod, PODS) == pod


def test_objects_are_kept_in_one_version() -> None:
    assert storage_resource(EVENTS) == CORE_EVENTS
    claim = by_kind("resource.k8s.io/v1beta2", "ResourceClaim")
    assert storage_resource(claim) == by_kind("resource.k8s.io/v1", "ResourceClaim")
    old = by_kind("autoscaling/v1", "HorizontalPodAutoscaler")
    assert storage_resource(old) == by_kind("autoscaling/v2", "HorizontalPodAutoscaler")
    assert storage_resource(PODS) == PODS


def test_a_kind_that_only_the_older_version_has_is_kept_in_it() -> None:
    rule = by_kind("resource.k8s.io/v1beta2", "DeviceTaintRule")
    assert storage_resource(rule) == rule


def test_what_is_kept_is_kept_for_good() -> None:
    for resource in BUILT_IN:
        assert storage_resource(storage_resource(resource)) == storage_resource(resource)


def field(name: str, *, of: Any) -> SelectableField:
    return next(entry for entry in selectable_fields(of) if entry.name == name)


@pytest.mark.parametrize(
    ("resource", "name", "obj", "text"),
    [
        (PODS, "spec.nodeName", {"spec": {"nodeName": "n"}}, "n"),
        (PODS, "spec.host", {"spec": {"nodeName": "n"}}, "n"),
        (PODS, "spec.hostNetwork", {"spec": {}}, "false"),
        (PODS, "spec.hostNetwork", {"spec": {"hostNetwork": True}}, "true"),
        (PODS, "status.podIPs", {"status": {"podIPs": [{"ip": "1.2.3.4"}]}}, ""),
        (NODES, "spec.unschedulable", {}, "false"),
        (JOBS, "status.successful", {}, "0"),
        (JOBS, "status.successful", {"status": {"succeeded": 3}}, "3"),
        (EVENTS, "regarding.name", {"involvedObject": {"name": "p"}}, "p"),
        (EVENTS, "reportingController", {"reportingComponent": "c"}, "c"),
        (CORE_EVENTS, "source", {"source": {"component": "c"}, "reportingComponent": "d"}, "c"),
        (CORE_EVENTS, "source", {"source": {}, "reportingComponent": "d"}, "d"),
    ],
)
def test_a_field_is_compared_as_text(resource: Any, name: str, obj: Document, text: str) -> None:
    assert field_text(obj, field(name, of=resource)) == text


@pytest.mark.parametrize(
    ("resource", "name", "said"),
    [
        (PODS, "metadata.name", None),
        (PODS, "spec.foo", "field label not supported: spec.foo"),
        (NODES, "metadata.namespace", "field label not supported: metadata.namespace"),
        (JOBS, "spec.foo", 'field label "spec.foo" not supported for Job'),
        (
            REPLICA_SETS,
            "status.replicas",
            '"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (
            by_kind("resource.k8s.io/v1", "ResourceSlice"),
            "spec.foo",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.foo",
        ),
        (by_kind("storage.k8s.io/v1", "StorageClass"), "metadata.namespace", None),
    ],
)
def test_fields_that_nothing_can_be_selected_by_are_told(resource: Any, name: str, said: str | None) -> None:
    assert unselectable(resource, name) == said
