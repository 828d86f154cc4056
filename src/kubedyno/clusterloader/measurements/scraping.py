"""Queries over what was scraped from some moment on."""

from typing import Final

from kubedyno.clusterloader.measurements.measuring import Scene
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql import Samples, Vector, metrics_of

UNAVAILABLE: Final = "no component of this lab serves metrics; use --engine local"


class Queried:
    """Samples for some queries, from `begin` on."""

    def __init__(self, scene: Scene, *queries: str) -> None:
        """Queries may have `%v` for the time since the beginning."""
        self._scrapes = scene.scrapes
        self._scene = scene
        self._samples = Samples(metrics_of(*(query.replace("%v", "1m") for query in queries)))
        self._begun_ns = 0

    async def begin(self) -> bool:
        """Scrape from now on; False: there is nothing to scrape."""
        is_first = self._scrapes.add(self._samples)
        self._begun_ns = self._scene.clock.wall_ns()
        if not await self._scrapes.scrape():
            return False
        if is_first:
            self._scene.background.start(self._scrapes.keep_on(), name="scrape components")
        return True

    async def freshen(self) -> tuple[str, ...]:
        """Scrape once more: what a query looks at ends now. What could not be read so far is told."""
        await self._scrapes.scrape()
        return tuple(
            f"metrics of {name} could not be read: {why}" for name, why in sorted(self._scrapes.unread.items())
        )

    def ask(self, query: str) -> Vector:
        """What a query gives for the time from the beginning to the last scrape."""
        elapsed_s = max(1, round((self._scrapes.at_ns - self._begun_ns) / NS_PER_S))
        return self._samples.query(query.replace("%v", f"{elapsed_s}s"), self._scrapes.at_ns)
