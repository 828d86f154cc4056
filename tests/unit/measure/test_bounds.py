import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.bounds import SHORTLY_NS, Contradiction, bounds, read_stamp

pytestmark = pytest.mark.unit

S = NS_PER_S
MS = S // 1000


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("", None),
        ("yesterday", None),
        ("2026-01-02T03:04:05", None),
        ("2026-01-02T03:04:05Z", (1767323045 * S, S)),
        ("2026-01-02T03:04:05.5Z", (1767323045 * S + S // 2, S // 10)),
        ("2026-01-02T03:04:05.678901Z", (1767323045 * S + 678901000, 1000)),
        ("2026-01-02T03:04:05.123456789Z", (1767323045 * S + 123456789, 1)),
        ("2026-01-02T05:04:05+02:00", (1767323045 * S, S)),
    ],
)
def test_a_stamp_is_as_exact_as_its_last_decimal(text: str, stamp: tuple[int, int] | None) -> None:
    assert read_stamp(text) == stamp


@pytest.mark.parametrize(
    ("arrival", "stamp", "after", "before", "expected"),
    [
        # Only the arrival is known.
        (7 * S, None, None, None, (None, 7 * S, None)),
        # The stamp and the arrival.
        (5 * S + 200, (5 * S, S), None, None, (5 * S, 5 * S + 200, None)),
        (9 * S, (5 * S, S), None, None, (5 * S, 6 * S, None)),
        (9 * S, (5 * S, 1000), None, None, (5 * S, 5 * S + 1000, None)),
        # Probes before and after it.
        (9 * S, None, 8 * S, None, (8 * S, 9 * S, None)),
        (9 * S, None, 8 * S, 8 * S + 5, (8 * S, 8 * S + 5, None)),
        (9 * S, None, 8 * S, 10 * S, (8 * S, 9 * S, None)),
        # Both: what they agree on.
        (6 * S, (5 * S, S), 5 * S + 7, 5 * S + 9, (5 * S + 7, 5 * S + 9, None)),
        (6 * S, (5 * S, S), 4 * S, 7 * S, (5 * S, 6 * S, None)),
        # Stamped at the end of a second, stored in the next one.
        (6 * S + 9, (5 * S, S), 6 * S + 5, None, (6 * S, 6 * S + 9, None)),
        # The stamp speaks of an earlier moment.
        (9 * S, (5 * S, S), 8 * S, None, (5 * S, 9 * S, "late")),
        # The server's clock is ahead.
        (5 * S, (6 * S, S), 4 * S, None, (4 * S, 5 * S, "skew")),
        (5 * S, (6 * S, S), None, None, (None, 5 * S, "skew")),
    ],
)
def test_bounds_are_what_all_evidence_allows(
    arrival: int,
    stamp: tuple[int, int] | None,
    after: int | None,
    before: int | None,
    expected: tuple[int | None, int, Contradiction | None],
) -> None:
    assert bounds(arrival, stamp, after_ns=after, before_ns=before) == expected


TIMES = st.integers(min_value=0, max_value=20 * S)
SPANS = st.integers(min_value=0, max_value=3 * S)


@given(TIMES, st.sampled_from([S, 1000]), st.none() | TIMES, st.none() | TIMES, TIMES)
def test_a_span_is_never_empty_whatever_the_evidence(
    stamp: int, resolution: int, after: int | None, before: int | None, arrival: int
) -> None:
    lower, upper, _ = bounds(arrival, (stamp, resolution), after_ns=after, before_ns=before)
    assert lower is None or lower <= upper
    assert upper <= arrival


@given(
    received=TIMES,
    stamping=st.integers(min_value=0, max_value=SHORTLY_NS),
    storing=SPANS,
    under_way=SPANS,
    before=SPANS,
    after=SPANS,
    resolution=st.sampled_from([S, 1000]),
)
def test_a_request_overlaps_its_bounds_however_slow_the_server_and_the_watch_are(  # noqa: PLR0917 - a world
    received: int, stamping: int, storing: int, under_way: int, before: int, after: int, resolution: int
) -> None:
    stamped = received + stamping
    stored = stamped + storing
    lower, upper, contradiction = bounds(
        stored + under_way,
        (stamped // resolution * resolution, resolution),
        after_ns=stored - before,
        before_ns=stored + after,
    )
    assert lower is not None
    assert lower <= stored
    assert upper >= stamped
    assert contradiction in {None, "late"}
