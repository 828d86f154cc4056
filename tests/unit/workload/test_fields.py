from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.workload import fields

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec.a=1", {"spec": {"a": 1, "b": [{"c": 1}]}}),
        ("spec.a='1'", {"spec": {"a": "1", "b": [{"c": 1}]}}),
        ("spec.a=", {"spec": {"a": "", "b": [{"c": 1}]}}),
        ("spec.a=null", {"spec": {"a": None, "b": [{"c": 1}]}}),
        ("spec.b[0].c=x=y", {"spec": {"b": [{"c": "x=y"}]}}),
        ("spec.b[1].d=true", {"spec": {"b": [{"c": 1}, {"d": True}]}}),
        ("spec.b={d: [1, 2]}", {"spec": {"b": {"d": [1, 2]}}}),
        ("metadata.labels[kai.scheduler/queue]=q", {"metadata": {"labels": {"kai.scheduler/queue": "q"}}}),
        ('metadata.labels["a.b"].c=q', {"metadata": {"labels": {"a.b": {"c": "q"}}}}),
        ("new[0].x=1", {"new": [{"x": 1}]}),
        ("spec.a=2026-01-02", {"spec": {"a": "2026-01-02", "b": [{"c": 1}]}}),
    ],
)
def test_a_field_is_set(text: str, expected: dict[str, Any]) -> None:
    obj: dict[str, Any] = {"spec": {"b": [{"c": 1}]}}
    fields.assign(obj, fields.parse(text))
    assert obj == {"spec": {"b": [{"c": 1}]}} | expected


def test_a_kind_may_stand_before_the_path() -> None:
    field = fields.parse("Pod:spec.image=registry:5000/x")
    assert (field.kind, field.path, field.value) == ("Pod", ("spec", "image"), "registry:5000/x")
    assert fields.parse("spec.image=registry:5000/x").kind is None


@pytest.mark.parametrize("text", ["", "spec", "=1", ".=1", "[0]=1", "spec..a=1", "spec[=1", "spec[0=1", "a b[]=1"])
def test_what_is_no_field_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--field"):
        fields.parse(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("spec.b.c=1", "spec.b is a list: name an index in brackets"),
        ("spec.b[2]=1", "spec.b is a list of 1, it has no [2]"),
        ("spec.b[0].c.d=1", "spec.b[0].c is a value, it has no fields"),
        ("spec[0]=1", "spec is no list, it has no [0]"),
        ("spec.a={x", "the value cannot be read as YAML; put it in quotes"),
    ],
)
def test_a_field_that_has_no_place_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        fields.assign({"spec": {"b": [{"c": 1}]}}, fields.parse(text))
    assert str(raised.value) == f"--field {text}: {sentence}"
