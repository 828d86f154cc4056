"""Which nodes a monkey chooses."""

import hypothesis
import pytest
from hypothesis import strategies as st

from kubedyno.clusterloader.chaos import victims
from kubedyno.clusterloader.config import ChaosMonkey
from kubedyno.kit.randomness import stream

pytestmark = pytest.mark.unit

NODES = [f"n{number}" for number in range(10)]


@pytest.mark.parametrize(("rate", "count"), [(0.0, 0), (0.01, 1), (0.2, 2), (0.21, 3), (1.0, 8)])
def test_a_part_of_all_nodes_fails_rounded_up_and_never_one_that_is_excluded(rate: float, count: int) -> None:
    monkey = ChaosMonkey(failure_rate=rate, interval_s=60, excluded_nodes=("n0", "n1"))
    chosen = victims(monkey, NODES, stream(1, "monkey"))
    assert len(chosen) == count
    assert not {"n0", "n1"} & set(chosen)


@hypothesis.given(seed=st.integers(), rate=st.floats(0, 1), count=st.integers(0, 10))
def test_choices_are_different_nodes_that_are_there_and_repeat_for_a_seed(seed: int, rate: float, count: int) -> None:
    monkey = ChaosMonkey(failure_rate=rate, interval_s=60)
    chosen = victims(monkey, NODES[:count], stream(seed, "monkey"))
    assert len(set(chosen)) == len(chosen) <= count
    assert set(chosen) <= set(NODES[:count])
    assert chosen == victims(monkey, NODES[:count], stream(seed, "monkey"))
