"""What schemas do to objects. The sentences are those of a real API server 1.36.3."""

from typing import Any

import pytest

from kubedyno.kinds.custom import defaulting, lists, pruning, structural, validating
from kubedyno.kinds.custom.findings import go_number

pytestmark = pytest.mark.unit

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def of(**properties: Any) -> structural.Schema:
    """The schema of objects with these fields in their spec."""
    return structural.parse(_object(spec=_object(**properties)))


@pytest.mark.parametrize(
    ("schema", "value", "kept", "unknown"),
    [
        (_object(a=_STRING), {"a": "x", "b": 1}, {"a": "x"}, ["spec.f.b"]),
        (_list(_object(a=_STRING)), [{"b": 1}, {"a": "x"}], [{}, {"a": "x"}], ["spec.f[0].b"]),
        ({"type": "object", "additionalProperties": _object(a=_STRING)}, {"m": {"z": 1}}, {"m": {}}, ["spec.f.m.z"]),
        ({"type": "object", "additionalProperties": True}, {"a": 1, "b": {"c": 1}}, {"a": 1, "b": {}}, ["spec.f.b.c"]),
        ({"type": "object", "additionalProperties": False}, {"a": 1}, {"a": 1}, []),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": {"b": 1}}, {"a": {"b": 1}}, []),
        (
            {**_object(k=_object(a=_STRING)), "x-kubernetes-preserve-unknown-fields": True},
            {"x": {"y": 1}, "k": {"z": 1}},
            {"x": {"y": 1}, "k": {}},
            ["spec.f.k.z"],
        ),
        (_object(a=_STRING), {"a": None}, {}, []),
        (_object(a={"type": "string", "nullable": True}), {"a": None}, {"a": None}, []),
        (_object(a={"type": "string", "default": "x"}), {"a": None}, {"a": None}, []),
        (_list(_STRING), [None, "a"], [None, "a"], []),
        (_STRING, {"a": 1}, {}, ["spec.f.a"]),
        (
            {**_object(spec=_STRING), "x-kubernetes-embedded-resource": True},
            {"kind": "Pod", "metadata": {"odd": 1}, "extra": 1},
            {"kind": "Pod", "metadata": {"odd": 1}},
            ["spec.f.extra"],
        ),
    ],
)
def test_unknown_fields_are_dropped_and_told(schema: Any, value: Any, kept: Any, unknown: list[str]) -> None:
    obj = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": {"f": value}}
    assert pruning.pruned(obj, of(f=schema)) == ({**obj, "spec": {"f": kept}}, unknown)


@pytest.mark.parametrize(
    ("schema", "spec", "filled"),
    [
        (_object(a={"type": "string", "default": "x"}), {}, {}),
        ({**_object(a={"type": "string", "default": "x"}), "default": {}}, {}, {"f": {"a": "x"}}),
        (_object(a={"type": "string", "default": "x"}), {"f": {}}, {"f": {"a": "x"}}),
        (_object(a={"type": "string", "default": "x"}), {"f": {"a": None}}, {"f": {"a": "x"}}),
        (_object(a={"type": "string", "default": "x", "nullable": True}), {"f": {"a": None}}, {"f": {"a": None}}),
        (_list(_object(a={"type": "integer", "default": 7})), {"f": [{}, {"a": 1}]}, {"f": [{"a": 7}, {"a": 1}]}),
        (_list({"type": "string", "default": "x"}), {"f": [None]}, {"f": ["x"]}),
        (
            {"type": "object", "additionalProperties": _object(a={"type": "integer", "default": 7})},
            {"f": {"m": {}}},
            {"f": {"m": {"a": 7}}},
        ),
    ],
)
def test_defaults_come_where_something_is_missing(schema: Any, spec: Any, filled: Any) -> None:
    obj = {"spec": spec}
    defaulting.apply(obj, of(f=schema))
    assert obj == {"spec": filled}


def test_a_default_is_not_shared_between_objects() -> None:
    schema = of(f={**_object(a=_STRING), "default": {"a": "x"}})
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    defaulting.apply(first, schema)
    defaulting.apply(second, schema)
    first["spec"]["f"]["a"] = "changed"
    assert second == {"spec": {"f": {"a": "x"}}}


_ONE_OF = {**_object(a=_STRING, b=_STRING), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
_ANY_OF = {
    **_object(a=_INTEGER, b=_INTEGER),
    "anyOf": [
        {"required": ["a"], "properties": {"a": {"minimum": 5}}},
        {"required": ["b"], "properties": {"b": {"maximum": 3}}},
    ],
}


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (_INTEGER, "x", ['spec.f: Invalid value: "string": spec.f in body must be of type integer: "string"']),
        (_INTEGER, 3.0, []),
        (_INTEGER, None, ['spec.f: Invalid value: "null": spec.f in body must be of type integer: "null"']),
        (
            {"type": "integer", "format": "int32"},
            2**31,
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.f'],
        ),
        (
            {"type": "integer", "format": "int64"},
            2**63,
            [
                'spec.f: Invalid value: "float64": spec.f in body must be of type int64: "float64"',
                '<nil>: Invalid value: "": Checked value must be of type integer with format int64 in spec.f',
            ],
        ),
        (
            {"type": "integer", "minimum": 0},
            -1,
            ["spec.f: Invalid value: -1: spec.f in body should be greater than or equal to 0"],
        ),
        (
            {"type": "number", "minimum": 0.5, "exclusiveMinimum": True},
            0.5,
            ["spec.f: Invalid value: 0.5: spec.f in body should be greater than 0.5"],
        ),
        (
            {"type": "integer", "multipleOf": 5},
            7,
            ["spec.f: Invalid value: 7: spec.f in body should be a multiple of 5"],
        ),
        (
            {"type": "string", "minLength": 2},
            "a",
            ['spec.f: Invalid value: "a": spec.f in body should be at least 2 chars long'],
        ),
        ({"type": "string", "maxLength": 5}, "abcdef", ["spec.f: Too long: may not be more than 5 bytes"]),
        (
            {"type": "string", "pattern": "^[a-z]+$"},
            "ABC",
            ["spec.f: Invalid value: \"ABC\": spec.f in body should match '^[a-z]+$'"],
        ),
        (
            {"type": "string", "enum": ["red", "green"]},
            "blue",
            ['spec.f: Unsupported value: "blue": supported values: "red", "green"'],
        ),
        ({"type": "integer", "enum": [1, 2]}, 4, ['spec.f: Unsupported value: 4: supported values: "1", "2"']),
        (
            {"type": "string", "format": "date"},
            "2026-02-30",
            ['spec.f: Invalid value: "2026-02-30": spec.f in body must be of type date: "2026-02-30"'],
        ),
        (
            {"type": "string", "format": "date"},
            5,
            ['spec.f: Invalid value: "int64": spec.f in body must be of type date: "int64"'],
        ),
        (
            {"x-kubernetes-int-or-string": True},
            1.5,
            ['spec.f: Invalid value: "number": spec.f in body must be of type integer,string: "number"'],
        ),
        (
            {"type": "object", "additionalProperties": _STRING},
            {"a": 1},
            ['spec.f.a: Invalid value: "integer": spec.f.a in body must be of type string: "integer"'],
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"a": 1},
            ['spec.f: Invalid value: "a": spec.f.a in body is a forbidden property'],
        ),
        (
            {"type": "object", "additionalProperties": _INTEGER, "maxProperties": 1},
            {"a": 1, "b": 2},
            ["spec.f: Too many: 2: must have at most 1 item"],
        ),
        (_list(_STRING, minItems=1), [], ["spec.f: Invalid value: 0: spec.f in body should have at least 1 items"]),
        (_list(_STRING, maxItems=1), ["a", "b"], ["spec.f: Too many: 2: must have at most 1 item"]),
        ({**_object(a=_STRING), "required": ["a"]}, {}, ["spec.f.a: Required value"]),
        (
            _ONE_OF,
            {},
            [
                '<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid',
                "spec.f.a: Required value",
            ],
        ),
        (
            _ONE_OF,
            {"a": "x", "b": "y"},
            [
                (
                    '<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). '
                    "Found 2 valid alternatives"
                )
            ],
        ),
        (
            _ANY_OF,
            {"b": 9},
            [
                '<nil>: Invalid value: "": "spec.f" must validate at least one schema (anyOf)',
                "spec.f.b: Invalid value: 9: spec.f.b in body should be less than or equal to 3",
            ],
        ),
        (
            {"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 5}]},
            2,
            [
                "spec.f: Invalid value: 2: spec.f in body should be greater than or equal to 3",
                '<nil>: Invalid value: "": "spec.f" must validate all the schemas (allOf)',
            ],
        ),
        (
            {"type": "string", "not": {"enum": ["bad"]}},
            "bad",
            ['<nil>: Invalid value: "": "spec.f" must not validate the schema (not)'],
        ),
    ],
)
def test_what_the_schema_does_not_allow_is_told_in_the_servers_words(schema: Any, value: Any, told: list[str]) -> None:
    found = validating.value_problems({"spec": {"f": value}}, of(f=schema))
    assert [f"{one.field}: {one.message}" for one in found] == told


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"a": "too long"}, {"a": "too long", "b": "ok"}, []),
        ({"a": "too long"}, {"a": "also long"}, ["spec.f.a"]),
        ({"items": [{"name": "x", "v": "no"}]}, {"items": [{"name": "new"}, {"name": "x", "v": "no"}]}, []),
        ({"items": [{"name": "x", "v": "no"}]}, {"items": [{"name": "y", "v": "no"}]}, ["spec.f.items[0].v"]),
        ({"plain": ["too long"]}, {"plain": ["too long"], "a": "ok"}, []),
        ({"plain": ["too long"]}, {"plain": ["too long", "ok"]}, ["spec.f.plain[0]"]),
    ],
)
def test_what_has_not_changed_is_let_through(before: Any, after: Any, told: list[str]) -> None:
    short = {"type": "string", "maxLength": 3}
    items = _list(_object(name=_STRING, v=_INTEGER), **_BY_NAME)
    schema = of(f=_object(a=short, b=short, items=items, plain=_list(short)))
    found = validating.value_problems({"spec": {"f": after}}, schema, old={"spec": {"f": before}})
    assert [one.field for one in found] == told


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (
            _list(_STRING, **{"x-kubernetes-list-type": "set"}),
            ["a", "b", "a", "a"],
            ['spec.f[2]: Duplicate value: "a"'],
        ),
        (
            _list(_object(name=_STRING), **_BY_NAME),
            [{"name": "a"}, {"name": "b"}, {"name": "a"}],
            ['spec.f[2]: Duplicate value: {"name":"a"}'],
        ),
        (_list(_object(name=_STRING), **_BY_NAME), [{}, {}], ["spec.f[1]: Duplicate value: {}"]),
        (
            _list(_object(name=_STRING), **_BY_NAME),
            ["a"],
            ['spec.f[0]: Invalid value: "a": must be an object for an array of list-type map'],
        ),
        (_list(_STRING), ["a", "a"], []),
    ],
)
def test_items_of_sets_and_maps_are_there_once(schema: Any, value: Any, told: list[str]) -> None:
    found = lists.problems({"spec": {"f": value}}, of(f=schema))
    assert [f"{one.field}: {one.message}" for one in found] == told


@pytest.mark.parametrize(
    ("number", "text"),
    [(3, "3"), (3.0, "3"), (2.5, "2.5"), (1e6, "1e+06"), (123456789.0, "1.23456789e+08"), (1e-5, "1e-05"), (0.0, "0")],
)
def test_numbers_are_written_as_go_does(number: float, text: str) -> None:
    assert go_number(number) == text
