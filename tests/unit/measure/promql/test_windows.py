"""Functions of windows: worked figures, and a slow evaluation of their definitions."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scrapes import ask, loaded, rising

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql import NAME, Sample, Samples

pytestmark = pytest.mark.unit

MIN = 60


def single(samples: Samples, query: str, at_s: float) -> float:
    (value,) = ask(samples, query, at_s).values()
    return value


def test_a_counter_that_covers_its_window_is_extrapolated_to_both_edges() -> None:
    # Samples at 10 s to 60 s gained 50 in 50 s; the sample at 0 s is not in the window, its left end is open.
    samples = loaded(10, {"m": rising(100, 10, 6)})
    assert single(samples, "increase(m[1m])", 60) == pytest.approx(60)
    assert single(samples, "rate(m[1m])", 60) == pytest.approx(1)
    # At 65 s both edges are 5 s from a sample: 50 * 60/50.
    assert single(samples, "increase(m[1m])", 65) == pytest.approx(60)


def test_rates_are_divided_as_prometheus_divides_them() -> None:
    # 14 in 6 s, 5 s and 2 s from the edges, of which 5 s are too far: half of 3 s. The last digit decides which of two
    # buckets a quantile is in, where its rank is the count of the first.
    samples = loaded(3, {"m": rising(1000, 7, 2)})
    assert single(samples, "rate(m[13s])", 8) == 14 * (((6 + 1.5 + 2) / 6) / 13) != 14 * ((6 + 1.5 + 2) / 6) / 13


def test_far_edges_are_extrapolated_by_half_a_distance_and_not_below_zero() -> None:
    samples = loaded(
        300, {'m{from="0"}': rising(0, 10, 10), 'm{from="1"}': rising(1, 10, 10), 'm{from="10"}': rising(10, 10, 10)}
    )
    # All gain 100 in 50 min. The begin is 50 min away, so half of 5 min is added: 5 more; but never before 0.
    assert ask(samples, "increase(m[100m])", 50 * MIN) == pytest.approx(
        {'{from="0"}': 100, '{from="1"}': 101, '{from="10"}': 105}
    )


def test_what_was_below_zero_is_no_counter_that_began_there() -> None:
    assert single(loaded(10, {"m": [-10.0, 0.0, 10.0]}), "increase(m[100s])", 20) == pytest.approx(20 * (20 + 5) / 20)


def test_a_gauge_is_extrapolated_below_zero() -> None:
    samples = loaded(300, {"m": [200.0, 150.0, 100.0, 50.0, 0.0]})
    assert single(samples, "delta(m[20m])", 20 * MIN) == pytest.approx(-200)
    # 10 min of samples within (5 min, 30 min]: one distance on the left, so up to the edge; on the right 10 min are too
    # far, so half a distance.
    assert single(samples, "delta(m[25m])", 30 * MIN) == pytest.approx(-100 * (10 + 5 + 2.5) / 10)


def test_a_counter_that_fell_began_anew() -> None:
    samples = loaded(300, {"m": [0.0, 1.0, 2.0, 3.0, 2.0, 3.0, 4.0]})
    # From 5 min on 1 2 3 2 3 4 gain 6 in 25 min; at this pace it was 0 one gain earlier, which is within the window.
    assert single(samples, "increase(m[30m])", 30 * MIN) == pytest.approx(1 + 2 + 4)
    assert single(samples, "resets(m[30m])", 30 * MIN) == 1
    assert single(samples, "delta(m[30m])", 30 * MIN) == pytest.approx(3 * 30 / 25)


def test_one_sample_has_no_rate() -> None:
    samples = loaded(300, {"m": rising(0, 1, 10)})
    for function in ("rate", "increase", "delta", "irate", "idelta", "deriv"):
        assert ask(samples, f"{function}(m[5m])", 50 * MIN) == {}
    assert ask(samples, "count_over_time(m[5m])", 50 * MIN) == {"{}": 1}


def test_irate_takes_the_last_two_samples() -> None:
    samples = loaded(5, {"m": [0.0, 10.0, 30.0, 90.0, 20.0]})
    assert single(samples, "irate(m[1m])", 15) == pytest.approx(12)
    assert single(samples, "irate(m[1m])", 19) == pytest.approx(12)
    assert single(samples, "irate(m[1m])", 20) == pytest.approx(4)
    assert single(samples, "idelta(m[1m])", 20) == pytest.approx(-70)


def test_deriv_is_the_slope_of_the_least_squares() -> None:
    # Worked: sum x = 16500, sum y = 250, sum xy = 480000, sum xx = 34650000 of 11 points; 105000 / 9900000.
    samples = loaded(300, {"m": [*rising(0, 10, 4), *rising(0, 10, 5)], "n": [math.inf, *rising(0, 1, 3), -math.inf]})
    assert single(samples, "deriv(m[100m])", 50 * MIN) == pytest.approx(105000 / 9900000)
    assert math.isnan(single(samples, "deriv(n[100m])", 50 * MIN))


def test_changes_do_not_count_nan_after_nan() -> None:
    samples = loaded(5, {'m{a="b"}': [math.nan] * 3, 'm{a="c"}': [0.0, math.nan, 0.0], 'm{a="d"}': [1.0, 1.0, 2.0]})
    assert ask(samples, "changes(m[1m])", 10) == {'{a="b"}': 0, '{a="c"}': 2, '{a="d"}': 1}


def test_windows_are_summed_up() -> None:
    samples = loaded(5, {"m": [4.0, math.nan, 2.0, 6.0], "n": [1.0, 2.0, 3.0, 6.0]})
    assert single(samples, "max_over_time(m[1m])", 15) == 6
    assert single(samples, "min_over_time(m[1m])", 15) == 2
    assert math.isnan(single(samples, "sum_over_time(m[1m])", 15))
    assert single(samples, "sum_over_time(n[1m])", 15) == 12
    assert single(samples, "avg_over_time(n[1m])", 15) == 3
    assert single(samples, "stdvar_over_time(n[1m])", 15) == pytest.approx((4 + 1 + 0 + 9) / 4)
    assert single(samples, "stddev_over_time(n[1m])", 15) == pytest.approx(math.sqrt(3.5))
    assert single(samples, "present_over_time(n[1m])", 15) == 1
    assert ask(samples, "last_over_time(n[1m])", 15) == {"n{}": 6}
    assert single(samples, "quantile_over_time(0.5, n[1m])", 15) == 2.5
    assert single(samples, "quantile_over_time(0.9, n[1m])", 15) == pytest.approx(3 * 0.3 + 6 * 0.7)
    assert single(samples, "quantile_over_time(2, n[1m])", 15) == math.inf


def test_a_subquery_steps_at_multiples_of_its_step_after_its_open_begin() -> None:
    samples = loaded(10, {"m": rising(0, 1, 12)})
    # At 127 s: steps 30, 60, 90, 120; of (7 s, 127 s]. At 120 s: 30, 60, 90, 120, for the begin 0 is left out.
    assert single(samples, "count_over_time(m[2m:30s])", 127) == 4
    assert single(samples, "count_over_time(m[2m:30s])", 120) == 4
    assert single(samples, "sum_over_time(m[2m:30s])", 127) == 3 + 6 + 9 + 12
    assert single(samples, "sum_over_time(m[1m:30s] offset 1m)", 127) == 3 + 6
    assert single(samples, "count_over_time(m[2m:])", 127) == 4
    assert single(samples, "max_over_time(rate(m[20s])[1m:20s])", 120) == pytest.approx(0.1)


def test_offsets_look_back_and_ahead() -> None:
    samples = loaded(10, {"m": rising(0, 1, 12)})
    assert ask(samples, "m offset 1m", 100) == {"m{}": 4}
    assert ask(samples, "m offset -10s", 100) == {"m{}": 11}
    assert single(samples, "sum_over_time(m[20s] offset 1m)", 100) == 3 + 4


HISTORIES = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 50)), min_size=1, max_size=12)


@given(steps=HISTORIES, range_s=st.integers(1, 200), late_s=st.integers(0, 40))
def test_increase_and_rate_are_what_their_definition_says(
    steps: list[tuple[int, int]], range_s: int, late_s: int
) -> None:
    samples = Samples()
    points: list[tuple[int, int]] = []
    at_s = 0
    for step_s, value in steps:
        at_s += step_s
        points.append((at_s, value))
        samples.append(at_s * NS_PER_S, {}, [Sample({NAME: "m"}, float(value))])
    end_s = at_s + late_s
    inside = [point for point in points if end_s - range_s < point[0] <= end_s]
    for query, is_counter in ((f"increase(m[{range_s}s])", True), (f"delta(m[{range_s}s])", False)):
        answer = ask(samples, query, end_s)
        if len(inside) < 2:
            assert answer == {}
        else:
            assert answer["{}"] == pytest.approx(
                float(slow_gain(inside, end_s - range_s, end_s, is_counter=is_counter))
            )
    if len(inside) >= 2:
        rate = ask(samples, f"rate(m[{range_s}s])", end_s)["{}"]
        assert rate * range_s == pytest.approx(ask(samples, f"increase(m[{range_s}s])", end_s)["{}"])


def slow_gain(points: list[tuple[int, int]], begin_s: int, end_s: int, *, is_counter: bool) -> Fraction:
    """A straight line through the first and the last point of a counter without resets, from edge to edge."""
    height = Fraction(points[0][1])
    for (_, before), (_, after) in pairwise(points):
        height += after if is_counter and after < before else after - before
    first_s, last_s = points[0][0], points[-1][0]
    slope = (height - points[0][1]) / (last_s - first_s)
    distance_s = Fraction(last_s - first_s, len(points) - 1)
    # What is near is decided by floats: 1.1 is none of them exactly.
    near_s = float(distance_s) * 1.1
    begin_at_s = Fraction(begin_s) if first_s - begin_s < near_s else first_s - distance_s / 2
    if is_counter and slope > 0:
        begin_at_s = max(begin_at_s, first_s - points[0][1] / slope)
    end_at_s = Fraction(end_s) if end_s - last_s < near_s else last_s + distance_s / 2
    return slope * (end_at_s - begin_at_s)
