"""Arithmetic, comparisons, sets, and who belongs to whom."""

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scrapes import ask, loaded, number

from kubedyno.kit.errors import UsageError
from kubedyno.measure.promql import Samples

pytestmark = pytest.mark.unit


@pytest.fixture(name="nodes")
def _nodes() -> Samples:
    return loaded(
        5,
        {
            'role{node="a",role="gpu"}': [1.0],
            'cpu{node="a",mode="idle"}': [3.0],
            'cpu{node="a",mode="user"}': [1.0],
            'cpu{node="b",mode="idle"}': [8.0],
            'cpu{node="b",mode="user"}': [2.0],
            'limit{node="a"}': [2.0],
            'limit{node="b"}': [9.0],
            'twice{node="a",x="1"}': [1.0],
            'twice{node="a",x="2"}': [2.0],
        },
    )


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("1 / 0", math.inf),
        ("-1 / 0", -math.inf),
        ("1 / -0", -math.inf),
        ("0 / 0", math.nan),
        ("NaN / 0", math.nan),
        ("5 % 3", 2),
        ("-5 % 3", -2),
        ("5 % 0", math.nan),
        ("Inf % 2", math.nan),
        ("0 ^ -1", math.inf),
        ("(-8) ^ 0.5", math.nan),
        ("10 ^ 400", math.inf),
        ("(-10) ^ 401", -math.inf),
        ("(-10) ^ 400", math.inf),
        ("-0 ^ -1", -math.inf),
        ("NaN == bool NaN", 0),
        ("NaN != bool NaN", 1),
        ("3 >= bool 3", 1),
        ("2 > bool 3", 0),
    ],
)
def test_arithmetic_never_fails(query: str, value: float) -> None:
    assert number(query) == pytest.approx(value, nan_ok=True)


def test_a_number_meets_each_element_and_the_name_is_lost(nodes: Samples) -> None:
    assert ask(nodes, "limit * 2", 0) == {'{node="a"}': 4, '{node="b"}': 18}
    assert ask(nodes, "20 - limit", 0) == {'{node="a"}': 18, '{node="b"}': 11}
    assert ask(nodes, "-limit", 0) == {'{node="a"}': -2, '{node="b"}': -9}
    assert ask(nodes, "+limit", 0) == {'limit{node="a"}': 2, 'limit{node="b"}': 9}


def test_a_comparison_chooses_elements_or_tells_of_each(nodes: Samples) -> None:
    assert ask(nodes, "limit > 5", 0) == {'limit{node="b"}': 9}
    assert ask(nodes, "5 < limit", 0) == {'limit{node="b"}': 9}
    assert ask(nodes, "limit > bool 5", 0) == {'{node="a"}': 0, '{node="b"}': 1}
    assert ask(nodes, 'limit == limit{node="a"}', 0) == {'limit{node="a"}': 2}
    assert ask(nodes, 'limit > on(node) cpu{mode="idle"}', 0) == {'{node="b"}': 9}
    assert ask(nodes, 'limit > ignoring(mode) cpu{mode="idle"}', 0) == {'limit{node="b"}': 9}
    assert ask(nodes, 'limit < bool ignoring(mode) cpu{mode="idle"}', 0) == {'{node="a"}': 1, '{node="b"}': 0}


def test_one_element_belongs_to_one(nodes: Samples) -> None:
    assert ask(nodes, 'cpu{mode="idle"} / ignoring(mode) cpu{mode="user"}', 0) == {'{node="a"}': 3, '{node="b"}': 4}
    assert ask(nodes, 'cpu{mode="idle"} - on(node) limit', 0) == {'{node="a"}': 1, '{node="b"}': -1}
    assert ask(nodes, "limit + nothing", 0) == {}


def test_many_belong_to_one_and_take_its_labels(nodes: Samples) -> None:
    shares = {
        '{mode="idle", node="a"}': 0.75,
        '{mode="user", node="a"}': 0.25,
        '{mode="idle", node="b"}': 0.8,
        '{mode="user", node="b"}': 0.2,
    }
    assert ask(nodes, "cpu / on(node) group_left sum by (node) (cpu)", 0) == pytest.approx(shares)
    assert ask(nodes, "cpu / ignoring(mode) group_left() sum without (mode) (cpu)", 0) == pytest.approx(shares)
    assert ask(nodes, "role * on(node) group_right(role) cpu", 0) == {
        '{mode="idle", node="a", role="gpu"}': 3,
        '{mode="user", node="a", role="gpu"}': 1,
    }
    # What a comparison keeps is the left value, on whichever side the many are.
    assert ask(nodes, "limit > on(node) group_right cpu", 0) == {
        'cpu{mode="user", node="a"}': 2,
        'cpu{mode="idle", node="b"}': 9,
        'cpu{mode="user", node="b"}': 9,
    }


def test_sets_keep_elements_as_they_are(nodes: Samples) -> None:
    assert ask(nodes, 'limit and on(node) cpu{node="a"}', 0) == {'limit{node="a"}': 2}
    assert ask(nodes, 'limit unless on(node) cpu{node="a"}', 0) == {'limit{node="b"}': 9}
    assert ask(nodes, 'limit{node="a"} or limit', 0) == {'limit{node="a"}': 2, 'limit{node="b"}': 9}
    assert ask(nodes, "limit + 1 or on() cpu", 0) == {'{node="a"}': 3, '{node="b"}': 10}
    assert ask(nodes, "nothing or vector(0)", 0) == {"{}": 0}
    assert ask(nodes, "limit and on(none) vector(1)", 0) == {'limit{node="a"}': 2, 'limit{node="b"}': 9}


@pytest.mark.parametrize(
    ("query", "column", "message"),
    [
        (
            "limit + on(node) twice",
            7,
            (
                'twice{node="a", x="1"} and twice{node="a", x="2"} on the right side are equal in {node="a"}: '
                "one side must have each only once, so aggregate it, or match on more labels"
            ),
        ),
        (
            "twice + on(node) limit",
            7,
            (
                'several elements belong to {node="a"}: '
                "write group_left or group_right behind the labels, or aggregate the side that has several"
            ),
        ),
        (
            "twice + on(node) group_left(x) limit",
            7,
            'several elements belong to {node="a"}: name labels that tell them apart',
        ),
        (
            'abs({node="a",x=""})',
            1,
            'it gives several elements with the labels {node="a"}: select one metric, or aggregate first',
        ),
    ],
)
def test_elements_that_cannot_be_told_apart_are_refused(query: str, column: int, message: str) -> None:
    samples = loaded(
        5,
        {
            'limit{node="a"}': [1.0],
            'other{node="a"}': [1.0],
            'twice{node="a",x="1"}': [1.0],
            'twice{node="a",x="2"}': [2.0],
        },
    )
    with pytest.raises(UsageError) as refused:
        samples.query(query, 0)
    assert str(refused.value) == f"line 1, column {column} of the query {query!r}: {message}"


SIDES = st.dictionaries(st.sampled_from("abcdef"), st.integers(-3, 3).map(float))


@given(left=SIDES, right=SIDES)
def test_two_vectors_are_two_mappings(left: dict[str, float], right: dict[str, float]) -> None:
    samples = loaded(
        5,
        {
            "always": [0.0],
            **{f'l{{x="{key}"}}': [value] for key, value in left.items()},
            **{f'r{{x="{key}"}}': [value] for key, value in right.items()},
        },
    )

    def told(query: str) -> dict[str, float]:
        return {sample.labels["x"]: sample.value for sample in samples.query(query, 0)}

    both = left.keys() & right.keys()
    for sign, function in (("+", operator.add), ("-", operator.sub), ("*", operator.mul)):
        assert told(f"l {sign} r") == {key: function(left[key], right[key]) for key in both}
    assert told("l < r") == {key: left[key] for key in both if left[key] < right[key]}
    assert told("l and r") == {key: left[key] for key in both}
    assert told("l unless r") == {key: left[key] for key in left.keys() - right.keys()}
    assert told("l or r") == {**right, **left}
