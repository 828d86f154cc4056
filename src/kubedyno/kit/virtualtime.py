"""An event loop whose time jumps to the next timer when nothing is ready: hours pass in milliseconds, and repeat.

Everything that waits by asyncio's own means (`sleep`, `timeout`, `call_later`) waits in virtual time. Nothing may come
from outside: a loop without timers and without anything ready would wait for ever, and says so instead.
"""

import asyncio
import selectors
from collections.abc import Callable

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import EngineError

DEFAULT_START_NS = 1_767_225_600 * NS_PER_S
"""2026-01-01T00:00:00Z: when virtual worlds begin."""


class Standstill(EngineError):
    """Every task waits for another: in virtual time nothing can happen any more."""


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting it lets time pass."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; if nothing is, the time is `timeout` seconds later."""
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise Standstill("nothing is left that could happen in virtual time: a task waits for what never comes")
        self._jump(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop. Its time begins at 0, so that its seconds are exact enough for microseconds."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Jumping(self._jump))
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """The virtual time in seconds."""
        return self._now_s

    def _jump(self, by_s: float) -> None:
        self._now_s += by_s


class LoopClock:
    """The time of the running event loop, be it real or virtual, as a `kit.clock.Clock`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, start_ns: int = DEFAULT_START_NS) -> None:
        self._loop = loop
        self._start_ns = start_ns

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return self._start_ns + self.monotonic_ns()

    def monotonic_ns(self) -> int:
        """Nanoseconds of the loop's time."""
        return round(self._loop.time() * NS_PER_S)

    async def sleep(self, delay_s: float) -> None:
        """Sleep on the loop."""
        await asyncio.sleep(delay_s)
