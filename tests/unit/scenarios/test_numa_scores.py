"""The oracle of the plugin's scores, by hand."""

import pytest

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
