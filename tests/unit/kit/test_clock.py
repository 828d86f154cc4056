import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.clock import NS_PER_S, RealClock, Timers, VirtualClock, parse_rfc3339_ns, rfc3339

pytestmark = pytest.mark.unit

YEAR_2100_NS = 4_102_444_800 * NS_PER_S


@given(st.integers(min_value=0, max_value=YEAR_2100_NS))
def test_a_written_stamp_is_read_back_to_the_microsecond(wall_ns: int) -> None:
    assert parse_rfc3339_ns(rfc3339(wall_ns)) == wall_ns // 1000 * 1000


@given(st.integers(min_value=0, max_value=YEAR_2100_NS), st.integers(min_value=0, max_value=YEAR_2100_NS))
def test_written_stamps_sort_as_their_times_do(first_ns: int, second_ns: int) -> None:
    assert (rfc3339(first_ns) <= rfc3339(second_ns)) == (first_ns // 1000 <= second_ns // 1000)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01Z", NS_PER_S),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("1970-01-01T00:00:01.000001Z", 1_000_001_000),
        ("1970-01-01T00:00:01.123456789Z", 1_123_456_789),
        ("1970-01-01T00:00:01.1234567891Z", 1_123_456_789),
        ("1970-01-01T01:00:01+01:00", NS_PER_S),
        ("1970-01-01T01:00:01.25+01:00", 1_250_000_000),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
    ],
)
def test_stamps_of_kubernetes_are_understood(text: str, nanoseconds: int) -> None:
    assert parse_rfc3339_ns(text) == nanoseconds


@given(
    st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1)),  # noqa: DTZ001 - hypothesis wants so
    st.integers(min_value=0, max_value=9),
)
def test_any_number_of_digits_counts_from_the_left(moment: datetime, digits: int) -> None:
    whole = moment.replace(microsecond=0, tzinfo=UTC)
    fraction = f"{moment.microsecond:06d}000"[:digits]
    text = whole.strftime("%Y-%m-%dT%H:%M:%S") + (f".{fraction}" if fraction else "") + "Z"
    seconds = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    assert parse_rfc3339_ns(text) == seconds * NS_PER_S + int(fraction.ljust(9, "0"))


@pytest.mark.parametrize("text", ["2026-01-02T03:04:05", "2026-01-02T03:04:05.6"])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"has no zone$"):
        parse_rfc3339_ns(text)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rfc3339_ns(text)


def test_timers_of_one_moment_fire_in_the_order_of_their_making() -> None:
    fired: list[str] = []
    timers = Timers()
    for due_ns, name in ((20, "late"), (10, "first"), (10, "second"), (5, "early"), (10, "third")):
        timers.add(due_ns, lambda name=name: fired.append(name))
    assert timers.next_due_ns() == 5
    for action in timers.pop_due(10):
        action()
    assert fired == ["early", "first", "second", "third"]
    assert timers.next_due_ns() == 20
    assert timers.pop_due(19) == []


@given(st.lists(st.integers(min_value=0, max_value=5)))
def test_timers_are_a_stable_sort(dues_ns: list[int]) -> None:
    fired: list[tuple[int, int]] = []
    timers = Timers()
    for index, due_ns in enumerate(dues_ns):
        timers.add(due_ns, lambda item=(due_ns, index): fired.append(item))
    for action in timers.pop_due(5):
        action()
    assert fired == sorted((due_ns, index) for index, due_ns in enumerate(dues_ns))


async def test_sleepers_wake_in_the_order_of_their_due_times() -> None:
    clock, woken = VirtualClock(start_ns=7), []

    async def sleeper(name: str, delay_s: float) -> None:
        await clock.sleep(delay_s)
        woken.append((name, clock.monotonic_ns()))

    async with asyncio.TaskGroup() as group:
        for name, delay_s in (("c", 2.0), ("a", 1.0), ("b", 1.0), ("d", 0.0)):
            group.create_task(sleeper(name, delay_s))
        await asyncio.sleep(0)
        while clock.advance_to_next():
            for _ in range(3):
                await asyncio.sleep(0)
    assert woken == [("d", 7), ("a", NS_PER_S + 7), ("b", NS_PER_S + 7), ("c", 2 * NS_PER_S + 7)]
    assert clock.wall_ns() == 2 * NS_PER_S + 7


async def test_a_sleeper_that_was_cancelled_disturbs_nobody() -> None:
    clock = VirtualClock()
    given_up = asyncio.ensure_future(clock.sleep(1))
    patient = asyncio.ensure_future(clock.sleep(1))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.sleep(0)
    assert clock.advance_to_next()
    await patient
    assert given_up.cancelled()
    assert not clock.advance_to_next()


def test_real_stamps_never_go_back() -> None:
    clock = RealClock()
    stamps = [clock.wall_ns() for _ in range(100)]
    assert stamps == sorted(stamps)
    counts = [clock.monotonic_ns() for _ in range(100)]
    assert counts == sorted(counts)
