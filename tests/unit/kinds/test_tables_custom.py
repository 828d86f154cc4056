"""Columns of custom resources: values of any type in columns of any type."""

from typing import Any

import pytest

from kubedyno.kinds.tables.custom import custom_printer, scale_printer
from kubedyno.kinds.tables.table import table

pytestmark = pytest.mark.unit

NOW_NS = 100 * 10**9


def cell(type_: str, value: Any) -> Any:
    printer = custom_printer([{"name": "Value", "type": type_, "jsonPath": ".spec.value"}])
    obj = {"metadata": {"name": "x"}, "spec": {"value": value}}
    return table(printer, [obj], now_ns=NOW_NS)["rows"][0]["cells"][1]


@pytest.mark.parametrize(
    ("type_", "value", "shown"),
    [
        ("string", "text", "text"),
        ("string", "", ""),
        ("string", 5, "5"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("string", 1.5, "1.5"),
        ("string", 2.0, "2"),
        ("string", 100000.5, "100000.5"),
        ("string", 1234567.5, "1.2345675e+06"),
        ("string", 1e21, "1e+21"),
        ("string", 10**20, "1e+20"),
        ("string", 0.0001, "0.0001"),
        ("string", -2.5e-9, "-2.5e-09"),
        ("string", {"b": 1, "a": ["<&>"]}, '{"a":["\\u003c\\u0026\\u003e"],"b":1}'),
        ("string", [], "[]"),
        ("integer", 5, 5),
        ("integer", 5.9, 5),
        ("integer", "5", None),
        ("integer", True, None),
        ("number", 3, 3),
        ("number", "x", None),
        ("boolean", False, False),
        ("boolean", "no", None),
        ("date", "1970-01-01T00:00:10Z", "90s"),
        ("date", "yesterday", "<invalid>"),
        ("date", "", "<unknown>"),
        ("date", 5, None),
    ],
)
def test_a_value_in_a_column(type_: str, value: Any, shown: Any) -> None:
    found = cell(type_, value)
    assert (found, type(found)) == (shown, type(shown))


def test_an_absent_value_is_null() -> None:
    printer = custom_printer([{"name": "Value", "type": "string", "jsonPath": ".spec.value"}])
    assert table(printer, [{"metadata": {"name": "x"}}], now_ns=NOW_NS)["rows"][0]["cells"] == ["x", None]


def test_columns_are_described_by_their_path() -> None:
    printer = custom_printer(
        [
            {"name": "A", "type": "integer", "jsonPath": ".spec.a", "format": "int32", "priority": 1},
            {"name": "B", "type": "string", "jsonPath": ".spec.b", "description": "own words"},
        ]
    )
    definitions = table(printer, [], now_ns=NOW_NS)["columnDefinitions"]
    assert definitions[1:] == [
        {
            "name": "A",
            "type": "integer",
            "format": "int32",
            "description": "Custom resource definition column (in JSONPath format): .spec.a",
            "priority": 1,
        },
        {"name": "B", "type": "string", "format": "", "description": "own words", "priority": 0},
    ]


def test_without_columns_there_is_the_age() -> None:
    obj = {"metadata": {"name": "x", "creationTimestamp": "1970-01-01T00:00:10Z"}}
    made = table(custom_printer([]), [obj], now_ns=NOW_NS)
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Age"]
    assert made["rows"][0]["cells"] == ["x", "90s"]


def test_a_scale_tells_its_replicas() -> None:
    scale = {"metadata": {"name": "x"}, "spec": {"replicas": 3}, "status": {"replicas": 1}}
    assert table(scale_printer(), [scale], now_ns=NOW_NS)["rows"][0]["cells"] == ["x", 3, 1, None]
