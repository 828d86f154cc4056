import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.results.comparison.ranking import discoveries, least_chance, mann_whitney

pytestmark = pytest.mark.unit

SMALL = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=5)


def counted(first: list[float], second: list[float]) -> float:
    """By trying all ways to share the samples out."""
    together = first + second

    def rank(value: float) -> float:
        below, equal = (sum(test(other, value) for other in together) for test in (float.__lt__, float.__eq__))
        return below + (equal + 1) / 2

    ranks = [rank(value) for value in together]
    got = sum(ranks[: len(first)])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(first))]
    below, above = (sum(test(one, got) for one in sums) for test in (float.__le__, float.__ge__))
    return min(1.0, 2 * min(below, above) / len(sums))


@given(SMALL, SMALL)
def test_the_chance_is_that_of_all_ways_to_share_the_samples_out(first: list[float], second: list[float]) -> None:
    assert mann_whitney(first, second) == pytest.approx(counted(first, second))


@given(SMALL, SMALL)
def test_it_does_not_matter_which_is_first(first: list[float], second: list[float]) -> None:
    assert mann_whitney(first, second) == pytest.approx(mann_whitney(second, first))


@pytest.mark.parametrize(("first", "second"), [(3, 3), (5, 5), (10, 10), (4, 7)])
def test_groups_that_do_not_overlap_give_the_least_chance(first: int, second: int) -> None:
    low, high = list(range(first)), list(range(100, 100 + second))
    assert mann_whitney(low, high) == pytest.approx(least_chance(first, second))


def test_nothing_differs_from_no_samples() -> None:
    assert mann_whitney([], [1.0]) == 1.0


def test_many_samples_are_judged_as_few_are() -> None:
    """On both sides of the size up to which chances are counted."""
    generator = np.random.default_rng(1)
    for shift in (0.0, 0.3, 0.6):
        few = [float(value) for value in generator.normal(0, 1, 30)], [float(v) for v in generator.normal(shift, 1, 30)]
        counting = mann_whitney(*few)
        # One more sample of each in the middle moves little, and is beyond the limit.
        middle = statistics.median([*few[0], *few[1]])
        approximated = mann_whitney([*few[0], middle], [*few[1], middle])
        assert approximated == pytest.approx(counting, abs=0.03)


def test_equal_samples_however_many_do_not_differ() -> None:
    assert mann_whitney([1.0] * 40, [1.0] * 40) == 1.0


def test_of_several_tests_those_count_that_keep_the_share_of_false_ones() -> None:
    assert discoveries([0.001, 0.2, 0.02, 0.03], 0.05) == [True, False, True, True]
    assert discoveries([0.04, 0.9, 0.9, 0.9], 0.05) == [False] * 4
    assert discoveries([], 0.05) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_lower_chance_never_counts_less(chances: list[float]) -> None:
    counts = discoveries(chances, 0.05)
    highest = max((chance for chance, does in zip(chances, counts, strict=True) if does), default=-math.inf)
    assert all(does for chance, does in zip(chances, counts, strict=True) if chance <= highest)
    assert all(chance <= 0.05 for chance, does in zip(chances, counts, strict=True) if does)
