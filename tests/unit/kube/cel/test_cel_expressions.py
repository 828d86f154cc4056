"""Expressions with what cel-go 0.26 makes of them in the environment of Kubernetes 1.36."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kube import cel
from kubedyno.kube.cel import BUDGET, CelError, CelSyntaxError, ConstantError, CostExceeded, EvaluationError
from kubedyno.kube.cel.addresses import cidr_text, ip_text
from kubedyno.kube.cel.amounts import semver_text
from kubedyno.kube.cel.times import timestamp_text
from kubedyno.kube.cel.values import (
    Cidr,
    Duration,
    Ip,
    Maybe,
    Semver,
    Timestamp,
    TypeValue,
    Uint,
    Url,
    entries,
    is_list,
    is_map,
)
from kubedyno.kube.quantities import Quantity

pytestmark = pytest.mark.unit

_RECORDED = json.loads((Path(__file__).parent / "expressions.json").read_text())
_SHOWN: dict[type, tuple[str, Any]] = {
    bool: ("bool", bool),
    int: ("int", str),
    Uint: ("uint", lambda value: str(int(value))),
    float: ("double", lambda value: value if value == value else "nan"),  # noqa: PLR0124 - NaN
    str: ("string", str),
    bytes: ("bytes", lambda value: base64.b64encode(value).decode()),
    type(None): ("null", lambda _: None),
    Timestamp: ("timestamp", lambda value: timestamp_text(Timestamp(value.nanos))),
    Duration: ("duration", lambda value: str(value.nanos)),
    TypeValue: ("type", lambda value: value.name),
    Maybe: ("optional", lambda value: _shown(value.value) if value.has else None),
    Quantity: ("quantity", str),
    Semver: ("semver", semver_text),
    Ip: ("ip", ip_text),
    Cidr: ("cidr", cidr_text),
    Url: ("url", lambda value: value.text),
}


def _shown(value: Any) -> dict[str, Any]:
    """A value with its type, as the recordings have it."""
    if is_map(value):
        pairs = [[_shown(key), _shown(held)] for key, held in entries(value)]
        return {"t": "map", "v": sorted(pairs, key=lambda pair: json.dumps(pair, sort_keys=True))}
    if is_list(value):
        return {"t": "list", "v": [_shown(element) for element in value]}
    name, show = _SHOWN[type(value)]
    return {"t": name, "v": show(value)}


def _outcome(expression: str, variables: dict[str, Any]) -> dict[str, Any]:
    try:
        program = cel.compile(expression)
    except CelSyntaxError as error:
        return {"syntax": str(error)}
    except ConstantError as error:
        return {"error": str(error)}
    try:
        return {"value": _shown(program.evaluate(variables))}
    except EvaluationError as error:
        return {"error": str(error)}


@pytest.mark.parametrize("case", _RECORDED["cases"], ids=lambda case: case["expression"][:60])
def test_an_expression_gives_what_cel_go_gives(case: dict[str, Any]) -> None:
    expected = {key: value for key, value in case.items() if key != "expression"}
    assert _outcome(case["expression"], _RECORDED["variables"]) == expected


def test_a_syntax_error_tells_line_and_column() -> None:
    with pytest.raises(CelSyntaxError) as raised:
        cel.compile("self.a &&\n  self.b ==")
    assert (raised.value.line, raised.value.column) == (2, 12)
    assert str(raised.value).startswith("ERROR: <input>:2:12: Syntax error: mismatched input '<EOF>' expecting {'[',")


def test_names_that_are_not_declared_are_refused_where_they_stand() -> None:
    assert cel.compile("self.a == oldSelf.a", variables=("self", "oldSelf")).evaluate(
        {"self": {"a": 1}, "oldSelf": {"a": 1}}
    )
    with pytest.raises(CelSyntaxError, match=r"<input>:1:11: undeclared reference to 'other' \(in container ''\)"):
        cel.compile("self.a == other.a", variables=("self", "oldSelf"))
    assert cel.compile("self.all(other, other > 0)", variables=("self",)).evaluate({"self": [1, 2]}) is True


def test_an_evaluation_ends_when_its_budget_is_spent() -> None:
    program = cel.compile("self.all(a, self.all(b, a + b >= 0))")
    numbers = list(range(1000))
    with pytest.raises(CostExceeded, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate({"self": numbers}, budget=100_000)
    with pytest.raises(CostExceeded):
        cel.compile("self.map(a, a + a).map(a, a + a).exists(a, a == 'x') || true").evaluate(
            {"self": ["y" * 10**7]}, budget=10**5
        )
    assert program.evaluate({"self": numbers[:100]}, budget=BUDGET) is True


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    for deep in ("(" * 5000 + "1" + ")" * 5000, "[" * 5000 + "]" * 5000, "self" + ".a" * 20_000, "1" + "+1" * 20_000):
        try:
            cel.compile(deep).evaluate({"self": {}})
        except CelError:
            continue
        pytest.fail("it has no value")


def test_a_program_is_evaluated_with_one_set_of_variables_after_another() -> None:
    program = cel.compile("self.spec.replicas <= self.spec.?maxReplicas.orValue(3)")
    assert program.evaluate({"self": {"spec": {"replicas": 3}}}) is True
    assert program.evaluate({"self": {"spec": {"replicas": 4}}}) is False
    assert program.evaluate({"self": {"spec": {"replicas": 4, "maxReplicas": 5}}}) is True
    with pytest.raises(EvaluationError, match="no such key: replicas"):
        program.evaluate({"self": {"spec": {}}})


def test_variables_of_macros_do_not_leak_into_each_other() -> None:
    program = cel.compile("[1, 2].map(i, [10, 20].map(j, i + j)).map(i, i.sum()).sum() + self.map(i, i * 2).sum()")
    assert program.evaluate({"self": [1, 2, 3]}) == 78


def test_a_constant_that_has_no_value_is_refused_even_where_it_is_not_reached() -> None:
    with pytest.raises(ConstantError, match=r"^type conversion error from 'string' to 'int'$"):
        cel.compile('true || int("a") > 1')
    assert cel.compile("true || int(self) > 1").evaluate({"self": "a"}) is True


@pytest.mark.parametrize(
    "expression",
    [
        "lists.range(100000000).size() > 0",
        "lists.range(5000).distinct().size() > 0",
        "lists.range(900).all(i, i in lists.range(900))",
        "sets.contains(lists.range(2000), lists.range(2000))",
        "[self].map(a, a.replace('', a)).map(a, a.replace('', a)).map(a, a.replace('', a)).size() > 0",
        "lists.range(900).all(i, lists.range(900).all(j, lists.range(900).all(k, true)))",
    ],
)
def test_what_would_take_very_long_or_much_memory_is_ended(expression: str) -> None:
    with pytest.raises(CostExceeded):
        cel.compile(expression).evaluate({"self": "text" * 100})
