"""What is a query, how tightly its operators bind, and what is said of those that are none."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scrapes import ask, loaded, number

from kubedyno.kit.errors import UsageError
from kubedyno.measure.promql import Samples, metrics_of
from kubedyno.measure.promql import functions as implementations
from kubedyno.measure.promql.signatures import FUNCTIONS

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 ^ 3 ^ 2", 512),
        ("-2 ^ 2", -4),
        ("-2^---1*3", -1.5),
        ("2/-2^---1*3+2", -10),
        ("- - - 1", -1),
        ("7 % 4 - 1 == bool 2", 1),
        ("1 < bool 2 + 0", 1),
        ("0x1F", 31),
        (".5e1", 5),
        ("1h30m", 5400),
        ("100ms", 0.1),
        ("-Inf", -math.inf),
        ("1 atan2 1", math.pi / 4),
        ("1 # a comment\n + 1", 2),
    ],
)
def test_numbers_are_computed_by_the_rules_of_precedence(query: str, value: float) -> None:
    assert number(query) == pytest.approx(value)


SUMS = st.recursive(
    st.integers(1, 9).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(" ".join),
        st.tuples(st.sampled_from(["2", "3"]), st.just("^"), st.sampled_from(["2", "-1", "0"])).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=12,
)


@given(SUMS)
def test_expressions_mean_what_they_mean_in_python(text: str) -> None:
    meant = eval(text.replace("^", "**"))  # noqa: S307 - of digits and operators alone
    assert number(text) == pytest.approx(float(meant), rel=1e-9, abs=1e-9)


def test_keywords_are_written_in_any_case_and_may_be_names_of_metrics() -> None:
    samples = loaded(5, {'sum{by="x"}': [1.0], 'sum{by="y"}': [2.0], "offset": [5.0]})
    assert ask(samples, "SUM(sum) BY (by)", 0) == {'{by="x"}': 1.0, '{by="y"}': 2.0}
    assert ask(samples, "sum By (by,) (sum) > 1", 0) == {'{by="y"}': 2.0}
    assert ask(samples, "offset", 0) == {"offset{}": 5.0}


def test_strings_stand_in_three_quotes() -> None:
    samples = loaded(5, {r'm{path="C:\\x"}': [1.0], r'm{path="a\"b"}': [2.0], 'm{path="é"}': [3.0]})
    assert ask(samples, r'm{path="C:\\x"}', 0) == ask(samples, r"m{path='C:\\x'}", 0) == {r'm{path="C:\x"}': 1.0}
    assert ask(samples, r"m{path=`C:\x`}", 0) == {r'm{path="C:\x"}': 1.0}
    assert ask(samples, r'm{path="a\"b"}', 0) == {'m{path="a"b"}': 2.0}
    assert ask(samples, r"m{path='\u00e9'} or m{path='\xc3\xa9'}", 0) == {'m{path="é"}': 3.0}


def test_the_four_matchers_see_a_missing_label_as_empty_and_match_whole_values() -> None:
    samples = loaded(5, {'m{a="x"}': [1.0], 'm{a="xy"}': [2.0], "m": [3.0], "n": [4.0]})
    assert ask(samples, 'm{a="x"}', 0) == {'m{a="x"}': 1.0}
    assert ask(samples, 'm{a!="x"}', 0) == {'m{a="xy"}': 2.0, "m{}": 3.0}
    assert ask(samples, 'm{a=~"x|z"}', 0) == {'m{a="x"}': 1.0}
    assert ask(samples, 'm{a!~"x.*"}', 0) == {"m{}": 3.0}
    assert ask(samples, 'm{a=""}', 0) == {"m{}": 3.0}
    assert ask(samples, '{__name__=~"m|n",a=""}', 0) == {"m{}": 3.0, "n{}": 4.0}


@pytest.mark.parametrize(
    ("query", "column", "message"),
    [
        ("rat(m[5m])", 1, "the function 'rat' is not supported: did you mean 'rate'?"),
        ("predict_linear(m[5m], 3600)", 1, "the function 'predict_linear' is not supported: known are: abs, "),
        ("rate(m)", 6, "argument 1 of 'rate' must be a range vector, not an instant vector: write a range behind it, "),
        ("sum(m[5m])", 5, "what 'sum' aggregates must be an instant vector, not a range vector: leave out the range, "),
        ("m[5m]", 1, "it gives a range vector: put a function such as rate around it"),
        ('"x"', 1, "it gives a string, but must give numbers"),
        ("m @ 5", 3, "the modifier '@' is not supported: leave it out, or write an offset such as offset 5m"),
        ("sum(m)[5m]", 7, "a range belongs directly to a metric: of anything else make a subquery such as [5m:10s]"),
        ("(m)[5m]", 4, "a range belongs directly to a metric: of anything else make a subquery such as [5m:10s]"),
        ("sum(m) offset 5m", 8, "an offset belongs directly to a metric, to its range, or to a subquery"),
        ("m offset 5m offset 5m", 13, "there is an offset already"),
        ("m offset 5m [5m]", 13, "an offset stands behind the range: write x[5m] offset 1m"),
        ("m offset x", 10, "expected a duration such as 5m behind 'offset'"),
        ("rate(m[0s])", 8, "a duration must be more than nothing"),
        ("rate(m[5m1h])", 8, "'5m1h' is no duration: write each unit once, from the largest on, like 1h30m"),
        ("rate(m[x])", 8, "expected a duration such as 5m"),
        ("5mx", 1, "'5m' is no number: write it like 5, 0.5, 5m or 1h30m"),
        ("avg_over_time(1[5m:1m])", 16, "a subquery is made of an instant vector, not of a number"),
        ("{}", 1, "this selects every series: name a metric, or a label that must not be empty"),
        ('{a=~".*"}', 1, "this selects every series: name a metric, or a label that must not be empty"),
        ('m{__name__="n"}', 3, "the name of the metric stands before the braces already: m"),
        ("m{a=x}", 5, "the value of a label stands in quotes"),
        ('m{a>"x"}', 4, "expected =, !=, =~ or !~ behind the name of a label"),
        ('m{a=~"("}', 6, "error parsing regexp: missing closing ): `(`"),
        ('m{a="x" b="y"}', 9, "unexpected 'b', expected ','"),
        (r'm{a="\d"}', 6, r"'\\d' is no escape in a string: write a backslash twice, or use backquotes"),
        ('m{a="x', 5, "a string without an end"),
        ("m + ?", 5, "unexpected '?'"),
        ("m +", 4, "unexpected end of the query"),
        ("m n", 3, "unexpected 'n'"),
        ("sum by (a:b) (m)", 9, "expected the name of a label"),
        ("topk(m)", 1, "'topk' takes a number, an instant vector: 1 are given"),
        ('topk("x", m)', 6, "argument 1 of 'topk' must be a number, not a string"),
        ("time(1)", 1, "'time' takes nothing: 1 are given"),
        ("clamp(m, 1)", 1, "'clamp' takes an instant vector, a number, a number: 2 are given"),
        ("1 == 1", 3, "two numbers are compared with == bool"),
        ("m + bool 1", 3, "'bool' belongs to comparisons, not to '+'"),
        ("m and 1", 3, "'and' takes two instant vectors: write vector(...) around a number"),
        ("m + on(a) 1", 3, "'on' and 'ignoring' are for two instant vectors"),
        ("m and on(a) group_left n", 13, "'group_left' cannot be used with 'and'"),
        ("m + on(a) group_left(a) n", 11, "the label 'a' stands both in on and in group_left: leave out one"),
        ("m[5m] + 1", 1, "'+' cannot take a range vector"),
        ('-"x"', 1, "the sign '-' cannot stand before a string"),
    ],
)
def test_what_is_no_query_is_refused_with_the_place(query: str, column: int, message: str) -> None:
    start = f"line 1, column {column} of the query {query!r}: {message}"
    with pytest.raises(UsageError, match=f"^{re.escape(start)}"):
        Samples().query(query, 0)


def test_places_count_lines() -> None:
    with pytest.raises(UsageError, match=r"^line 2, column 3 of the query 'sum\(m\)\\n\+ @': unexpected '@'$"):
        Samples().query("sum(m)\n+ @", 0)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(UsageError, match=r": it is nested too deeply$"):
        Samples().query("(" * 5000 + "1" + ")" * 5000, 0)


def test_the_metrics_of_queries_are_known_beforehand() -> None:
    query = 'sum(rate(a_total[5m])) / on() b offset 1m + max_over_time(topk(scalar(c), -{__name__="d"})[5m:1m])'
    assert metrics_of(query, "time()", "absent_over_time(e[1m])") == frozenset({"a_total", "b", "c", "d", "e"})
    assert metrics_of("a", '{__name__=~"b.*"}') is None


def test_every_function_that_can_be_written_can_be_run() -> None:
    evaluated_elsewhere = {"scalar", "time", "timestamp", "absent", "absent_over_time"}
    assert {*implementations.FUNCTIONS} | evaluated_elsewhere == {*FUNCTIONS}
