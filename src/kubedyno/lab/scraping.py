"""What the components of a lab say of themselves: their pages of metrics, as they serve them."""

import asyncio

import msgspec

from kubedyno.kit.errors import EngineError
from kubedyno.lab.auditing import metrics_probe
from kubedyno.lab.starting import RunningLab
from kubedyno.plane.component import Component


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
