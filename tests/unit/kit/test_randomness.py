import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.randomness import stream

pytestmark = pytest.mark.unit


def test_processes_with_other_hash_seeds_draw_the_same() -> None:
    source = "from kubedyno.kit.randomness import stream; print(stream(7, 'arrivals').getrandbits(256))"
    drawn = {
        subprocess.run(
            [sys.executable, "-c", source],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4242")
    }
    assert drawn == {f"{stream(7, 'arrivals').getrandbits(256)}\n"}


def test_the_draws_of_a_seed_stay_what_they_are() -> None:
    drawn = stream(0, "arrivals")
    assert [drawn.randrange(1000) for _ in range(5)] == [471, 493, 589, 728, 507]


@given(st.integers(), st.text(), st.text())
def test_purposes_have_streams_of_their_own(seed: int, one: str, other: str) -> None:
    same = stream(seed, one).getrandbits(128) == stream(seed, other).getrandbits(128)
    assert same == (one == other)


def test_drawing_from_one_stream_does_not_move_another() -> None:
    alone = stream(1, "b").random()
    first, second = stream(1, "a"), stream(1, "b")
    first.random()
    assert second.random() == alone
