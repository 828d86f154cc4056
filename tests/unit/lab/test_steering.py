"""Pausing on real processes: a supervisor with two that only sleep; and activities that only wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import psutil
import pytest

from kubedyno.client.rest import Client
from kubedyno.client.transport import Transport
from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import UsageError
from kubedyno.lab.steering import How, SchedulerControl
from kubedyno.plane.activity import Activities, Activity, Ground, hosting
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


class Thinking:
    """The reference scheduler's part in a lab: an activity that decides, beside one that does not."""

    def __init__(self) -> None:
        self.begun = 0

    async def decide(self, _: Ground) -> None:
        self.begun += 1
        await asyncio.Event().wait()

    async def play(self, _: Ground) -> None:
        await asyncio.Event().wait()

    @property
    def activities(self) -> tuple[Activity, ...]:
        return (
            Activity(name="kubelets", role="kubelet", run=self.play),
            Activity(name="reference", role="scheduler", run=self.decide, decides=True),
        )


@pytest.fixture
async def hosted() -> AsyncIterator[Activities]:
    async with hosting(Client(cast("Transport", None)), clock=RealClock(), seed=0) as made:
        yield made


@pytest.mark.parametrize("how", ["stop", "freeze"])
async def test_an_activity_that_decides_is_paused_and_resumed(
    supervisor: Supervisor, hosted: Activities, how: How
) -> None:
    thinking = Thinking()
    hosted.start(thinking.activities)
    await asyncio.sleep(0)
    control = SchedulerControl(supervisor, (), RealClock(), hosted=hosted, activities=thinking.activities)
    assert thinking.begun == 1
    async with control.paused(how):
        assert list(hosted.running) == ["kubelets"]
        assert set(supervisor.processes) == {"scheduler", "binder"}
    assert set(hosted.running) == {"kubelets", "reference"}
    await asyncio.sleep(0)
    assert thinking.begun == 2
    assert control.resumed is not None
    assert control.resumed.resumed_at_ns <= control.resumed.ready_at_ns


async def test_activities_that_do_not_decide_are_nothing_to_pause(supervisor: Supervisor, hosted: Activities) -> None:
    kubelets = Thinking().activities[:1]
    hosted.start(kubelets)
    control = SchedulerControl(supervisor, (), RealClock(), hosted=hosted, activities=kubelets)
    with pytest.raises(UsageError, match=r"^this lab has no scheduler to pause: start it with --scheduler$"):
        await control.pause()
    assert list(hosted.running) == ["kubelets"]
