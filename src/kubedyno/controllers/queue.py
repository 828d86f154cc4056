"""Keys of work: each at most once in the queue and once at work, again later, or after a failure with backoff."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from kubedyno.kit.clock import NS_PER_S, Clock

K = TypeVar("K", bound=Hashable)

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Starts a task that somebody owns: `TaskGroup.create_task`."""

_LARGEST_EXPONENT = 60


class WorkQueue(Generic[K]):
    """Keys in the order of their first addition.

    A key that is added while it is worked on is handed out again afterwards, never to two workers at once. Delays
    are seconds of the clock; `spawn` owns the tasks that wait. Backoff doubles from `first_s` to `most_s` per failure
    in a row, as client-go does.
    """

    def __init__(
        self,
        clock: Clock,
        spawn: Spawn,
        *,
        first_s: float = 0.005,
        most_s: float = 1000.0,
    ) -> None:
        self._clock = clock
        self._spawn = spawn
        self._first_s = first_s
        self._most_s = most_s
        self._ready: deque[K] = deque()
        self._wanted: set[K] = set()
        self._at_work: set[K] = set()
        self._due_ns: dict[K, int] = {}
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: K) -> None:
        """Hand `key` out as soon as a worker is free."""
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._at_work:
            self._offer(key)

    def add_after(self, key: K, delay_s: float) -> None:
        """Add `key` in `delay_s`; of several delays the earliest counts."""
        if delay_s <= 0:
            self.add(key)
            return
        due_ns = self._clock.monotonic_ns() + round(delay_s * NS_PER_S)
        waiting_ns = self._due_ns.get(key)
        if waiting_ns is not None and waiting_ns <= due_ns:
            return
        self._due_ns[key] = due_ns
        self._spawn(self._later(key, due_ns, delay_s))

    def retry(self, key: K) -> None:
        """Add `key` after the backoff of one more failure."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(self._most_s, self._first_s * 2.0 ** min(failures, _LARGEST_EXPONENT)))

    def forget(self, key: K) -> None:
        """`key` did well: its next failure is a first one."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """The next key; the worker must call `done` when it has finished with it."""
        while not self._ready:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        key = self._ready.popleft()
        self._wanted.discard(key)
        self._at_work.add(key)
        return key

    def done(self, key: K) -> None:
        """The worker has finished with `key`."""
        self._at_work.discard(key)
        if key in self._wanted:
            self._offer(key)

    def _offer(self, key: K) -> None:
        self._ready.append(key)
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _later(self, key: K, due_ns: int, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        # A sooner wish has replaced this one otherwise.
        if self._due_ns.get(key) == due_ns:
            del self._due_ns[key]
            self.add(key)
