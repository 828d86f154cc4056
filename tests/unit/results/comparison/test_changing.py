import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.results.comparison.changing import POWER, change, least_visible, repeats_for, spread
from kubedyno.results.comparison.ranking import mann_whitney

pytestmark = pytest.mark.unit

POSITIVE = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=8)


def drawn(generator: np.random.Generator, median: float, deviation: float, count: int) -> list[float]:
    return [float(value) for value in median * np.exp(generator.normal(0, deviation, count))]


@given(POSITIVE, st.floats(1.1, 3.0))
def test_a_multiple_is_a_change_by_so_much(first: list[float], factor: float) -> None:
    constant = [1.0] * len(first)
    found = change(constant, [factor] * len(first), seed=1)
    assert (found.share, found.lower, found.upper) == pytest.approx((factor - 1,) * 3)


@given(POSITIVE, POSITIVE)
def test_the_change_lies_within_its_interval_and_does_not_depend_on_the_unit(
    first: list[float], second: list[float]
) -> None:
    found = change(first, second, seed=1)
    assert found.lower - 1e-12 <= found.share <= found.upper + 1e-12
    scaled = change([value * 1000 for value in first], [value * 1000 for value in second], seed=1)
    assert (scaled.share, scaled.lower, scaled.upper) == pytest.approx((found.share, found.lower, found.upper))


def test_what_was_nothing_and_is_something_changed_without_end() -> None:
    assert change([0.0, 0.0], [1.0, 1.0], seed=1).share == math.inf
    assert change([0.0, 0.0], [0.0, 0.0], seed=1).share == 0.0


def test_the_interval_holds_the_true_change_as_often_as_it_says() -> None:
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(100):
        found = change(drawn(generator, 1.0, 0.1, 12), drawn(generator, 1.2, 0.1, 12), seed=3)
        held += found.lower <= 0.2 <= found.upper
    # Resampling few values gives intervals that are a little short.
    assert held >= 0.88 * 100


def test_spread_is_that_within_the_groups() -> None:
    assert spread([1.0, 3.0], [11.0, 13.0]) == pytest.approx(math.sqrt(4 / 2) / 2)
    assert spread([1.0], [2.0]) is None
    assert spread([0.0, 0.0], [0.0, 0.0]) == 0.0
    assert spread([0.0, 0.0, 1.0], [0.0, 1.0]) is None


def test_the_least_visible_change_is_found_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    for count, level in ((6, 0.05), (10, 0.01), (20, 0.005)):
        visible = least_visible(0.05, count, count, level)
        assert visible is not None
        found = sum(
            mann_whitney(
                [float(value) for value in generator.normal(1.0, 0.05, count)],
                [float(value) for value in generator.normal(1.0 + visible, 0.05, count)],
            )
            <= level
            for _ in range(400)
        )
        assert POWER - 0.1 <= found / 400 <= 0.95


def test_so_few_that_nothing_can_be_seen() -> None:
    assert least_visible(0.05, 3, 3, 0.05) is None
    assert least_visible(0.05, 1, 1, 0.05) is None


@given(st.floats(0.001, 0.5), st.floats(0.01, 0.5))
def test_so_many_repeats_show_it_and_one_less_does_not(deviation: float, wanted: float) -> None:
    count = repeats_for(wanted, deviation, 0.05)
    if count is None:
        last = least_visible(deviation, 10_000, 10_000, 0.05)
        assert last is not None
        assert last > wanted
        return
    enough, short = (least_visible(deviation, number, number, 0.05) for number in (count, count - 1))
    assert enough is not None
    assert enough <= wanted
    assert short is None or short > wanted
