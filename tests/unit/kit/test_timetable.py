"""Keys that are due at some time, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.timetable import Timetable
from kubedyno.kit.virtualtime import LoopClock

pytestmark = pytest.mark.unit


class Desk:
    """A timetable, and what was taken from it."""

    def __init__(self, clock: LoopClock, group: asyncio.TaskGroup) -> None:
        self.clock = clock
        self.table: Timetable[str] = Timetable(clock, group.create_task)
        self.taken: list[tuple[str, float, float]] = []
        """Key, when it was due, and when it was taken, in seconds."""

    def put(self, key: str, due_s: float) -> None:
        self.table.put(key, round(due_s * NS_PER_S))

    async def take_all(self) -> None:
        while True:
            key, due_ns = await self.table.take()
            self.taken.append((key, due_ns / NS_PER_S, self.clock.monotonic_ns() / NS_PER_S))


Play = Callable[[Desk], Awaitable[None]]


def played(play: Play) -> list[tuple[str, float, float]]:
    async def main() -> list[tuple[str, float, float]]:
        async with tasks.owning() as group:
            desk = Desk(LoopClock(asyncio.get_running_loop()), group)
            taking = group.create_task(desk.take_all())
            await play(desk)
            await desk.clock.sleep(1000)
            taking.cancel()
        return desk.taken

    found: Any = tasks.run(main, virtual=True)
    return list(found)


def test_keys_come_when_they_are_due_in_the_order_of_their_times() -> None:
    async def play(desk: Desk) -> None:
        for key, due_s in (("c", 3), ("a", 1), ("b", 2.5)):
            desk.put(key, due_s)
        assert len(desk.table) == 3

    assert played(play) == [("a", 1, 1), ("b", 2.5, 2.5), ("c", 3, 3)]


def test_equal_times_come_in_the_order_of_their_addition() -> None:
    async def play(desk: Desk) -> None:
        for key in "zxya":
            desk.put(key, 5)

    assert [key for key, _, _ in played(play)] == list("zxya")


def test_what_is_due_already_comes_at_once_and_says_when_it_was_due() -> None:
    async def play(desk: Desk) -> None:
        await desk.clock.sleep(10)
        desk.put("late", 4)

    assert played(play) == [("late", 4, 10)]


@pytest.mark.parametrize(("first_s", "then_s"), [(5, 9), (9, 5), (5, 5)])
def test_a_key_is_due_at_the_last_time_that_was_said_and_once(first_s: float, then_s: float) -> None:
    async def play(desk: Desk) -> None:
        desk.put("k", first_s)
        await desk.clock.sleep(1)
        desk.put("k", then_s)
        assert len(desk.table) == 1

    assert played(play) == [("k", then_s, then_s)]


def test_a_key_that_was_dropped_does_not_come() -> None:
    async def play(desk: Desk) -> None:
        desk.put("gone", 2)
        desk.put("stays", 3)
        desk.table.drop("gone")
        desk.table.drop("never there")

    assert played(play) == [("stays", 3, 3)]


def test_a_key_that_was_dropped_may_be_put_again_for_the_same_time() -> None:
    async def play(desk: Desk) -> None:
        desk.put("k", 2)
        desk.table.drop("k")
        desk.put("k", 2)
        await desk.clock.sleep(5)
        desk.put("k", 7)

    assert played(play) == [("k", 2, 2), ("k", 7, 7)]


def test_an_earlier_key_wakes_who_waits_for_a_later_one() -> None:
    async def play(desk: Desk) -> None:
        desk.put("later", 100)
        await desk.clock.sleep(1)
        desk.put("sooner", 3)

    assert played(play) == [("sooner", 3, 3), ("later", 100, 100)]


def test_keys_that_were_put_off_or_dropped_leave_nothing_behind() -> None:
    async def play(desk: Desk) -> None:
        for number in range(5000):
            desk.put("moved", 900 + number / 100)
            desk.put(f"dropped {number}", 900)
            desk.table.drop(f"dropped {number}")
        assert len(desk.table) == 1
        assert len(desk.table._heap) < 100

    assert played(play) == [("moved", 949.99, 949.99)]
