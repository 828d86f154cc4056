"""Virtual time: timers fire in their order, hours pass at once, and a world in which nothing can happen says so."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, rfc3339
from kubedyno.kit.errors import EngineError, ExitCode
from kubedyno.kit.virtualtime import DEFAULT_START_NS, LoopClock, Standstill, VirtualLoop

pytestmark = pytest.mark.unit

Result = TypeVar("Result")


def virtually(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


def now_s() -> float:
    return asyncio.get_running_loop().time()


@given(st.lists(st.integers(min_value=0, max_value=10**7), max_size=30))
def test_sleepers_wake_at_their_times_and_again_in_the_same_order(delays_ms: list[int]) -> None:
    woken: list[tuple[float, int]] = []

    async def sleeper(number: int, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        woken.append((now_s(), number))

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number, delay_ms in enumerate(delays_ms):
                group.create_task(sleeper(number, delay_ms / 1000))

    virtually(main)
    assert [at_s for at_s, _ in woken] == pytest.approx(sorted(delay_ms / 1000 for delay_ms in delays_ms))
    assert all(at_s == pytest.approx(delays_ms[number] / 1000) for at_s, number in woken)
    first = woken[:]
    woken.clear()
    virtually(main)
    assert woken == first


def test_a_thousand_hours_pass_in_many_small_steps() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(3600)
        return now_s()

    assert virtually(main) == pytest.approx(3_600_000)


def test_work_that_does_not_wait_takes_no_time() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        return now_s()

    assert virtually(main) == 0


def test_a_timeout_ends_what_takes_longer_at_its_very_time() -> None:
    async def main() -> tuple[float, str]:
        try:
            async with asyncio.timeout(30):
                await asyncio.sleep(31)
        except TimeoutError:
            return now_s(), "late"
        return now_s(), "in time"

    assert virtually(main) == (pytest.approx(30), "late")


def test_a_timeout_lets_go_what_is_faster() -> None:
    async def main() -> float:
        async with asyncio.timeout(30):
            await asyncio.sleep(29)
        return now_s()

    assert virtually(main) == pytest.approx(29)


def test_waiting_for_what_never_comes_is_told() -> None:
    cleaned = []

    async def main() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(Standstill) as caught:
        virtually(main)
    assert str(caught.value) == "nothing is left that could happen in virtual time: a task waits for what never comes"
    assert isinstance(caught.value, EngineError)
    assert caught.value.exit_code == ExitCode.ENGINE
    assert cleaned == [True]


def test_an_event_that_another_task_sets_is_no_standstill() -> None:
    async def main() -> float:
        event = asyncio.Event()
        asyncio.get_running_loop().call_later(7, event.set)
        await event.wait()
        return now_s()

    assert virtually(main) == pytest.approx(7)


def test_the_clock_tells_the_time_of_its_loop() -> None:
    async def main() -> list[tuple[int, int]]:
        clock = LoopClock(asyncio.get_running_loop(), start_ns=5 * NS_PER_S)
        seen = [(clock.wall_ns(), clock.monotonic_ns())]
        for delay_s in (0.001, 59.999):
            await clock.sleep(delay_s)
            seen.append((clock.wall_ns(), clock.monotonic_ns()))
        return seen

    assert virtually(main) == [
        (5 * NS_PER_S, 0),
        (5 * NS_PER_S + 1_000_000, 1_000_000),
        (65 * NS_PER_S, 60 * NS_PER_S),
    ]


def test_virtual_worlds_begin_with_the_year_2026() -> None:
    async def main() -> int:
        return LoopClock(asyncio.get_running_loop()).wall_ns()

    assert virtually(main) == DEFAULT_START_NS
    assert rfc3339(DEFAULT_START_NS) == "2026-01-01T00:00:00.000000Z"


def test_the_clock_of_a_real_loop_goes_on() -> None:
    async def main() -> int:
        clock = LoopClock(asyncio.get_running_loop())
        before_ns = clock.monotonic_ns()
        await clock.sleep(0.001)
        return clock.monotonic_ns() - before_ns

    assert asyncio.run(main()) >= 1_000_000


@pytest.mark.parametrize("virtual", [True, False])
def test_the_entry_runs_on_the_loop_that_was_asked_for(virtual: bool) -> None:
    async def main() -> bool:
        await asyncio.sleep(0)
        return isinstance(asyncio.get_running_loop(), VirtualLoop)

    assert tasks.run(main, virtual=virtual) is virtual


def test_a_standstill_comes_through_the_entry() -> None:
    async def main() -> None:
        async with tasks.owning() as group:
            group.create_task(asyncio.Event().wait())

    with pytest.raises(Standstill):
        tasks.run(main, virtual=True)
