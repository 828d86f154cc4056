import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kube import jq

pytestmark = pytest.mark.unit

# Computed by gojq v0.12.19, the one that KWOK 0.8 is built with.
_GOJQ = json.loads((Path(__file__).parent / "gojq_cases.json").read_text(encoding="utf-8"))
_RUN = [case for case in _GOJQ["cases"] if "refused" not in case]
_REFUSED = [case for case in _GOJQ["cases"] if "refused" in case]


def _as_printed(value: Any) -> Any:
    """gojq prints NaN as null and infinity as the largest float."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return min(max(value, -1.7976931348623157e308), 1.7976931348623157e308)
    if isinstance(value, list):
        return [_as_printed(item) for item in value]
    return {key: _as_printed(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("case", _RUN, ids=lambda case: case["query"])
def test_a_query_gives_what_gojq_gives(case: dict[str, Any]) -> None:
    value = copy.deepcopy(_GOJQ["inputs"][case.get("input", "small")])
    outputs, error = [], None
    try:
        for output in jq.compile(case["query"]).run(value):
            outputs.append(_as_printed(output))  # noqa: PERF401  # those before an error count
    except jq.EvaluationError as failure:
        error = failure.message
    assert outputs == case["outputs"]
    assert error == case.get("error")
    assert value == _GOJQ["inputs"][case.get("input", "small")], "the value was changed in place"


@pytest.mark.parametrize("case", _REFUSED, ids=lambda case: case["query"])
def test_a_text_that_gojq_refuses_is_refused_in_its_words(case: dict[str, Any]) -> None:
    with pytest.raises(jq.QueryError) as refused:
        jq.compile(case["query"])
    assert refused.value.message == case["refused"]


def test_true_and_one_are_different_values() -> None:
    assert list(jq.compile(". == 1, type").run(value=True)) == [False, "boolean"]
    assert list(jq.compile("[true, 1] | unique").run(None)) == [[True, 1]]


def test_a_refused_query_names_line_and_column() -> None:
    with pytest.raises(jq.QueryError, match=r"""unexpected token "\)" at line 2, column 4 of jq query"""):
        jq.compile(".a\n| 1)")
    with pytest.raises(jq.QueryError, match="function not defined: nope/1 at line 1, column 6 of"):
        jq.compile(".a | nope(1)")


def test_a_failed_query_names_line_and_column() -> None:
    query = jq.compile(".a |\n .b.c")
    with pytest.raises(jq.EvaluationError, match=r"got: number \(1\) at line 2, column 4 of jq query"):
        list(query.run({"a": {"b": 1}}))


def test_an_error_inside_a_function_is_placed_where_the_function_is_called() -> None:
    with pytest.raises(jq.EvaluationError, match=r"cannot iterate over: null at line 1, column 6 of"):
        list(jq.compile(".x | map(1)").run({}))


def test_variables_are_bound_by_the_run() -> None:
    query = jq.compile("$node.name + $suffix", variables=["node", "$suffix"])
    assert list(query.run(None, {"node": {"name": "n"}, "suffix": "-1"})) == ["n-1"]
    with pytest.raises(jq.EvaluationError, match=r"variable defined but not bound: \$suffix"):
        list(query.run(None, {"node": {}}))


def test_outputs_come_as_they_are_asked_for() -> None:
    outputs = jq.compile('1, error("late")').run(None)
    assert next(outputs) == 1
    with pytest.raises(jq.EvaluationError, match="late"):
        next(outputs)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("repeat(empty)", "more than 100000 steps"),
        ("[range(1000000)]", "more than 100000 steps"),
        ("def f: f; f", "levels deep"),
        ("def f: 1 + f; try f catch 0", "levels deep"),
        ("def f(g): f(g | g); f(.)", "levels deep"),
        ("range(20000)", "more than 10000 outputs"),
        ('reduce range(60) as $i ("x"; . + .)', "items or characters"),
        ('"x" * 100000000', "items or characters"),
        ("reduce range(100) as $i (3; . * .)", "bits"),
        (".[400000000] = 1", "sets item 400000000"),
        ("[recurse(.)]", "more than 100000 steps"),
        ("null | until(false; .)", "more than 100000 steps"),
        ("[while(true; .)]", "more than 100000 steps"),
    ],
)
def test_a_query_without_end_is_stopped_and_cannot_catch_that(text: str, told: str) -> None:
    with pytest.raises(jq.QueryLimit, match=told):
        list(jq.compile(text).run(None))


@pytest.mark.parametrize(
    "text", ["(" * 5000 + ")" * 5000, "-" * 5000 + "1", "[" * 200, "1" + "+1" * 20000, "." * 70000]
)
def test_a_monstrous_text_is_refused(text: str) -> None:
    with pytest.raises(jq.QueryError):
        jq.compile(text)


def test_a_value_nested_too_deeply_is_a_limit() -> None:
    value: Any = 1
    for _ in range(3000):
        value = [value]
    with pytest.raises(jq.QueryLimit, match="nests too deeply"):
        list(jq.compile("tojson").run(value))


@pytest.mark.parametrize("text", ["now", "env", "input", "inputs", "$ENV", "halt", "debug", "input_filename"])
def test_nothing_beyond_the_value_can_be_reached(text: str) -> None:
    with pytest.raises(jq.QueryError, match="not defined"):
        jq.compile(text)
