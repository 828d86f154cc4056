"""CPUProfile, MemoryProfile and BlockProfile: where components say that their time, memory and waiting goes."""

import asyncio
from typing import Final

import msgspec

from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.reporting.profiles import profile_summary
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.errors import UsageError
from kubedyno.lab.profiling import PROFILED

_EVERY_S: Final = 300.0


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What is profiled."""

    method: str
    path: str
    """As Go's programs call it."""
    takes_s: int = 0
    """Over which time it is taken; 0: it tells of all the time until now, and is there at once."""


CPU: Final = Kind(method="CPUProfile", path="profile", takes_s=10)
MEMORY: Final = Kind(method="MemoryProfile", path="heap")
BLOCK: Final = Kind(method="BlockProfile", path="block")


class TakeProfiles:
    """Profiles of one component, every five minutes from `start` to `gather`; those that take no time at the end, too.

    A profile that takes time disturbs what it looks at. Whoever asks for one gets it from the start, so that a short
    test has one; with `waits` the first comes after five minutes, as elsewhere.
    """

    def __init__(self, kind: Kind, identifier: str, scene: Scene, *, waits: bool = False) -> None:
        self._kind = kind
        self._identifier = identifier
        self._scene = scene
        self._waits = waits or not kind.takes_s
        self._program = ""
        self._taking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._summaries: list[Summary] = []
        self._problems: list[str] = []

    async def execute(self, params: Params) -> Result:
        """`start` begins with the profiles of `componentName`, `gather` hands them over."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        if self._task is not None:
            return DONE
        self._program = params.chosen("componentName", {name: name for name in PROFILED})
        why = self._scene.scraper.why_unprofiled(self._program)
        if why:
            return Result(skipped=why)
        name = f"take {self._kind.method} of {self._program}"
        self._task = self._scene.background.start(self._keep_taking(), name=name)
        return DONE

    async def _gather(self, _: Params) -> Result:
        if not self._program:
            raise UsageError(f"{self._kind.method} {self._identifier}: gather without a start before it")
        if self._task is None:
            return Result(skipped=self._scene.scraper.why_unprofiled(self._program))
        async with self._taking:  # one that is being taken is waited for
            self._task.cancel()
        self._task = None
        if not self._kind.takes_s or not (self._waits or self._summaries):
            await self._take()
        summaries, self._summaries = tuple(self._summaries), []
        problems, self._problems = tuple(self._problems), []
        is_failed = bool(problems) and not summaries
        return Result(summaries=summaries, errors=problems if is_failed else (), remarks=() if is_failed else problems)

    async def _keep_taking(self) -> None:
        if not self._waits:
            await self._take()
        while True:
            await self._scene.clock.sleep(_EVERY_S)
            await self._take()

    async def _take(self) -> None:
        async with self._taking:
            for one in await self._scene.scraper.profiles(self._program, self._kind.path, takes_s=self._kind.takes_s):
                if one.problem:
                    self._problems.append(f"{self._kind.method} of {one.component}: {one.problem}")
                else:
                    self._summaries.append(profile_summary(self._kind.method, one.component, one.program, one.data))


_PARAMS: Final = ("action", "componentName", "provider")


def _method(kind: Kind, *, waits: bool = False) -> Method:
    return Method(make=lambda identifier, scene: TakeProfiles(kind, identifier, scene, waits=waits), params=_PARAMS)


CPU_PROFILE = _method(CPU)
MEMORY_PROFILE = _method(MEMORY)
BLOCK_PROFILE = _method(BLOCK)
ALONG: Final = {kind.method: _method(kind, waits=True) for kind in (CPU, MEMORY, BLOCK)}
"""As they are part of TestMetrics: nobody has asked for this very profile."""
