import math
import statistics as plain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit import randomness
from kubedyno.measure.statistics import distribution, percentile, percentiles, ranks, rate, single

pytestmark = pytest.mark.unit


def below(count: int, share: float, number: int) -> float:
    """The chance that fewer than `number` of `count` samples are below the percentile, term by term."""
    return math.fsum(math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(number))


@pytest.mark.parametrize("count", [2, 5, 6, 10, 59, 100, 368, 500])
@pytest.mark.parametrize("percent", [50.0, 90.0, 99.0])
def test_ranks_are_the_closest_ones_that_keep_the_doubt_on_each_side(count: int, percent: float) -> None:
    lower, upper = ranks(count, percent)
    share = percent / 100
    if lower is None:
        assert below(count, share, 1) > 0.025
    else:
        assert below(count, share, lower + 1) <= 0.025 < below(count, share, lower + 2)
    if upper is None:
        assert 1 - below(count, share, count) > 0.025
    else:
        assert 1 - below(count, share, upper + 1) <= 0.025 + 1e-12
        assert 1 - below(count, share, upper) > 0.025


@pytest.mark.parametrize(
    ("count", "percent", "expected"),
    [
        (100, 50.0, (39, 60)),  # the 40th and the 61st, as in the tables
        (10, 50.0, (1, 8)),
        (10, 99.0, (8, None)),  # nobody knows what the 99th percentile of ten samples is at most
        (2, 50.0, (None, None)),
    ],
)
def test_ranks_of_some_sizes(count: int, percent: float, expected: tuple[int | None, int | None]) -> None:
    assert ranks(count, percent) == expected


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = randomness.stream(1, "statistics")
    truths = {50.0: math.log(2), 90.0: math.log(10), 99.0: math.log(100)}
    held = dict.fromkeys(truths, 0)
    for _ in range(400):
        for found in percentiles([rng.expovariate(1.0) for _ in range(600)]):
            held[found.percent] += found.lower <= truths[found.percent] <= found.upper
    assert all(count >= 0.93 * 400 for count in held.values()), held


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=200))
def test_percentiles_are_in_order_and_within_their_intervals(samples: list[float]) -> None:
    found = percentiles(samples)
    assert [one.percent for one in found] == [50.0, 90.0, 99.0]
    assert found[0].value == pytest.approx(plain.median(samples))
    assert found[0].value <= found[1].value <= found[2].value
    for one in found:
        assert min(samples) <= one.lower <= one.value <= one.upper <= max(samples)


def test_a_percentile_lies_between_two_samples() -> None:
    assert percentile([0.0, 10.0], 50.0) == 5.0
    assert percentile([7.0], 99.0) == 7.0


def test_large_numbers_of_samples_are_no_trouble() -> None:
    lower, upper = ranks(1_000_000, 50.0)
    assert lower is not None
    assert upper is not None
    assert upper - lower == pytest.approx(2 * 1.96 * 500, rel=0.01)


def test_a_distribution_is_its_median_with_what_bounds_it() -> None:
    found = distribution("wait", "s", [3.0, 1.0, 2.0], error=0.5)
    assert found is not None
    assert (found.value, found.lower, found.upper, found.samples) == (2.0, 0.5, 3.5, (3.0, 1.0, 2.0))
    assert distribution("wait", "s", []) is None
    alone = distribution("wait", "s", [4.0], error=1.0)
    assert alone is not None
    assert (alone.value, alone.lower, alone.upper, alone.percentiles) == (4.0, 3.0, 5.0, ())


def test_a_single_figure_and_a_rate() -> None:
    assert single("x", "s", 2.0, error=0.5).upper == 2.5
    assert rate(10, 4.0) == 2.5
    assert rate(10, 0.0) is None
