from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.pacing import TokenBucket

pytestmark = pytest.mark.unit

RATES = st.sampled_from([0.5, 1.0, 4.0, 20.0, 1000.0])
BURSTS = st.integers(min_value=1, max_value=8)
GAPS_NS = st.lists(st.integers(min_value=0, max_value=3_000_000_000), min_size=1, max_size=40)


def naive_waits(rate_per_s: float, burst: int, times_s: list[float]) -> list[float]:
    """One slot after another: a token is free a burst of intervals after the one that used it before."""
    interval_s, next_free_s = 1 / rate_per_s, float("-inf")
    waits = []
    for now_s in times_s:
        # The virtual schedule of an ideal leaky bucket: it may lag behind now by at most `burst` intervals.
        next_free_s = max(next_free_s, now_s - burst * interval_s) + interval_s
        waits.append(max(0.0, next_free_s - now_s))
    return waits


@given(RATES, BURSTS, GAPS_NS)
def test_the_bucket_waits_as_a_naive_schedule_does(rate_per_s: float, burst: int, gaps_ns: list[int]) -> None:
    bucket, now_ns, times_s, waits = TokenBucket(rate_per_s, burst), 0, [], []
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        times_s.append(now_ns / 1e9)
        waits.append(bucket.reserve_s(now_ns))
    assert waits == pytest.approx(naive_waits(rate_per_s, burst, times_s), abs=1e-6)


@given(RATES, BURSTS, GAPS_NS)
def test_no_window_lets_more_through_than_burst_and_rate(rate_per_s: float, burst: int, gaps_ns: list[int]) -> None:
    bucket, now_ns, used_s = TokenBucket(rate_per_s, burst), 0, []
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        used_s.append(now_ns / 1e9 + bucket.reserve_s(now_ns))
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(used_s))
    for first in range(len(used_s)):
        for last in range(first, len(used_s)):
            assert last - first + 1 <= burst + rate_per_s * (used_s[last] - used_s[first]) + 1e-6


def test_a_burst_is_free_and_then_the_rate_holds() -> None:
    bucket = TokenBucket(rate_per_s=10, burst=3)
    assert [bucket.reserve_s(0) for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert bucket.reserve_s(10_000_000_000) == 0


def test_what_is_not_taken_is_not_booked() -> None:
    bucket = TokenBucket(rate_per_s=10, burst=2)
    assert [bucket.take(0) for _ in range(5)] == [True, True, False, False, False]
    assert [bucket.take(100_000_000) for _ in range(2)] == [True, False]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_bucket_that_never_fills_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match=f"^a token bucket needs a positive rate and burst, not {rate} and {burst}$"):
        TokenBucket(rate, burst)
