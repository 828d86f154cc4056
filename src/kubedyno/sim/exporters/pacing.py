"""When an exporter looks: at the ticks of its timer, and at events as its limiter lets them through. Pure.

As in the resource-topology-exporter: ticks and events go through one limiter, some of them wait for it, and what comes
while so many wait is lost. Of permissions that nobody used ten are kept. Times are nanoseconds of a monotonic counter.
"""

from typing import Final, NamedTuple

from kubedyno.kit.clock import NS_PER_S
from kubedyno.sim.exporters.settings import Settings

MOST_WAITING: Final = 6
"""Five in the exporter's buffer, and one that the limiter has in hand."""
_KEPT: Final = 10


class Event(NamedTuple):
    """A reason to look, and when it came."""

    at_ns: int
    is_timer: bool = False


class Pace:
    """What waits for one exporter."""

    __slots__ = ("_permitted_ns", "_waiting")

    def __init__(self) -> None:
        self._waiting: tuple[Event, ...] = ()
        self._permitted_ns: int | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def hear(self, event: Event) -> bool:
        """Let an event wait; False: it is lost, because too many do."""
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._waiting = (*self._waiting, event)
        return True

    def permit_ns(self, settings: Settings, now_ns: int) -> int:
        """When the first of those that wait may be taken. Asked once for each of them."""
        if not settings.events_per_s:
            return now_ns
        each_ns = round(NS_PER_S / settings.events_per_s)
        before_ns = self._permitted_ns
        kept_ns = now_ns - _KEPT * each_ns
        self._permitted_ns = now_ns if before_ns is None else max(before_ns + each_ns, kept_ns)
        return max(now_ns, self._permitted_ns)

    def take(self) -> Event:
        """The first of those that wait."""
        first, *rest = self._waiting
        self._waiting = tuple(rest)
        return first


def next_tick_ns(settings: Settings, *, last_ns: int, now_ns: int, unit: float) -> int:
    """When the timer ticks after `last_ns`; `unit` is a random number from 0 to 1. Ticks that were missed are lost."""
    interval_ns = max(1, round(settings.interval_s * (1 + settings.jitter * unit) * NS_PER_S))
    missed = max(0, (now_ns - last_ns) // interval_ns)
    return last_ns + (missed + 1) * interval_ns
