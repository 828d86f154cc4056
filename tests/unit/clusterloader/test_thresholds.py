from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.reporting.perfdata import percentile
from kubedyno.clusterloader.reporting.thresholds import PARAMS, Limit, of_percentiles, violations
from kubedyno.kit.units import parse_duration_s

pytestmark = pytest.mark.unit


class Given:
    """Parameters as texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __contains__(self, name: str) -> bool:
        return name in self._texts

    def duration_s(self, name: str, default: str | None = None) -> float:
        return parse_duration_s(self._texts.get(name, default or ""))


@pytest.mark.parametrize(
    ("texts", "expected_s"),
    [
        ({}, [5.0, 5.0, 5.0]),
        ({"threshold": "1m"}, [60.0, 60.0, 60.0]),
        ({"perc99Threshold": "80s"}, [5.0, 5.0, 80.0]),
        ({"threshold": "0s", "perc50Threshold": "40s", "perc90Threshold": "0s"}, [40.0, 0.0, 0.0]),
    ],
)
def test_each_percentile_has_its_own_limit_or_that_of_all(texts: Mapping[str, str], expected_s: list[float]) -> None:
    limits = of_percentiles("pod_startup", Given(texts), default="5s")
    assert [limit.percent for limit in limits] == [50, 90, 99]
    assert [limit.at_most_s for limit in limits] == expected_s
    assert {limit.metric for limit in limits} == {"pod_startup"}
    assert set(texts) <= set(PARAMS)


def test_a_sentence_tells_metric_percentile_figure_and_limit() -> None:
    limits = (Limit("pod_startup", 50, 5.0), Limit("pod_startup", 90, 5.0), Limit("pod_startup", 99, 5.0))
    samples_s = [1.0] * 89 + [5.000000001] * 10 + [5.22]
    assert violations(limits, samples_s) == (
        "pod startup: too high latency: the 90th percentile is 5.000000001 s, and 5 s is the limit",
        "pod startup: too high latency: the 99th percentile is 5.000000001 s, and 5 s is the limit",
    )


def test_a_limit_that_is_just_met_is_kept() -> None:
    assert violations([Limit("claim_allocation", 99, 0.3)], [0.1 + 0.2]) == ()


def test_without_samples_no_limit_is_exceeded() -> None:
    assert violations([Limit("pod_startup", 99, 0.0)], []) == ()


@given(st.lists(st.integers(0, 10**12)), st.integers(0, 10**12))
def test_a_limit_is_told_exactly_when_its_percentile_exceeds_it(samples_ns: list[int], at_most_ns: int) -> None:
    limits = [Limit("any", percent, at_most_ns / 1e9) for percent in (50, 90, 99)]
    told = violations(limits, (sample / 1e9 for sample in samples_ns))
    assert len(told) == sum(percentile(samples_ns, limit.percent) > at_most_ns for limit in limits)
