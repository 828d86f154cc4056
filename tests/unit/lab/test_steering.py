"""Pausing on real processes: a supervisor with two that only sleep."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import UsageError
from kubedyno.lab.steering import SchedulerControl
from kubedyno.plane.component import Component
from kubedyno.plane.health import Prober
from kubedyno.plane.identities import Pki
from kubedyno.plane.supervision import Supervisor, supervise

pytestmark = pytest.mark.unit

Until = Callable[[Callable[[], object]], Awaitable[None]]

DECIDING = Component(name="scheduler", program="sleep", args=("1000",), decides=True)
OTHER = Component(name="binder", program="sleep", args=("1000",))


@pytest.fixture
async def supervisor(tmp_path: Path) -> AsyncIterator[Supervisor]:
    async with (
        Prober(Pki(folder=tmp_path)) as prober,
        supervise(folder=tmp_path, programs={"sleep": Path("/bin/sleep")}, prober=prober, clock=RealClock()) as made,
    ):
        await made.start((DECIDING, OTHER))
        yield made


@pytest.fixture
def control(supervisor: Supervisor) -> SchedulerControl:
    return SchedulerControl(supervisor, (DECIDING, OTHER), RealClock())


async def test_stopping_ends_only_what_decides_and_resuming_starts_it(
    supervisor: Supervisor, control: SchedulerControl
) -> None:
    before = supervisor.processes["scheduler"].pid
    await control.pause()
    assert set(supervisor.processes) == {"binder"}
    resumed = await control.resume()
    assert supervisor.processes["scheduler"].pid != before
    assert resumed.resumed_at_ns <= resumed.ready_at_ns
    assert control.resumed == resumed


async def test_freezing_keeps_the_process(supervisor: Supervisor, control: SchedulerControl, until: Until) -> None:
    process = psutil.Process(supervisor.processes["scheduler"].pid)
    async with control.paused("freeze"):
        await until(lambda: process.status() == psutil.STATUS_STOPPED)
        assert psutil.Process(supervisor.processes["binder"].pid).status() != psutil.STATUS_STOPPED
    await until(lambda: process.status() != psutil.STATUS_STOPPED)
    assert supervisor.processes["scheduler"].pid == process.pid


async def test_it_is_resumed_however_the_block_ends(supervisor: Supervisor, control: SchedulerControl) -> None:
    async def block() -> None:
        async with control.paused():
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await block()
    assert set(supervisor.processes) == {"scheduler", "binder"}


async def test_pausing_twice_and_resuming_unpaused_are_refused(control: SchedulerControl) -> None:
    with pytest.raises(UsageError, match=r"^the scheduler is not paused$"):
        await control.resume()
    await control.pause()
    with pytest.raises(UsageError, match=r"^the scheduler is paused already$"):
        await control.pause("freeze")
    await control.resume()


async def test_a_lab_without_scheduler_has_nothing_to_pause(supervisor: Supervisor) -> None:
    with pytest.raises(UsageError) as caught:
        await SchedulerControl(supervisor, (OTHER,), RealClock()).pause()
    assert str(caught.value) == "this lab has no scheduler to pause: start it with --scheduler"
