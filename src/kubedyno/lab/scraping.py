"""What the components of a lab say of themselves: pages of metrics and profiles, as they serve them."""

import asyncio
from typing import Final

import msgspec

from kubedyno.kit.errors import EngineError
from kubedyno.lab import profiling
from kubedyno.lab.auditing import metrics_probe
from kubedyno.lab.profiling import Profile
from kubedyno.lab.starting import RunningLab
from kubedyno.plane.component import Component

FAR: Final = "where the components of this cluster are is not known here; run on a lab of this test's own"
"""Why nothing is known of them, and what to do."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One component's page, or why there is none."""

    component: str
    program: str
    text: bytes = b""
    problem: str = ""


class Scraper:
    """Reads the pages of a lab's components; of a lab that is another process's or a cluster nobody knows where."""

    def __init__(self, running: RunningLab | None) -> None:
        self._running = running

    @property
    def is_near(self) -> bool:
        """Whether it is known where the components are."""
        return self._running is not None

    def pids(self) -> dict[str, int]:
        """The processes of its components, by component."""
        if self._running is None:
            return {}
        return {name: process.pid for name, process in self._running.supervisor.processes.items()}

    async def pages(self) -> list[Page]:
        """Of all components that run and have one, asked side by side."""
        if self._running is None:
            return []
        there = self._running.supervisor.processes
        asked = [one for one in self._running.plan.components if one.name in there and metrics_probe(one)]
        return list(await asyncio.gather(*map(self._page, asked)))

    async def _page(self, component: Component) -> Page:
        assert self._running is not None  # noqa: S101 - the caller looked
        probe = metrics_probe(component)
        assert probe is not None  # noqa: S101 - as above
        try:
            text = await self._running.reader.fetch(probe)
        except EngineError as error:
            return Page(component=component.name, program=component.program, problem=str(error))
        return Page(component=component.name, program=component.program, text=text)

    def why_unprofiled(self, program: str) -> str:
        """Why there are no profiles of a program; empty: there are."""
        if self._running is None:
            return FAR
        components = self._running.plan.components
        if not any(one.program in profiling.PROFILED for one in components):
            return "no component of this lab serves profiles; use --engine local"
        reasons = [profiling.why_not(one) for one in components if one.program == program]
        return reasons[0] if reasons else f"this lab has no {program}"

    async def profiles(self, program: str, kind: str, *, takes_s: int = 0) -> list[Profile]:
        """Of all components of a program that run, side by side; `kind` and `takes_s` as in `profile_probe`."""
        if self._running is None or self.why_unprofiled(program):
            return []
        there = self._running.supervisor.processes
        asked = [one for one in self._running.plan.components if one.program == program and one.name in there]
        return list(await asyncio.gather(*(self._profile(one, kind, takes_s) for one in asked)))

    async def _profile(self, component: Component, kind: str, takes_s: int) -> Profile:
        assert self._running is not None  # noqa: S101 - the caller looked
        probe = profiling.profile_probe(component, kind, takes_s=takes_s)
        try:
            data = await self._running.reader.fetch(probe)
        except EngineError as error:
            return Profile(component=component.name, program=component.program, problem=str(error))
        return Profile(component=component.name, program=component.program, data=data)
