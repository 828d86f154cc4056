"""Steering the scheduler of a lab: paused and resumed, with the times that matter."""

import contextlib
import signal
from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.plane.activity import Activities, Activity
from kubedyno.plane.component import Component
from kubedyno.plane.supervision import Supervisor

How = Literal["stop", "freeze"]


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """A resumption: when the process was started again, and when it was ready. Wall time in ns."""

    resumed_at_ns: int
    ready_at_ns: int


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
    ) -> None:
        self._supervisor = supervisor
        self._deciding = [component.name for component in components if component.decides]
        self._hosted = hosted
        self._thinking = [activity.name for activity in activities if activity.decides]
        self._clock = clock
        self._paused: How | None = None
        self.resumed: Resumed | None = None
        """The last resumption."""

    async def pause(self, how: How = "stop") -> None:
        """Stop deciding: end the processes, or freeze them with SIGSTOP. Returns when no decision can follow."""
        if not (self._deciding or self._thinking):
            raise UsageError("this lab has no scheduler to pause: start it with --scheduler")
        if self._paused is not None:
            raise UsageError("the scheduler is paused already")
        self._paused = how
        if how == "freeze":
            self._supervisor.send(self._deciding, signal.SIGSTOP)
        else:
            await self._supervisor.stop(self._deciding)
        if self._hosted is not None:
            await self._hosted.stop(self._thinking)

    async def resume(self) -> Resumed:
        """Start or thaw the processes; returns when they are ready. `resumed_at_ns` is the moment of the start."""
        if self._paused is None:
            raise UsageError("the scheduler is not paused")
        resumed_at_ns = self._clock.wall_ns()
        if self._paused == "freeze":
            self._supervisor.send(self._deciding, signal.SIGCONT)
        else:
            await self._supervisor.restart(self._deciding)
        if self._hosted is not None:
            self._hosted.restart(self._thinking)
        self._paused = None
        self.resumed = Resumed(resumed_at_ns=resumed_at_ns, ready_at_ns=self._clock.wall_ns())
        return self.resumed

    @contextlib.asynccontextmanager
    async def paused(self, how: How = "stop") -> AsyncIterator[None]:
        """Paused for the duration of the block, and resumed however it ends."""
        await self.pause(how)
        try:
            yield
        finally:
            await self.resume()
