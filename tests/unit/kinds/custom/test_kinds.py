"""A custom kind made from its definition, and what is done to its objects."""

from typing import Any

import pytest

from kubedyno.kinds.custom import applying
from kubedyno.kinds.custom.kinds import AGE, CustomKind, finalizer_warnings, kinds_of
from kubedyno.kinds.custom.scaling import WrongType
from kubedyno.kinds.custom.versions import rank
from kubedyno.kube import ownership
from kubedyno.kube.fieldsets import to_fields_v1
from kubedyno.kube.ownership import Owner
from kubedyno.kube.resources import Resource
from kubedyno.kube.typed import field_set

pytestmark = pytest.mark.unit

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SPEC = {
    **_object(
        replicas={"type": "integer", "default": 1},
        color=_STRING,
        labels={"type": "object", "additionalProperties": _STRING},
        items={"type": "array", "items": {**_object(name=_STRING, v=_STRING), "required": ["name"]}, **_BY_NAME},
        names={"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        atomic={**_object(a=_STRING), "x-kubernetes-map-type": "atomic"},
        template={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    ),
    "required": ["color"],
}

DEFINITION: dict[str, Any] = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"], "categories": ["all"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _object(spec=SPEC, status=_object(replicas=_INTEGER, selector=_STRING))},
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
                "selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.replicas"}],
            },
            {
                "name": "v1beta1",
                "served": True,
                "storage": False,
                "deprecated": True,
                "schema": {
                    "openAPIV3Schema": _object(spec=_object(color=_STRING, old={"type": "string", "default": "x"}))
                },
            },
        ],
    }
}


@pytest.fixture
def kind() -> CustomKind:
    return kinds_of(DEFINITION)["v1"]


def gadget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "g", "generation": 4},
        "spec": {"color": "red", **spec},
    }


def test_a_kind_is_named_as_its_definition_says(kind: CustomKind) -> None:
    assert kind.resource == Resource(
        "example.com", "v1", "Gadget", "gadgets", namespaced=True, subresources=("status", "scale")
    )
    assert (kind.singular, kind.list_kind) == ("gadget", "GadgetList")
    assert (kind.short_names, kind.categories) == (("gd",), ("all",))
    assert (kind.served, kind.storage_version, kind.deprecation) == (True, "v1", "")
    assert [column.json_path for column in kind.columns] == [".spec.color"]


def test_a_version_that_declares_no_columns_has_an_age() -> None:
    beta = kinds_of(DEFINITION)["v1beta1"]
    assert beta.columns == (AGE,)
    assert not beta.has_status
    assert beta.scale is None
    assert beta.deprecation == "example.com/v1beta1 Gadget is deprecated; use example.com/v1 Gadget"


def test_versions_have_an_order() -> None:
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted(ordered, key=rank, reverse=True) == ordered


def test_an_object_is_read_pruned_and_with_defaults(kind: CustomKind) -> None:
    obj = {**gadget(unknown=1), "extra": 1}
    obj["metadata"] = {"name": "g", "labels": {}, "odd": 1}
    reading = kind.read(obj)
    assert reading.obj == {
        "apiVersion": "example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "g"},
        "spec": {"color": "red", "replicas": 1},
    }
    assert reading.unknown == ("metadata.odd", "extra", "spec.unknown")
    assert reading.error == ""


@pytest.mark.parametrize(
    ("metadata", "template", "error"),
    [
        (
            {"labels": {"a": 1}},
            None,
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        ("x", None, "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        ({}, {"apiVersion": 1}, "spec.template.apiVersion: Invalid value: 1: must be a string"),
        (
            {},
            {"metadata": {"labels": {"a": 1}}},
            (
                'spec.template.metadata: Invalid value: {"labels":{"a":1}}: '
                "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
            ),
        ),
    ],
)
def test_metadata_of_a_wrong_type_cannot_be_read(kind: CustomKind, metadata: Any, template: Any, error: str) -> None:
    obj = {**gadget(**({"template": template} if template else {})), "metadata": metadata}
    assert kind.read(obj).error == error


def test_resources_inside_of_an_object_are_checked(kind: CustomKind) -> None:
    found = kind.create_problems(gadget(template={"kind": "No Kind", "metadata": {"name": "a/b"}}))
    assert [f"{one.field}: {one.message}" for one in found] == [
        "spec.template.apiVersion: Required value",
        (
            'spec.template.kind: Invalid value: "No Kind": may have mixed case, but should otherwise match: '
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        ),
        "spec.template.metadata.name: Invalid value: \"a/b\": may not contain '/'",
    ]


def test_a_create_starts_at_generation_1_and_has_no_status(kind: CustomKind) -> None:
    made = kind.prepared_for_create({**gadget(), "status": {"replicas": 1}})
    assert made["metadata"]["generation"] == 1
    assert "status" not in made


def test_an_update_keeps_status_and_counts_changes(kind: CustomKind) -> None:
    old = {**gadget(), "status": {"replicas": 1}}
    changed = kind.prepared_for_update({**gadget(replicas=2), "status": {"replicas": 9}}, old)
    assert changed["status"] == {"replicas": 1}
    assert changed["metadata"]["generation"] == 5
    same = kind.prepared_for_update({**gadget(), "metadata": {"name": "g", "generation": 4, "labels": {"a": "b"}}}, old)
    assert same["metadata"]["generation"] == 4


def test_without_a_status_endpoint_status_is_part_of_the_object() -> None:
    beta = kinds_of(DEFINITION)["v1beta1"]
    old = {**gadget(), "status": {"a": 1}}
    changed = beta.prepared_for_update({**gadget(), "status": {"a": 2}}, old)
    assert (changed["status"], changed["metadata"]["generation"]) == ({"a": 2}, 5)
    assert beta.prepared_for_create(old)["status"] == {"a": 1}


def test_a_status_update_writes_status_alone(kind: CustomKind) -> None:
    old = {**gadget(), "status": {"replicas": 1}}
    new = {**gadget(color="blue"), "metadata": {"name": "g", "labels": {"a": "b"}, "managedFields": [{}]}}
    made = kind.prepared_for_status_update({**new, "status": {"replicas": 2}}, old)
    assert made == {
        **gadget(),
        "metadata": {"name": "g", "generation": 4, "managedFields": [{}]},
        "status": {"replicas": 2},
    }
    assert "status" not in kind.prepared_for_status_update(new, old)


def test_a_status_is_checked_from_its_own_root(kind: CustomKind) -> None:
    found = kind.status_problems({**gadget(), "status": {"replicas": "x"}}, gadget())
    assert [f"{one.field}: {one.message}" for one in found] == [
        'status.replicas: Invalid value: "string": replicas in body must be of type integer: "string"',
        ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64",
    ]


def test_replicas_are_read_and_written_where_the_definition_says(kind: CustomKind) -> None:
    obj = {**gadget(replicas=3), "status": {"replicas": 2, "selector": "a=b"}}
    assert kind.scale_of(obj) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "g"},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "a=b"},
    }
    assert kind.scale_of(gadget()) is None
    assert kind.with_replicas(obj, 7)["spec"]["replicas"] == 7
    assert obj["spec"]["replicas"] == 3
    with pytest.raises(WrongType):
        kind.scale_of(gadget(replicas="x"))


def test_selectable_fields_are_texts(kind: CustomKind) -> None:
    assert kind.selectable_fields(gadget(replicas=3)) == {"spec.color": "red", "spec.replicas": "3"}
    assert kind.selectable_fields(gadget()) == {"spec.color": "red", "spec.replicas": ""}


def test_another_version_keeps_what_it_knows() -> None:
    beta = kinds_of(DEFINITION)["v1beta1"]
    assert beta.converted(gadget(replicas=3)) == {**gadget(), "apiVersion": "example.com/v1beta1"}


def test_finalizers_without_a_domain_are_warned_of() -> None:
    new = {"metadata": {"finalizers": ["plain", "dotted.example", "example.com/fine", "orphan"]}}
    end = "to avoid accidental conflicts with other finalizer writers"
    assert finalizer_warnings(new) == [
        'metadata.finalizers: "dotted.example": prefer a domain-qualified finalizer name including a path (/) ' + end,
        f'metadata.finalizers: "plain": prefer a domain-qualified finalizer name {end}',
    ]
    assert finalizer_warnings(new, new) == []


def test_ownership_follows_the_types_of_lists_and_maps(kind: CustomKind) -> None:
    obj = gadget(items=[{"name": "a", "v": "1"}], names=["x"], atomic={"a": "1"}, labels={"k": "v"})
    fields = to_fields_v1(field_set({"spec": obj["spec"]}, kind.view))
    assert fields == {
        "f:spec": {
            "f:color": {},
            "f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:v": {}}},
            "f:names": {'v:"x"': {}},
            "f:atomic": {},
            "f:labels": {"f:k": {}},
        }
    }


def test_an_apply_merges_items_by_their_keys(kind: CustomKind) -> None:
    live = gadget(items=[{"name": "a", "v": "1"}], names=["x"])
    config = gadget(items=[{"name": "b"}], names=["y"])
    by = Owner(manager="m", operation="Apply", api_version="example.com/v1")
    merged, _ = ownership.apply(live, config, (), by=by, force=False, view=kind.view, now="now")
    assert merged["spec"]["items"] == [{"name": "a", "v": "1"}, {"name": "b"}]
    assert merged["spec"]["names"] == ["x", "y"]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"labels": {"a": "b"}}, ""),
        ({"unknown": 1}, ".spec.unknown: field not declared in schema"),
        ({"replicas": "x"}, ".spec.replicas: expected numeric (int or float), got string"),
        ({"color": 5}, ".spec.color: expected string, got &value.valueUnstructured{Value:5}"),
        ({"items": "x"}, ".spec.items: expected list, got &{x}"),
        ({"labels": ["a"]}, ".spec.labels: expected map, got &{[a]}"),
        ({"items": [{"name": "a"}, {"name": "a"}]}, '.spec.items: duplicate entries for key [name="a"]'),
        ({"names": ["a", "a"]}, '.spec.names: duplicate entries for key [="a"]'),
        (
            {"items": [{"v": "a"}]},
            (
                '.spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] '
                "(and doesn't have default values for any key fields)"
            ),
        ),
        (
            {"replicas": "x", "color": 5},
            (
                "errors:\n  .spec.replicas: expected numeric (int or float), got string\n"
                "  .spec.color: expected string, got &value.valueUnstructured{Value:5}"
            ),
        ),
    ],
)
def test_a_configuration_must_have_the_types_of_the_schema(kind: CustomKind, spec: Any, told: str) -> None:
    assert applying.misfit({"spec": spec}, kind.schema) == told
