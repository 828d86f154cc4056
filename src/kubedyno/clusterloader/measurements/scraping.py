"""Components scraped every few seconds, as a Prometheus server would, for the queries of measurements."""

import contextlib
from typing import Final

from kubedyno.clusterloader.measurements.measuring import Scene
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import EngineError
from kubedyno.measure.promql import Samples, Vector, metrics_of

EVERY_S: Final = 5.0
_JOBS: Final = {"kube-apiserver": "apiserver"}
"""Where the label `job` is not the program's name."""
UNAVAILABLE: Final = "no component of this lab serves metrics; use --engine local"


class Queried:
    """Samples for some queries, from `begin` on."""

    def __init__(self, scene: Scene, *queries: str) -> None:
        """Queries may have `%v` for the time since the beginning."""
        self._scene = scene
        self._samples = Samples(metrics_of(*(query.replace("%v", "1m") for query in queries)))
        self._begun_ns = 0
        self._scraped_ns = 0

    async def begin(self) -> bool:
        """Scrape from now on; False: there is nothing to scrape."""
        self._begun_ns = self._scene.clock.wall_ns()
        if not await self._scrape():
            return False
        self._scene.background.start(self._keep_scraping(), name="scrape components")
        return True

    async def freshen(self) -> None:
        """Scrape once more: what a query looks at ends now."""
        await self._scrape()

    def ask(self, query: str) -> Vector:
        """What a query gives for the time from the beginning to the last scrape."""
        elapsed_s = max(1, round((self._scraped_ns - self._begun_ns) / NS_PER_S))
        return self._samples.query(query.replace("%v", f"{elapsed_s}s"), self._scraped_ns)

    async def _keep_scraping(self) -> None:
        while True:
            await self._scene.clock.sleep(EVERY_S)
            await self._scrape()

    async def _scrape(self) -> bool:
        pages = await self._scene.scraper.pages()
        at_ns = self._scene.clock.wall_ns()
        if at_ns <= self._scraped_ns:
            return bool(pages)
        for page in pages:
            labels = {"job": _JOBS.get(page.program, page.program), "instance": page.component}
            # A page that cannot be read is one that is not there: its series end.
            with contextlib.suppress(EngineError):
                self._samples.append(at_ns, labels, None if page.problem else page.text)
        self._scraped_ns = at_ns
        return bool(pages)
