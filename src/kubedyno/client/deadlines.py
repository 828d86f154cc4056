"""Deadlines to the second for many short requests: one timer for all of them.

aiohttp sets up and cancels a timer of its own per request, a tenth of what a request costs on loopback. A request
that may take a minute needs no such precision.
"""

import asyncio
from types import TracebackType

TICK_S = 1.0


class _Within:
    """One block with a deadline; a class and not a generator, because it is entered per request."""

    __slots__ = ("_cancelling", "_running", "due_s", "expired", "task")

    def __init__(self, running: set["_Within"], due_s: float) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - requests are made from tasks
        self.task = task
        self.due_s = due_s
        self.expired = False
        self._cancelling = task.cancelling()
        self._running = running

    def __enter__(self) -> None:
        self._running.add(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.discard(self)
        if self.expired and self.task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            # As in asyncio.timeout: if somebody else cancelled the task as well, it stays cancelled.
            raise TimeoutError from error


class Deadlines:
    """Cancels the tasks whose time is over, at most `TICK_S` late; ticks only while something runs."""

    def __init__(self) -> None:
        self._running: set[_Within] = set()
        self._timer: asyncio.TimerHandle | None = None

    def within(self, limit_s: float) -> _Within:
        """A block, in the current task, that ends with `TimeoutError` when it takes longer than `limit_s`."""
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._timer = loop.call_later(TICK_S, self._tick, loop)
        return _Within(self._running, loop.time() + limit_s)

    def close(self) -> None:
        """Stop ticking."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now_s = loop.time()
        for block in self._running:
            if now_s >= block.due_s and not block.expired:
                block.expired = True
                block.task.cancel()
        self._timer = loop.call_later(TICK_S, self._tick, loop) if self._running else None
