import asyncio

import pytest

from kubedyno.client import deadlines
from kubedyno.client.deadlines import Deadlines

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def quick_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "TICK_S", 0.005)


async def forever(limits: Deadlines, limit_s: float) -> None:
    with limits.within(limit_s):
        await asyncio.Event().wait()


async def test_a_block_that_takes_too_long_times_out_and_the_task_goes_on() -> None:
    limits = Deadlines()
    with pytest.raises(TimeoutError):
        await forever(limits, 0.01)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)
    limits.close()


async def test_one_that_is_in_time_is_left_alone_and_the_ticking_ends() -> None:
    limits = Deadlines()
    with limits.within(60):
        limits._tick(asyncio.get_running_loop())
        assert limits._timer is not None
        await asyncio.sleep(0)
    limits._timer.cancel()
    limits._tick(asyncio.get_running_loop())
    assert limits._timer is None


async def test_only_the_late_ones_are_ended() -> None:
    limits = Deadlines()
    late = asyncio.ensure_future(forever(limits, 0.01))
    early = asyncio.ensure_future(forever(limits, 60))
    with pytest.raises(TimeoutError):
        await late
    assert not early.done()
    early.cancel()
    with pytest.raises(asyncio.CancelledError):
        await early
    limits.close()


async def test_a_task_that_others_cancel_too_stays_cancelled() -> None:
    limits = Deadlines()
    task = asyncio.ensure_future(forever(limits, 0))
    await asyncio.sleep(0)
    limits._tick(asyncio.get_running_loop())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    limits.close()
