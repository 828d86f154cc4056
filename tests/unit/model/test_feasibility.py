"""What can be placed at all, what is free, and how broken up it is."""

from collections.abc import Sequence
from itertools import product
from random import Random

import pytest

from kubedyno.model.feasibility import can_place, fitting, fragmentation, free_gpus

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("free", "gang", "expected"),
    [
        ({"a": 8, "b": 8}, [8, 8], True),
        ({"a": 8, "b": 7}, [8, 8], False),
        ({"a": 4, "b": 4}, [8], False),
        ({"a": 6, "b": 4}, [4, 3, 3], True),
        ({"a": 6, "b": 6}, [4, 4, 2, 2], True),
        ({"a": 7, "b": 5}, [4, 4, 2, 2], False),
        ({"a": 1}, [], True),
        ({"a": 1}, [0, 0, 0], True),
        ({}, [1], False),
        ({"a": -2, "b": 2}, [1, 1], True),
    ],
)
def test_whether_a_gang_fits(free: dict[str, int], gang: list[int], expected: bool) -> None:
    assert can_place(free, gang) is expected


def tried(free: Sequence[int], gang: Sequence[int]) -> bool:
    """Every pod on every node."""
    for nodes in product(range(len(free)), repeat=len(gang)):
        left = list(free)
        for pod, node in zip(gang, nodes, strict=True):
            left[node] -= pod
        if min(left, default=0) >= 0:
            return True
    return False


def test_it_agrees_with_trying_everything() -> None:
    rng = Random(3)  # noqa: S311 - simulation
    outcomes = []
    for _ in range(500):
        free = [rng.randint(0, 8) for _ in range(rng.randint(1, 4))]
        gang = [rng.randint(1, 5) for _ in range(rng.randint(1, 5))]
        outcomes.append(tried(free, gang))
        assert can_place({f"n{i}": amount for i, amount in enumerate(free)}, gang) is outcomes[-1], (free, gang)
    assert 100 < sum(outcomes) < 400


def test_thousands_of_alike_pods_are_counted() -> None:
    free = {f"n{i}": 8 for i in range(10_000)}
    assert can_place(free, [8] * 10_000)
    assert not can_place(free, [8] * 10_001)
    assert fitting(free, 3) == 20_000


def test_what_is_free_is_what_pods_leave() -> None:
    free = free_gpus({"a": 8, "b": 4}, [("a", 3), ("a", 0.5), ("b", 5), ("gone", 1)])
    assert free == {"a": 4.5, "b": -1}


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        ({"a": 8, "b": 8}, 0.0),
        ({"a": 4, "b": 4}, 1.0),
        ({"a": 8, "b": 2}, 0.2),
        ({"a": 0, "b": 0}, 0.0),
        ({"a": -1, "b": 4}, 1.0),
        ({}, 0.0),
    ],
)
def test_fragmentation_is_the_part_that_is_not_whole_nodes(free: dict[str, float], expected: float) -> None:
    assert fragmentation(free, {"a": 8, "b": 8}) == pytest.approx(expected)
