"""Components scraped every few seconds, as a Prometheus server would: once, for all measurements that ask queries."""

import asyncio
from typing import Final

from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import EngineError
from kubedyno.lab.scraping import Scraper
from kubedyno.measure.promql import Samples

EVERY_S: Final = 5.0
_JOBS: Final = {"kube-apiserver": "apiserver"}
"""Where the label `job` is not the program's name."""


class Scrapes:
    """The pages of a lab's components, handed to everybody's samples."""

    def __init__(self, scraper: Scraper, clock: Clock) -> None:
        self.at_ns = 0
        """When the last one was, ns since the epoch."""
        self.unread: dict[str, str] = {}
        """Components of which a page could not be read, and why; their series have ended there."""
        self._scraper = scraper
        self._clock = clock
        self._samples: list[Samples] = []
        self._lock = asyncio.Lock()

    def add(self, samples: Samples) -> bool:
        """Fill these samples from now on; whether they are the first."""
        self._samples.append(samples)
        return len(self._samples) == 1

    async def keep_on(self) -> None:
        """Scrape every few seconds until cancelled."""
        while True:
            await self._clock.sleep(EVERY_S)
            await self.scrape()

    async def scrape(self) -> bool:
        """One scrape, shared by all who want one at the same time; False: there is nothing to scrape."""
        before_ns = self.at_ns
        async with self._lock:
            if self.at_ns > before_ns:
                return True
            pages = await self._scraper.pages()
            at_ns = max(self._clock.wall_ns(), self.at_ns + 1)
            for page in pages:
                labels = {"job": _JOBS.get(page.program, page.program), "instance": page.component}
                problem = page.problem
                for samples in self._samples:
                    try:
                        samples.append(at_ns, labels, None if problem else page.text)
                    except EngineError as error:
                        problem = str(error)
                        samples.append(at_ns, labels, None)
                if problem:
                    self.unread[page.component] = problem
            if pages:
                self.at_ns = at_ns
            return bool(pages)
