"""Curves and knees of several trials, put beside each other."""

import math
import random

import msgspec
import pytest
from tests import sweeps

from kubedyno.measure import statistics
from kubedyno.measure.records import Percentile
from kubedyno.report import sweep_reading
from kubedyno.report.sweep_reading import Ratio, gather, ratio_of_knees, ratio_of_points

pytestmark = pytest.mark.unit


def test_variants_are_told_apart_by_what_differs_and_awareness_is_always_said() -> None:
    aware, unaware = sweeps.trial(aware=True), sweeps.trial(aware=False)
    assert [gather([aware]).name(one) for one in gather([aware]).variants] == ["topology-aware"]
    both = gather([aware, unaware, sweeps.trial(aware=True, ha=True)])
    assert [both.name(one) for one in both.variants] == [
        "not aware, no HA",
        "topology-aware, no HA",
        "topology-aware, HA",
    ]
    other = msgspec.structs.replace(aware, scheduler="reference")
    two = gather([aware, other])
    assert [two.name(one) for one in two.variants] == ["topology-aware, plugins", "topology-aware, reference"]


def test_sizes_are_in_order_and_the_metric_of_most_samples_is_first() -> None:
    record = msgspec.structs.replace(
        sweeps.TRIAL,
        curves=(
            sweeps.point(scale="small", metric="GET, s", samples=[0.1] * 3),
            sweeps.point(scale="toy", metric="PATCH, s", samples=[0.1] * 30),
            sweeps.missing(scale="toy", why="did not fit"),
        ),
    )
    sweep = gather([record])
    assert sweep.scales() == [(10, "toy"), (100, "small")]
    assert sweep.metrics("scheduler latency") == ["PATCH, s", "GET, s"]


def test_cases_are_in_the_order_of_their_numbers_and_own_ones_come_last() -> None:
    names = ("mine", "scheduler overload", "scheduler latency")
    record = msgspec.structs.replace(sweeps.TRIAL, curves=tuple(sweeps.point(case=name) for name in names))
    assert gather([record]).cases() == ["scheduler latency", "scheduler overload", "mine"]


def test_of_repetitions_the_middle_one_stands_with_what_all_lie_between() -> None:
    def repeated(value: float) -> Percentile:
        return Percentile(percent=50.0, value=value, lower=value - 0.5, upper=value + 0.5)

    trials = [
        msgspec.structs.replace(
            sweeps.TRIAL,
            curves=(msgspec.structs.replace(sweeps.point(), p50=repeated(value), p90=None, p99=None),),
            knees=(sweeps.knee(rate=value * 10, lower=value * 9, upper=upper),),
        )
        for value, upper in ((3.0, 33.0), (1.0, 11.0), (2.0, None))
    ]
    sweep = gather(trials)
    (point,), (knee,) = sweep.points, sweep.knees
    assert point.record.p50 == Percentile(percent=50.0, value=2.0, lower=0.5, upper=3.5)
    assert point.record.p99 is None
    assert (knee.record.rate, knee.record.lower, knee.record.upper) == (20.0, 9.0, None)


def test_a_price_is_the_ratio_of_the_same_point_with_and_without() -> None:
    sweep = gather([sweeps.trial(aware=True), sweeps.trial(aware=False)])
    aware = next(one for one in sweep.points if one.variant.aware)
    other = sweep.counterpart(aware, msgspec.structs.replace(aware.variant, aware=False))
    assert other is not None
    assert not other.variant.aware
    ratio = ratio_of_points(aware, other, 50.0)
    assert ratio is not None
    assert ratio.value == pytest.approx(1.5)
    assert ratio.lower is not None
    assert ratio.upper is not None
    assert ratio.lower < ratio.value < ratio.upper
    assert sweep.counterpart(aware, msgspec.structs.replace(aware.variant, ha=True)) is None


def test_the_interval_of_a_price_holds_the_true_one_about_as_often_as_it_says() -> None:
    rng = random.Random(5)  # noqa: S311 - simulation
    variant = gather([sweeps.trial(aware=True)]).variants[0]

    def drawn(middle: float) -> sweep_reading.Point:
        return sweep_reading.Point(
            variant, sweeps.point(samples=[middle * math.exp(rng.gauss(0, 0.5)) for _ in range(100)])
        )

    held = 0
    for _ in range(200):
        ratio = ratio_of_points(drawn(1.5), drawn(1.0), 50.0)
        assert ratio is not None
        assert ratio.lower is not None
        assert ratio.upper is not None
        held += ratio.lower <= 1.5 <= ratio.upper
    assert held >= 180


def test_too_few_samples_leave_a_price_without_bounds_and_zeros_without_a_price() -> None:
    variant = gather([sweeps.trial(aware=True)]).variants[0]
    few = sweep_reading.Point(variant, sweeps.point(samples=[0.1, 0.2, 0.3, 0.4]))
    ratio = ratio_of_points(few, few, 99.0)
    assert ratio == Ratio(value=1.0, lower=None, upper=None)
    assert statistics.ranks(4, 99.0)[1] is None
    none = sweep_reading.Point(variant, sweeps.point(samples=[0.0] * 4))
    assert ratio_of_points(few, none, 50.0) is None
    missing = sweep_reading.Point(variant, sweeps.missing(scale="toy", why="did not fit"))
    assert ratio_of_points(few, missing, 50.0) is None


@pytest.mark.parametrize(
    ("more", "less", "expected"),
    [
        ((80.0, 75.0, 90.0), (100.0, 90.0, 110.0), Ratio(value=0.8, lower=75 / 110, upper=1.0)),
        ((80.0, 75.0, 90.0), (100.0, 90.0, None), Ratio(value=0.8, lower=None, upper=1.0)),
        ((80.0, None, 90.0), (100.0, None, 110.0), Ratio(value=0.8, lower=None, upper=None)),
        ((80.0, 75.0, None), (100.0, 90.0, None), None),
        ((None, None, 90.0), (100.0, 90.0, 110.0), None),
    ],
)
def test_the_price_of_a_knee_has_the_bounds_that_both_allow(
    more: tuple[float | None, ...], less: tuple[float | None, ...], expected: Ratio | None
) -> None:
    first, second = (sweeps.knee(rate=rate, lower=lower, upper=upper) for rate, lower, upper in (more, less))
    assert ratio_of_knees(first, second) == expected
