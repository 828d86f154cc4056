"""Aggregations by labels and without them."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scrapes import ask, loaded

from kubedyno.kit.errors import UsageError
from kubedyno.measure.promql import NAME, Sample, Samples

pytestmark = pytest.mark.unit


@pytest.fixture(name="requests")
def _requests() -> Samples:
    return loaded(
        5,
        {
            'm{job="a",pod="1"}': [10.0],
            'm{job="a",pod="2"}': [20.0],
            'm{job="b",pod="1"}': [40.0],
            'm{job="b",pod="2"}': [80.0],
            "m": [5.0],
            'n{job="a"}': [math.nan],
            'n{job="b"}': [3.0],
        },
    )


def test_groups_have_the_labels_that_are_named_or_all_others(requests: Samples) -> None:
    assert ask(requests, "sum(m)", 0) == {"{}": 155}
    assert ask(requests, "sum by (job) (m)", 0) == {'{job="a"}': 30, '{job="b"}': 120, "{}": 5}
    assert ask(requests, "sum without (pod) (m)", 0) == ask(requests, "sum(m) by (job)", 0)
    assert ask(requests, "count by (__name__) (m)", 0) == {"m{}": 5}
    assert ask(requests, "sum(nothing)", 0) == {}


def test_values_are_summed_up(requests: Samples) -> None:
    assert ask(requests, "min by (job) (m)", 0) == {'{job="a"}': 10, '{job="b"}': 40, "{}": 5}
    assert ask(requests, "max by (job) (m)", 0) == {'{job="a"}': 20, '{job="b"}': 80, "{}": 5}
    assert ask(requests, "avg(m)", 0) == {"{}": 31}
    assert ask(requests, "group by (job) (m)", 0) == {'{job="a"}': 1, '{job="b"}': 1, "{}": 1}
    assert ask(requests, "count(m > 10)", 0) == {"{}": 3}
    assert ask(requests, "stdvar by (job) (m)", 0) == {'{job="a"}': 25, '{job="b"}': 400, "{}": 0}
    assert ask(requests, "stddev by (job) (m)", 0) == {'{job="a"}': 5, '{job="b"}': 20, "{}": 0}
    assert ask(requests, "quantile(0.5, m)", 0) == {"{}": 20}
    assert ask(requests, "quantile by (job) (0.9, m)", 0) == pytest.approx({'{job="a"}': 19, '{job="b"}': 76, "{}": 5})
    assert ask(requests, "quantile(-1, m)", 0) == {"{}": -math.inf}


def test_nan_counts_only_where_there_is_nothing_else(requests: Samples) -> None:
    assert ask(requests, "max(n)", 0) == ask(requests, "min(n)", 0) == {"{}": 3}
    assert math.isnan(ask(requests, "sum(n)", 0)["{}"])
    assert math.isnan(ask(requests, 'max(n{job="a"})', 0)["{}"])
    assert (
        list(ask(requests, "topk(2, n)", 0))
        == list(ask(requests, "bottomk(2, n)", 0))
        == [
            'n{job="b"}',
            'n{job="a"}',
        ]
    )


def test_the_first_ones_keep_their_labels_and_are_in_order(requests: Samples) -> None:
    assert list(ask(requests, "topk(2, m)", 0).items()) == [('m{job="b", pod="2"}', 80), ('m{job="b", pod="1"}', 40)]
    assert list(ask(requests, "bottomk(2, m)", 0).items()) == [("m{}", 5), ('m{job="a", pod="1"}', 10)]
    assert ask(requests, "topk by (job) (1, m)", 0) == {'m{job="a", pod="2"}': 20, 'm{job="b", pod="2"}': 80, "m{}": 5}
    assert ask(requests, "topk(0, m)", 0) == ask(requests, "topk(-1, m)", 0) == {}
    assert len(ask(requests, "topk(Inf, m)", 0)) == 5
    with pytest.raises(UsageError) as refused:
        requests.query("topk(NaN, m)", 0)
    assert str(refused.value) == (
        "line 1, column 1 of the query 'topk(NaN, m)': 'topk' cannot choose NaN elements: its first argument must be a "
        "number"
    )


def test_equal_values_are_counted_under_a_label() -> None:
    values = [1.5, 1.5, 1e21, -2.0, math.inf, -math.inf, math.nan]
    samples = loaded(5, {f'm{{x="{place}"}}': [value] for place, value in enumerate(values)})
    assert ask(samples, 'count_values("v", m)', 0) == {
        '{v="1.5"}': 2,
        '{v="1000000000000000000000"}': 1,
        '{v="-2"}': 1,
        '{v="+Inf"}': 1,
        '{v="-Inf"}': 1,
        '{v="NaN"}': 1,
    }
    assert ask(samples, 'count_values without (x) ("v", m > 1e20)', 0) == {
        '{v="1000000000000000000000"}': 1,
        '{v="+Inf"}': 1,
    }


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(-1000, 1000)), min_size=1, max_size=20))
def test_aggregations_are_those_of_the_standard_library(members: list[tuple[str, int]]) -> None:
    samples = Samples()
    samples.append(
        0,
        {},
        [
            Sample({NAME: "m", "g": group, "x": str(place)}, float(value))
            for place, (group, value) in enumerate(members)
        ],
    )
    values = [value for _, value in members]
    for query, expected in (
        ("sum(sum by (g) (m))", sum(values)),
        ("avg(m)", statistics.fmean(values)),
        ("stdvar(m)", statistics.pvariance(values)),
        ("stddev(m)", statistics.pstdev(values)),
        ("max(max without (x) (m))", max(values)),
        ("quantile(0.5, m)", statistics.median(values)),
    ):
        assert ask(samples, query, 0)["{}"] == pytest.approx(float(expected), rel=1e-9, abs=1e-9)
    descending = [sample.value for sample in samples.query("sort_desc(m)", 0)]
    assert [sample.value for sample in samples.query("topk(3, m)", 0)] == descending[:3]
