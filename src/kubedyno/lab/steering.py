"""Steering the scheduler of a lab: paused, restarted, killed and resumed, with the times that matter."""

import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import psutil

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import NotApplicable, UsageError
from kubedyno.lab import control
from kubedyno.lab.handles import Stamp
from kubedyno.plane.activity import Activities, Activity
from kubedyno.plane.component import Component
from kubedyno.plane.supervision import Supervisor

How: TypeAlias = Literal["stop", "freeze"]
_Away: TypeAlias = Literal["stop", "freeze", "kill"]
Leading: TypeAlias = Callable[[], Awaitable[str | None]]
"""The component that leads others of its kind; None: none says so."""


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """A resumption: when the process was started again, and when it answered. Wall time in ns."""

    resumed_at_ns: int
    answered_at_ns: int


class SchedulerControl:
    """Pauses the processes that decide (KAI: the scheduler, not the binder) and lets them go on."""

    def __init__(
        self,
        supervisor: Supervisor,
        components: tuple[Component, ...],
        clock: Clock,
        *,
        hosted: Activities | None = None,
        activities: tuple[Activity, ...] = (),
        leading: Leading | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._deciding = [component.name for component in components if component.decides]
        self._hosted = hosted
        self._thinking = [activity.name for activity in activities if activity.decides]
        self._leading = leading
        self._clock = clock
        self._away: _Away | None = None
        self.resumed: Resumed | None = None
        """The last resumption."""
        self.start_up_s: float | None = None
        """What a start costs with nothing to do: measured before the first pause; None: not measured."""
        self.is_idle: Callable[[], bool] = lambda: True
        """Whether nothing waits for the scheduler."""

    @property
    def resumed_at(self) -> Stamp:
        """The moment of the last start: it is exact, and awaits no cycle."""
        if self.resumed is None:
            raise UsageError("the scheduler was never resumed: pause, restart or kill it first")
        return Stamp.exactly(self.resumed.resumed_at_ns)

    async def pause(self, how: How = "stop") -> None:
        """Stop deciding: end the processes, or freeze them with SIGSTOP. Returns when no decision can follow."""
        self._refuse_absent()
        if how == "stop" and self._deciding and self.start_up_s is None and self.is_idle():
            await self._measure_start_up()
        self._away = how
        if how == "freeze":
            self._supervisor.send(self._deciding, signal.SIGSTOP)
        else:
            await self._supervisor.stop(self._deciding)
        await self._stop_thinking()

    async def kill(self) -> None:
        """End the processes as a crash would, in the middle of whatever they do. `resume` starts them again."""
        self._refuse_absent()
        self._away = "kill"
        for name in self._deciding:
            self._supervisor.kill(name)
        await self._stop_thinking()

    async def resume(self) -> Resumed:
        """Start or thaw the processes; returns when they answer. `resumed_at_ns` is the moment of the start."""
        if self._away is None:
            raise UsageError("the scheduler is not paused")
        resumed_at_ns = self._clock.wall_ns()
        # Known from the moment of the start on, so that a scenario which is ended meanwhile does not start it twice.
        away, self._away = self._away, None
        if away == "freeze":
            self._supervisor.send(self._deciding, signal.SIGCONT)
        else:
            await self._supervisor.restart(self._deciding, is_at_work=False)
        if self._hosted is not None:
            self._hosted.restart(self._thinking)
        self.resumed = Resumed(resumed_at_ns=resumed_at_ns, answered_at_ns=self._clock.wall_ns())
        return self.resumed

    async def restart(self) -> Resumed:
        """End the processes in good order, unless they are away already, and start them again."""
        if self._away is None:
            await self.pause()
        return await self.resume()

    @contextlib.asynccontextmanager
    async def paused(self, how: How = "stop") -> AsyncIterator[None]:
        """Paused for the duration of the block, and resumed however it ends."""
        await self.pause(how)
        try:
            yield
        finally:
            await self.resume()

    @contextlib.asynccontextmanager
    async def beheaded(self) -> AsyncIterator[str]:
        """Of several processes the one that leads is killed, as a crash would; its name. The others go on.

        When the block ends it is started again, behind them. NotApplicable where none leads another.
        """
        self._refuse_absent()
        leader = await self._leading() if self._leading is not None else None
        if leader is None:
            raise NotApplicable("no process of the scheduler leads another: start the lab with --ha")
        self._supervisor.kill(leader)
        try:
            yield leader
        finally:
            await self._supervisor.restart([leader], is_at_work=False)

    @contextlib.asynccontextmanager
    async def spared(self) -> AsyncIterator[None]:
        """In the block the processes may die of what they are given: `told` says so. Dead ones are started again."""
        self._refuse_absent()
        self._supervisor.spare(self._deciding)
        try:
            yield
        finally:
            alive = [name for name in self._deciding if name in self._supervisor.processes]
            self._supervisor.claim(alive)
            await self._supervisor.restart([name for name in self._deciding if name not in alive], is_at_work=False)

    def told(self) -> str:
        """What is to be said of a scheduler that does not decide; empty: its processes are there."""
        words: dict[_Away, str] = {
            "stop": "the scheduler is paused",
            "freeze": "the scheduler is frozen",
            "kill": "the scheduler was killed",
        }
        if self._away is not None:
            return words[self._away]
        return self._process_told()

    def _process_told(self) -> str:
        running = self._supervisor.processes
        for name in self._deciding:
            if name not in running:
                return f"{name} is not running"
            with contextlib.suppress(psutil.NoSuchProcess):
                if psutil.Process(running[name].pid).status() == psutil.STATUS_STOPPED:
                    return f"the process of {name} hangs: it is stopped by a signal"
        return ""

    async def restore(self) -> None:
        """Let it go on, if a scenario has left it paused or killed."""
        if self._away is not None:
            await self.resume()

    async def _measure_start_up(self) -> None:
        await self._supervisor.stop(self._deciding)
        begun_ns = self._clock.monotonic_ns()
        await self._supervisor.restart(self._deciding)
        self.start_up_s = (self._clock.monotonic_ns() - begun_ns) / NS_PER_S

    async def _stop_thinking(self) -> None:
        if self._hosted is not None:
            await self._hosted.stop(self._thinking)

    def _refuse_absent(self) -> None:
        if not (self._deciding or self._thinking):
            raise UsageError("this lab has no scheduler to pause: start it with --scheduler")
        if self._away is not None:
            raise UsageError("the scheduler is paused already")


class RemoteControl(SchedulerControl):
    """The scheduler of a lab that stays, steered through its owner."""

    def __init__(self, socket: Path, clock: Clock) -> None:
        self._socket = socket
        self._clock = clock
        self._away = None
        self.resumed = None
        self.start_up_s = None
        self.is_idle = lambda: True

    async def pause(self, how: How = "stop") -> None:
        """Ask for it."""
        await self._ask("pause", how=how, is_idle=self.is_idle())
        self._away = how

    async def kill(self) -> None:
        """Ask for it."""
        await self._ask("kill")
        self._away = "kill"

    async def resume(self) -> Resumed:
        """Ask for it."""
        answer = await self._ask("resume")
        self._away = None
        self.resumed = msgspec.convert(answer["resumed"], Resumed)
        self.start_up_s = answer["start_up_s"]
        return self.resumed

    @contextlib.asynccontextmanager
    async def beheaded(self) -> AsyncIterator[str]:
        """Its owner does not do that for others."""
        await self._refuse_death()
        yield ""

    @contextlib.asynccontextmanager
    async def spared(self) -> AsyncIterator[None]:
        """Its owner would take the whole lab down."""
        await self._refuse_death()
        yield

    async def _refuse_death(self) -> None:
        raise NotApplicable("the scheduler may die of it, and a lab that stays with it: let it have a lab of its own")

    def _process_told(self) -> str:
        return ""

    async def _ask(self, do: str, **more: Any) -> dict[str, Any]:
        answer = await control.ask(self._socket, {"ask": "scheduler", "do": do, **more})
        if "error" in answer:
            raise UsageError(answer["error"])
        return answer


class AbsentControl(SchedulerControl):
    """The scheduler of a cluster that is not ours to steer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._away = None
        self.resumed = None
        self.start_up_s = None
        self.is_idle = lambda: True

    async def pause(self, how: How = "stop") -> None:
        """It cannot be."""
        del how
        raise NotApplicable("the scheduler of this cluster is not ours to pause: run it on a lab of ours")

    async def kill(self) -> None:
        """It cannot be."""
        await self.pause()

    @contextlib.asynccontextmanager
    async def beheaded(self) -> AsyncIterator[str]:
        """It cannot be."""
        await self.pause()
        yield ""

    @contextlib.asynccontextmanager
    async def spared(self) -> AsyncIterator[None]:
        """It cannot be."""
        await self.pause()
        yield

    def _process_told(self) -> str:
        return ""


async def answer(scheduler: SchedulerControl, request: Mapping[str, Any]) -> dict[str, Any]:
    """What the owner of a lab does for a RemoteControl."""
    try:
        match request.get("do"):
            case "pause":
                scheduler.is_idle = lambda: bool(request.get("is_idle"))
                await scheduler.pause(msgspec.convert(request.get("how"), How))
            case "kill":
                await scheduler.kill()
            case "resume":
                resumed = await scheduler.resume()
                return {"resumed": msgspec.to_builtins(resumed), "start_up_s": scheduler.start_up_s}
            case unknown:
                return {"error": f"a scheduler cannot {unknown}"}
    except UsageError as error:
        return {"error": str(error)}
    return {}
