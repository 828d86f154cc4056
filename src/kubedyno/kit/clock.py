"""Time as a parameter: a real clock, and a virtual one that jumps from timer to timer.

Every component that waits or stamps takes a `Clock`. Stamps are nanoseconds since the epoch (`wall_ns`) and
nanoseconds of a monotonic counter (`monotonic_ns`); only differences of the latter are durations.
"""

import asyncio
import heapq
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

NS_PER_S = 1_000_000_000


class Clock(Protocol):
    """What code may ask of time."""

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds of a counter that never goes back."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Return after `delay_s` seconds of this clock."""
        ...


class RealClock:
    """The machine's time.

    Wall time is tied once to the monotonic counter, so a stepped system clock cannot reorder stamps of one run.
    """

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch, advancing with the monotonic counter."""
        return self._offset_ns + time.monotonic_ns()

    def monotonic_ns(self) -> int:
        """The machine's monotonic counter."""
        return time.monotonic_ns()

    async def sleep(self, delay_s: float) -> None:
        """Sleep on the running event loop."""
        await asyncio.sleep(delay_s)


class Timers:
    """A timer heap: (due, sequence) orders equal times by insertion, so runs repeat exactly."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0

    def add(self, due_ns: int, action: Callable[[], None]) -> None:
        """Run `action` when time reaches `due_ns`."""
        heapq.heappush(self._heap, (due_ns, self._sequence, action))
        self._sequence += 1

    def next_due_ns(self) -> int | None:
        """When the earliest timer is due; None without timers."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ns: int) -> list[Callable[[], None]]:
        """Remove and return the actions due at `now_ns`, in order."""
        due: list[Callable[[], None]] = []
        while self._heap and self._heap[0][0] <= now_ns:
            due.append(heapq.heappop(self._heap)[2])
        return due


class VirtualClock:
    """A clock that stands still until it is advanced; sleepers wake in the order of their due times."""

    def __init__(self, start_ns: int = 0) -> None:
        self._now_ns = start_ns
        self._timers = Timers()

    def wall_ns(self) -> int:
        """The virtual time."""
        return self._now_ns

    def monotonic_ns(self) -> int:
        """The virtual time."""
        return self._now_ns

    async def sleep(self, delay_s: float) -> None:
        """Wait until somebody advances the clock far enough."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        self._timers.add(self._now_ns + round(delay_s * NS_PER_S), wake)
        await woken

    def advance_to_next(self) -> bool:
        """Jump to the next timer and fire all that are due then; False when none is left."""
        due_ns = self._timers.next_due_ns()
        if due_ns is None:
            return False
        self._now_ns = max(self._now_ns, due_ns)
        for action in self._timers.pop_due(self._now_ns):
            action()
        return True


def rfc3339(wall_ns: int) -> str:
    """The stamp as Kubernetes writes micro times: `2026-01-02T03:04:05.678901Z`."""
    seconds, rest_ns = divmod(wall_ns, NS_PER_S)
    stamp = datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{stamp}.{rest_ns // 1000:06d}Z"


def parse_rfc3339_ns(text: str) -> int:
    """Nanoseconds since the epoch of a Kubernetes time (`...05Z` or with a fraction of up to nine digits)."""
    base, dot, tail = text.partition(".")
    fraction = ""
    if dot:
        digits = len(tail) - len(tail.lstrip("0123456789"))
        fraction, zone = tail[:digits], tail[digits:]
        base += zone
    moment = datetime.fromisoformat(base)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no zone")
    return int(moment.timestamp()) * NS_PER_S + int(fraction.ljust(9, "0")[:9] or 0)
