"""Pausing on real processes: a supervisor with two that only sleep; and activities that only wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import psutil
import pytest

from kubedyno.client.rest import Client
from kubedyno.client.transport import Transport
from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import NotApplicable, UsageError
from kubedyno.lab.control import serve
from kubedyno.lab.steering import AbsentControl, How, RemoteControl, SchedulerControl, answer
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
    assert resumed.resumed_at_ns <= resumed.answered_at_ns
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


async def test_a_start_is_measured_once_before_the_first_pause_while_nothing_waits(
    supervisor: Supervisor, control: SchedulerControl
) -> None:
    before = supervisor.processes["scheduler"].pid
    control.is_idle = lambda: False
    async with control.paused():
        assert control.start_up_s is None
    control.is_idle = lambda: True
    async with control.paused():
        assert control.start_up_s is not None
    measured = control.start_up_s
    async with control.paused():
        pass
    assert control.start_up_s == measured
    assert supervisor.processes["scheduler"].pid != before


async def test_of_two_the_one_that_leads_is_killed_and_started_again_behind_the_other(
    supervisor: Supervisor, until: Until
) -> None:
    async def leads() -> str:
        return "scheduler"

    second = msgspec.structs.replace(DECIDING, name="scheduler-1")
    await supervisor.start((second,))
    control = SchedulerControl(supervisor, (DECIDING, second, OTHER), RealClock(), leading=leads)
    before = {name: process.pid for name, process in supervisor.processes.items()}
    async with control.beheaded() as name:
        assert name == "scheduler"
        await until(lambda: set(supervisor.processes) == {"scheduler-1", "binder"})
        assert control.told() == "scheduler is not running"
    assert control.told() == ""
    after = {name: process.pid for name, process in supervisor.processes.items()}
    assert [name for name in before if after[name] != before[name]] == ["scheduler"]


async def test_a_scheduler_that_leads_none_is_not_beheaded(supervisor: Supervisor, control: SchedulerControl) -> None:
    async def nobody() -> None:
        return None

    alone = SchedulerControl(supervisor, (DECIDING,), RealClock(), leading=nobody)
    for one in (control, alone):
        with pytest.raises(
            NotApplicable, match=r"^no process of the scheduler leads another: start the lab with --ha$"
        ):
            await one.beheaded().__aenter__()
    assert set(supervisor.processes) == {"scheduler", "binder"}


async def test_a_killed_scheduler_is_no_accident_and_starts_again(
    supervisor: Supervisor, control: SchedulerControl, until: Until, is_running: Callable[[int], bool]
) -> None:
    before = supervisor.processes["scheduler"].pid
    await control.kill()
    assert control.told() == "the scheduler was killed"
    await until(lambda: not is_running(before))
    with pytest.raises(UsageError, match="the scheduler is paused already"):
        await control.kill()
    resumed = await control.restart()
    assert supervisor.processes["scheduler"].pid != before
    assert control.resumed_at.at_ns == resumed.resumed_at_ns
    assert control.told() == ""
    assert supervisor.lost == {}


async def test_a_restart_ends_and_starts_it(supervisor: Supervisor, control: SchedulerControl) -> None:
    with pytest.raises(UsageError, match="the scheduler was never resumed"):
        _ = control.resumed_at
    before = supervisor.processes["scheduler"].pid
    await control.restart()
    assert supervisor.processes["scheduler"].pid != before


@pytest.mark.parametrize(("how", "words"), [("stop", "is paused"), ("freeze", "is frozen")])
async def test_what_is_said_of_a_scheduler_that_does_not_decide(
    control: SchedulerControl, how: How, words: str
) -> None:
    assert control.told() == ""
    async with control.paused(how):
        assert control.told() == f"the scheduler {words}"
    assert control.told() == ""


async def test_a_process_that_somebody_else_has_stopped_hangs(
    supervisor: Supervisor, control: SchedulerControl, until: Until
) -> None:
    process = psutil.Process(supervisor.processes["scheduler"].pid)
    process.suspend()
    await until(lambda: control.told() == "the process of scheduler hangs: it is stopped by a signal")
    process.resume()
    await until(lambda: control.told() == "")


async def test_what_a_scenario_left_paused_is_restored(supervisor: Supervisor, control: SchedulerControl) -> None:
    await control.restore()
    await control.kill()
    await control.restore()
    assert set(supervisor.processes) == {"scheduler", "binder"}


async def test_the_scheduler_of_a_lab_that_stays_is_steered_through_its_owner(
    supervisor: Supervisor, control: SchedulerControl, tmp_path: Path
) -> None:
    remote = RemoteControl(tmp_path / "control.sock", RealClock())

    async def owner(request: Mapping[str, Any]) -> dict[str, Any]:
        return await answer(control, request)

    async with serve(tmp_path / "control.sock", owner):
        async with remote.paused():
            assert set(supervisor.processes) == {"binder"}
            assert remote.told() == "the scheduler is paused"
            with pytest.raises(UsageError, match="the scheduler is paused already"):
                await remote.kill()
        assert (remote.resumed, remote.start_up_s) == (control.resumed, control.start_up_s)
        await remote.kill()
        await remote.restore()
        assert set(supervisor.processes) == {"scheduler", "binder"}
        with pytest.raises(UsageError, match="the scheduler is not paused"):
            await remote.resume()


async def test_the_scheduler_of_a_strangers_cluster_is_not_ours_to_pause() -> None:
    absent = AbsentControl(RealClock())
    await absent.restore()
    for act in (absent.pause, absent.kill):
        with pytest.raises(NotApplicable, match="the scheduler of this cluster is not ours to pause"):
            await act()
    assert absent.told() == ""


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
    assert control.resumed.resumed_at_ns <= control.resumed.answered_at_ns


async def test_activities_that_do_not_decide_are_nothing_to_pause(supervisor: Supervisor, hosted: Activities) -> None:
    kubelets = Thinking().activities[:1]
    hosted.start(kubelets)
    control = SchedulerControl(supervisor, (), RealClock(), hosted=hosted, activities=kubelets)
    with pytest.raises(UsageError, match=r"^this lab has no scheduler to pause: start it with --scheduler$"):
        await control.pause()
    assert list(hosted.running) == ["kubelets"]
