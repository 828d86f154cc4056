"""Activities: started, stopped, started anew, and an error of one that ends the block."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import pytest

from kubedyno.client.rest import Client
from kubedyno.client.transport import Transport
from kubedyno.kit.clock import VirtualClock
from kubedyno.kit.errors import EngineError
from kubedyno.plane import activity
from kubedyno.plane.activity import Activities, Activity, Ground

pytestmark = pytest.mark.unit


def hosting() -> AbstractAsyncContextManager[Activities]:
    """Activities that nobody needs a client for."""
    return activity.hosting(Client(cast("Transport", None)), clock=VirtualClock(), seed=7)


class Diary:
    """Activities that write down what happens to them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def lasting(self, name: str, **more: Any) -> Activity:
        async def run(ground: Ground) -> None:
            self.lines.append(f"{name} begins with seed {ground.seed}")
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                self.lines.append(f"{name} has cleaned up")

        return Activity(name=name, role="test", run=run, **more)

    def failing(self, name: str, error: Exception) -> Activity:
        async def run(_: Ground) -> None:
            await asyncio.sleep(0)
            raise error

        return Activity(name=name, role="test", run=run)


@pytest.fixture
def diary() -> Diary:
    return Diary()


async def test_activities_run_for_the_duration_of_the_block(diary: Diary) -> None:
    async with hosting() as activities:
        assert activities.running == {}
        one, two = diary.lasting("one"), diary.lasting("two", decides=True)
        activities.start((one, two))
        await asyncio.sleep(0)
        assert activities.running == {"one": one, "two": two}
        assert diary.lines == ["one begins with seed 7", "two begins with seed 7"]
    assert sorted(diary.lines[2:]) == ["one has cleaned up", "two has cleaned up"]
    assert activities.running == {}


async def test_stopping_waits_until_it_has_cleaned_up_and_leaves_the_others(diary: Diary) -> None:
    async with hosting() as activities:
        activities.start((diary.lasting("one"), diary.lasting("two")))
        await asyncio.sleep(0)
        await activities.stop(["one"])
        assert diary.lines[-1] == "one has cleaned up"
        assert list(activities.running) == ["two"]


async def test_what_was_stopped_can_be_started_anew(diary: Diary) -> None:
    async with hosting() as activities:
        activities.start((diary.lasting("one"),))
        for _ in range(3):
            await asyncio.sleep(0)
            await activities.stop(["one"])
            assert not activities.running
            activities.restart(["one"])
            assert list(activities.running) == ["one"]
        await asyncio.sleep(0)
    begun = [line for line in diary.lines if "begins" in line]
    ended = [line for line in diary.lines if "cleaned up" in line]
    assert (len(begun), len(ended)) == (4, 4)


async def test_stopping_what_ended_by_itself_is_fine(diary: Diary) -> None:
    async def run(_: Ground) -> None:
        diary.lines.append("done")

    async with hosting() as activities:
        activities.start((Activity(name="short", role="test", run=run),))
        await asyncio.sleep(0)
        assert activities.running == {}
        await activities.stop(["short"])
    assert diary.lines == ["done"]


async def test_an_activity_that_fails_ends_the_block_with_its_error(diary: Diary) -> None:
    error = EngineError("the kubelets lost their API server")

    async def block() -> None:
        async with hosting() as activities:
            activities.start((diary.failing("two", error),))
            await asyncio.Event().wait()

    with pytest.raises(EngineError) as caught:
        await block()
    assert caught.value is error


async def test_an_activity_that_fails_lets_the_others_clean_up(diary: Diary) -> None:
    error = EngineError("the kubelets lost their API server")

    async def block() -> None:
        async with hosting() as activities:
            activities.start((diary.lasting("one"), diary.failing("two", error)))
            await asyncio.Event().wait()

    with pytest.raises(EngineError):
        await block()
    assert diary.lines == ["one begins with seed 7", "one has cleaned up"]


async def test_the_error_of_the_block_itself_is_kept_and_activities_end(diary: Diary) -> None:
    async def block() -> None:
        async with hosting() as activities:
            activities.start((diary.lasting("one"),))
            await asyncio.sleep(0)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await block()
    assert diary.lines[-1] == "one has cleaned up"


async def test_whoever_is_cancelled_while_it_stops_something_stays_cancelled(diary: Diary) -> None:
    reached = asyncio.Event()

    async def block() -> None:
        async with hosting() as activities:
            activities.start((diary.lasting("one"),))
            await asyncio.sleep(0)
            reached.set()
            await activities.stop(["one"])
            diary.lines.append("went on")

    work = asyncio.create_task(block())
    await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert "went on" not in diary.lines
