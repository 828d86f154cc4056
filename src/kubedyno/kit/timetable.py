"""Keys that are due at some time: one heap and one sleeping task for any number of them."""

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from kubedyno.kit.clock import NS_PER_S, Clock

K = TypeVar("K", bound=Hashable)

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Starts a task that somebody owns: `TaskGroup.create_task`."""


_LEAST_WASTE = 64


class Timetable(Generic[K]):
    """Each key at most once, with its due time on the monotonic counter. One task calls `take`."""

    def __init__(self, clock: Clock, spawn: Spawn) -> None:
        self._clock = clock
        self._spawn = spawn
        self._due_ns: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._sequence = 0
        self._waiter: asyncio.Future[None] | None = None
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_ns = 0

    def __len__(self) -> int:
        return len(self._due_ns)

    def put(self, key: K, due_ns: int) -> None:
        """`key` is due then, whatever was said before."""
        if self._due_ns.get(key) == due_ns:
            return
        self._due_ns[key] = due_ns
        self._sequence += 1  # equal times in the order of their addition, so that runs repeat
        heapq.heappush(self._heap, (due_ns, self._sequence, key))
        if len(self._heap) > 2 * len(self._due_ns) + _LEAST_WASTE:
            self._clear_out()
        if self._heap[0][2] == key:
            self._wake()

    def drop(self, key: K) -> None:
        """`key` is due no more."""
        self._due_ns.pop(key, None)

    def _clear_out(self) -> None:
        """Let go of entries that mean nothing any more, instead of keeping them until their time."""
        self._heap = [entry for entry in self._heap if self._due_ns.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)

    async def take(self) -> tuple[K, int]:
        """The earliest key that is due, and when it was."""
        while True:
            while self._heap and self._due_ns.get(self._heap[0][2]) != self._heap[0][0]:
                heapq.heappop(self._heap)  # dropped, or put anew
            if self._heap and self._heap[0][0] <= self._clock.monotonic_ns():
                due_ns, _, key = heapq.heappop(self._heap)
                del self._due_ns[key]
                return key, due_ns
            self._waiter = asyncio.get_running_loop().create_future()
            if self._heap:
                self._set_alarm(self._heap[0][0])
            await self._waiter

    def _set_alarm(self, due_ns: int) -> None:
        if self._alarm is not None and not self._alarm.done():
            if self._alarm_ns == due_ns:
                return
            self._alarm.cancel()
        self._alarm_ns = due_ns
        self._alarm = self._spawn(self._sound(due_ns))

    async def _sound(self, due_ns: int) -> None:
        await self._clock.sleep(max(0.0, (due_ns - self._clock.monotonic_ns()) / NS_PER_S))
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
