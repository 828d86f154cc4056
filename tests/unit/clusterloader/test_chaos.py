"""Which nodes a monkey chooses, and what it is told."""

from typing import Any, cast

import hypothesis
import pytest
from hypothesis import strategies as st

from kubedyno.clusterloader.chaos import victims
from kubedyno.clusterloader.config import ChaosMonkey, Place
from kubedyno.clusterloader.measurements import METHODS
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import UsageError
from kubedyno.kit.randomness import stream

pytestmark = pytest.mark.unit

NODES = [f"n{number}" for number in range(10)]


@pytest.mark.parametrize(("rate", "count"), [(0.0, 0), (0.01, 1), (0.25, 2), (0.26, 3), (1.0, 8)])
def test_a_part_of_the_nodes_that_may_fails_rounded_up_and_never_one_that_is_excluded(rate: float, count: int) -> None:
    monkey = ChaosMonkey(failure_rate=rate, interval_s=60, excluded_nodes=("n0",))
    chosen = victims(monkey, NODES, {"n1"}, stream(1, "monkey"))
    assert len(chosen) == count
    assert not {"n0", "n1"} & set(chosen)


@hypothesis.given(seed=st.integers(), rate=st.floats(0, 1), count=st.integers(0, 10))
def test_choices_are_different_nodes_that_are_there_and_repeat_for_a_seed(seed: int, rate: float, count: int) -> None:
    monkey = ChaosMonkey(failure_rate=rate, interval_s=60)
    chosen = victims(monkey, NODES[:count], (), stream(seed, "monkey"))
    assert len(set(chosen)) == len(chosen) <= count
    assert set(chosen) <= set(NODES[:count])
    assert chosen == victims(monkey, NODES[:count], (), stream(seed, "monkey"))


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"action": "stop"}, "ChaosMonkey A: stop without a start before it"),
        ({"action": "start", "interval": "1m"}, "failureRate is missing"),
        ({"action": "start", "interval": "1m", "failureRate": 2}, "failureRate is a share of all nodes, from 0 to 1"),
        ({"action": "start", "interval": "0s", "failureRate": 1}, "interval must be more than 0"),
        ({"action": "start", "interval": "1m", "failureRate": 1, "jitterFactor": -1}, "jitterFactor 0 or more"),
    ],
)
async def test_what_is_wrong_with_a_call_is_said(params: dict[str, Any], told: str) -> None:
    monkey = METHODS["ChaosMonkey"].make("A", cast("Any", None))
    with pytest.raises(UsageError, match=told):
        await monkey.execute(Params(params, of="ChaosMonkey A", place=Place("config.yaml", 1)))
