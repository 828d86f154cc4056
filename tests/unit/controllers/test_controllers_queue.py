"""The work queue: each key once, later, and again after failures."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubedyno.controllers.queue import WorkQueue
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock

pytestmark = pytest.mark.unit


def played(play: Callable[[WorkQueue[str], LoopClock], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        clock = LoopClock(asyncio.get_running_loop())
        async with asyncio.TaskGroup() as group:
            waiting: list[asyncio.Task[None]] = []

            def spawn(work: Coroutine[Any, Any, None]) -> None:
                waiting.append(group.create_task(work))

            outcome = await play(WorkQueue(clock, spawn, first_s=1, most_s=60), clock)
            for task in waiting:
                task.cancel()
        return outcome

    return tasks.run(main, virtual=True)


def test_a_key_waits_once_and_in_the_order_of_its_first_addition() -> None:
    async def play(queue: WorkQueue[str], _: LoopClock) -> list[str]:
        for key in ("b", "a", "b", "c", "a"):
            queue.add(key)
        return [await queue.get() for _ in range(len(queue))]

    assert played(play) == ["b", "a", "c"]


def test_a_key_is_not_handed_to_a_second_worker_before_the_first_is_done() -> None:
    async def play(queue: WorkQueue[str], _: LoopClock) -> list[object]:
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        queue.add("a")
        while_at_work = len(queue)
        queue.done(key)
        return [while_at_work, len(queue), await queue.get()]

    assert played(play) == [0, 1, "a"]


def test_a_worker_waits_for_a_key() -> None:
    async def play(queue: WorkQueue[str], clock: LoopClock) -> tuple[str, int]:
        async def add() -> None:
            await clock.sleep(5)
            queue.add("late")

        adding = asyncio.create_task(add())
        key = await queue.get()
        await adding
        return key, clock.monotonic_ns() // 10**9

    assert played(play) == ("late", 5)


def test_of_several_delays_the_earliest_counts() -> None:
    async def play(queue: WorkQueue[str], clock: LoopClock) -> list[tuple[str, int]]:
        queue.add_after("a", 30)
        queue.add_after("a", 10)
        queue.add_after("a", 20)
        queue.add_after("b", 15)
        queue.add_after("c", 0)
        seen = []
        for _ in range(3):
            key = await queue.get()
            seen.append((key, clock.monotonic_ns() // 10**9))
            queue.done(key)
        await clock.sleep(100)
        return [*seen, ("left", len(queue))]

    assert played(play) == [("c", 0), ("a", 10), ("b", 15), ("left", 0)]


def test_failures_in_a_row_wait_twice_as_long_up_to_a_limit() -> None:
    async def play(queue: WorkQueue[str], clock: LoopClock) -> list[float]:
        waits = []
        for _ in range(8):
            before_ns = clock.monotonic_ns()
            queue.retry("a")
            queue.done(await queue.get())
            waits.append((clock.monotonic_ns() - before_ns) / 1e9)
        queue.forget("a")
        before_ns = clock.monotonic_ns()
        queue.retry("a")
        await queue.get()
        return [*waits, (clock.monotonic_ns() - before_ns) / 1e9]

    assert played(play) == [1, 2, 4, 8, 16, 32, 60, 60, 1]
