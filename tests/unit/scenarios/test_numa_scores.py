"""The oracle of the plugin's scores, by hand and against counting."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedyno.scenarios.numa.matching import Scoring
from kubedyno.scenarios.numa.scores import score

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("strategy", "zones", "scored"),
    [
        ("LeastAllocated", [{"cpu": 20, "memory": 40}, {"cpu": 40, "memory": 40}], 62),
        ("LeastAllocated", [{"cpu": 5, "memory": 5}, {"cpu": 40, "memory": 40}], 75),
        ("LeastAllocated", [{"cpu": 5, "memory": 5}], 0),
        ("MostAllocated", [{"cpu": 20, "memory": 40}, {"cpu": 40, "memory": 40}], 25),
        ("MostAllocated", [{"cpu": 10}], 50),
        ("BalancedAllocation", [{"cpu": 20, "memory": 20}], 100),
        ("BalancedAllocation", [{"cpu": 10, "memory": 20}], 87),
        ("BalancedAllocation", [{"cpu": 5, "memory": 20}], 0),
        # A zone that has nothing of a resource counts as if all of it were asked for.
        ("BalancedAllocation", [{"cpu": 20}], 87),
        ("BalancedAllocation", [{"cpu": 20, "memory": 20}, {"cpu": 10, "memory": 20}], 87),
        ("LeastNUMANodes", [{"cpu": 10, "memory": 10}, {"cpu": 0, "memory": 0}], 94),
        ("LeastNUMANodes", [{"cpu": 6, "memory": 10}, {"cpu": 6, "memory": 10}], 82),
        ("LeastNUMANodes", [{"cpu": 4, "memory": 10}, {"cpu": 4, "memory": 10}], 0),
    ],
)
def test_a_node_is_scored_for_ten_of_each(strategy: Scoring, zones: list[dict[str, int]], scored: int) -> None:
    assert score(strategy, {"cpu": 10, "memory": 10}, zones) == scored


def test_of_several_zones_those_nearest_to_each_other_are_liked_more() -> None:
    zones = [{"cpu": 6}, {"cpu": 2}, {"cpu": 6}]
    near_far = [[10, 11, 20], [11, 10, 20], [20, 20, 10]]
    assert score("LeastNUMANodes", {"cpu": 8}, zones, near_far) == 82
    assert score("LeastNUMANodes", {"cpu": 12}, zones, near_far) == 76


# Against counting.


NAMES = ("cpu", "memory", "nvidia.com/gpu")


def requests(least: int) -> st.SearchStrategy[dict[str, int]]:
    """Some of each of so many resources at least."""
    names = st.lists(st.sampled_from(NAMES), min_size=least, unique=True)
    return names.flatmap(lambda some: st.fixed_dictionaries({name: st.integers(1, 20) for name in some}))


ZONES = st.lists(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 40)), min_size=1, max_size=4)
SMALL_ZONES = st.lists(st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES}), min_size=1, max_size=4)
"""Of which a request often needs several."""


def percent(part: int, of: int) -> int:
    """The largest whole number of hundredths that is not more."""
    return max(hundredths for hundredths in range(101) if hundredths * of <= 100 * part)


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
@given(wanted=requests(1), zones=ZONES)
def test_the_worst_zone_that_is_any_good_counts(
    strategy: Scoring, wanted: dict[str, int], zones: list[dict[str, int]]
) -> None:
    scored = []
    for zone in zones:
        total = 0
        for name, asked in wanted.items():
            left = zone.get(name, 0)
            if left >= asked:
                total += percent(left - asked if strategy == "LeastAllocated" else asked, left)
        scored += [mean] if (mean := total // len(wanted)) else []
    assert score(strategy, wanted, zones) == (min(scored) if scored else 0)


@given(wanted=requests(2), zones=ZONES)
def test_a_zone_is_balanced_as_the_parts_of_it_differ_little(
    wanted: dict[str, int], zones: list[dict[str, int]]
) -> None:
    exact = []
    for zone in zones:
        shares = [Fraction(asked, zone[name]) if zone.get(name) else Fraction(1) for name, asked in wanted.items()]
        if max(shares) <= 1:
            pairs = sum((one - other) ** 2 for one, other in itertools.combinations(shares, 2))
            exact.append(100 * (1 - Fraction(pairs, len(shares) * (len(shares) - 1))))
    found = score("BalancedAllocation", wanted, zones)
    # It counts with floats, as the plugin does: a whole number may be cut to the one below.
    assert found in {math.floor(min(exact)), math.ceil(min(exact)) - 1} if exact else found == 0


def nearness(some: Sequence[int], costs: Sequence[Sequence[int]]) -> Fraction:
    return Fraction(sum(costs[one][other] for one in some for other in some), len(some) ** 2)


@settings(max_examples=300)
@given(wanted=requests(1), zones=ZONES | SMALL_ZONES, data=st.data())
def test_the_fewest_zones_that_have_enough_count_and_whether_none_are_nearer(
    wanted: dict[str, int], zones: list[dict[str, int]], data: st.DataObject
) -> None:
    row = st.lists(st.sampled_from([10, 12, 21, 32]), min_size=len(zones), max_size=len(zones))
    told = data.draw(st.lists(row, min_size=len(zones), max_size=len(zones)) | st.just([]))
    costs = told or [[255] * len(zones)] * len(zones)
    worth = {1: (88, 94), 2: (76, 82), 3: (64, 70), 4: (52, 58)}
    sets = [some for size in worth for some in itertools.combinations(range(len(zones)), size)]
    enough = [some for some in sets if all(sum(zones[i].get(name, 0) for i in some) >= wanted[name] for name in wanted)]
    expected = 0
    if enough:
        fewest = len(enough[0])
        nearest = min(nearness(some, costs) for some in sets if len(some) == fewest)
        is_nearest = any(nearness(some, costs) == nearest for some in enough if len(some) == fewest)
        expected = worth[fewest][is_nearest]
    assert score("LeastNUMANodes", wanted, zones, told) == expected
