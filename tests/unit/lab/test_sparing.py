"""A scheduler that may die of what it is given, on real processes."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import NotApplicable, ProcessFailure
from kubedyno.lab.steering import AbsentControl, RemoteControl, SchedulerControl
from kubedyno.plane.component import Component
from kubedyno.plane.health import Prober
from kubedyno.plane.identities import Pki
from kubedyno.plane.supervision import Supervisor, supervise

pytestmark = pytest.mark.unit

Until = Callable[[Callable[[], object]], Awaitable[None]]
DECIDING = Component(name="scheduler", program="sleep", args=("1000",), decides=True)


@pytest.fixture
async def supervisor(tmp_path: Path) -> AsyncIterator[Supervisor]:
    async with (
        Prober(Pki(folder=tmp_path)) as prober,
        supervise(folder=tmp_path, programs={"sleep": Path("/bin/sleep")}, prober=prober, clock=RealClock()) as made,
    ):
        await made.start((DECIDING,))
        yield made


async def test_its_death_is_told_and_it_is_started_again(supervisor: Supervisor, until: Until) -> None:
    control = SchedulerControl(supervisor, (DECIDING,), RealClock())
    before = supervisor.processes["scheduler"].pid
    async with control.spared():
        assert control.told() == ""
        supervisor.send(["scheduler"], signal.SIGSEGV)
        await until(control.told)
        assert control.told() == "scheduler is not running"
    assert supervisor.processes["scheduler"].pid != before
    assert control.told() == ""


async def test_one_that_lives_goes_on(supervisor: Supervisor) -> None:
    control = SchedulerControl(supervisor, (DECIDING,), RealClock())
    before = supervisor.processes["scheduler"].pid
    async with control.spared():
        pass
    assert supervisor.processes["scheduler"].pid == before


async def test_a_death_after_the_block_is_a_failure_again(tmp_path: Path, until: Until) -> None:
    async def block() -> None:
        async with (
            Prober(Pki(folder=tmp_path)) as prober,
            supervise(
                folder=tmp_path, programs={"sleep": Path("/bin/sleep")}, prober=prober, clock=RealClock()
            ) as made,
        ):
            await made.start((DECIDING,))
            async with SchedulerControl(made, (DECIDING,), RealClock()).spared():
                pass
            made.send(["scheduler"], signal.SIGKILL)
            await until(lambda: False)

    with pytest.raises(ProcessFailure, match="scheduler"):
        await block()


async def test_the_scheduler_of_a_lab_that_stays_or_of_a_strangers_is_not_risked(tmp_path: Path) -> None:
    for control in (RemoteControl(tmp_path / "socket", RealClock()), AbsentControl(RealClock())):
        with pytest.raises(NotApplicable, match="the scheduler"):
            async with control.spared():
                pytest.fail("it was risked")
