"""When exporters look: ticks, events, and the limiter between."""

import pytest

from kubedyno.kit.clock import NS_PER_S
from kubedyno.sim.exporters.pacing import MOST_WAITING, Event, Pace, next_tick_ns
from kubedyno.sim.exporters.settings import Settings

pytestmark = pytest.mark.unit

START = 1000 * NS_PER_S


def at(seconds: float) -> int:
    return START + round(seconds * NS_PER_S)


def seconds(at_ns: int) -> float:
    return (at_ns - START) / NS_PER_S


def test_events_that_come_while_too_many_wait_are_lost() -> None:
    pace = Pace()
    heard = [pace.hear(Event(at(number))) for number in range(10)]
    assert heard == [True] * MOST_WAITING + [False] * 4
    assert [pace.take().at_ns for _ in range(MOST_WAITING)] == [at(number) for number in range(MOST_WAITING)]
    assert len(pace) == 0


def test_the_limiter_lets_one_through_each_second() -> None:
    pace, settings = Pace(), Settings(events_per_s=1.0)
    assert [seconds(pace.permit_ns(settings, at(0))) for _ in range(4)] == [0, 1, 2, 3]


def test_a_limiter_that_nobody_asked_for_long_lets_ten_through_at_once_more() -> None:
    pace, settings = Pace(), Settings(events_per_s=1.0)
    pace.permit_ns(settings, at(0))
    permitted = [seconds(pace.permit_ns(settings, at(100))) for _ in range(13)]
    assert permitted == [100] * 11 + [101, 102]


def test_without_a_limit_every_event_is_let_through() -> None:
    pace, settings = Pace(), Settings(events_per_s=0)
    assert [pace.permit_ns(settings, at(5)) for _ in range(3)] == [at(5)] * 3


@pytest.mark.parametrize(
    ("jitter", "unit", "now_s", "tick_s"),
    [
        (0.0, 0.7, 0, 60),
        (0.5, 0.5, 0, 75),
        (0.0, 0.0, 59.9, 60),
        (0.0, 0.0, 60, 120),  # the tick that is now was taken already
        (0.0, 0.0, 200, 240),  # three were missed, and the phase stays
    ],
)
def test_the_timer_ticks_in_its_phase(jitter: float, unit: float, now_s: float, tick_s: float) -> None:
    settings = Settings(interval_s=60, jitter=jitter)
    assert seconds(next_tick_ns(settings, last_ns=at(0), now_ns=at(now_s), unit=unit)) == tick_s
