"""Who answers queries from some moment on: what we scrape ourselves, or a Prometheus server."""

from typing import Final, Protocol

from kubedyno.clusterloader.measurements.measuring import Scene
from kubedyno.clusterloader.measurements.prometheus import FLAG, Prometheus
from kubedyno.clusterloader.measurements.scrapes import Scrapes
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.lab.scraping import Scraper
from kubedyno.measure.promql import Samples, Vector, metrics_of

UNAVAILABLE: Final = "no component of this lab serves metrics; use --engine local"
_ANYWHERE: Final = "1m"
"""Some duration in the place of `%v`, for whoever only wants to read a query."""


class Queried(Protocol):
    """Answers to some queries for the time since `begin`. Queries may have `%v` for that time."""

    remarks: tuple[str, ...]
    """What is to be known of the answers so far."""

    async def begin(self) -> str:
        """Look from now on; what is wrong with that, empty: nothing. EngineError where it may still get right."""
        ...

    async def freshen(self) -> None:
        """What queries look at ends now."""
        ...

    async def ask(self, query: str, *, without_s: float = 0.0, at_least_s: float = 1.0) -> Vector:
        """What a query gives for the time from `begin` to `freshen`, less its first seconds."""
        ...


def queried(scene: Scene, *queries: str) -> Queried:
    """Whoever answers in this test."""
    if scene.prometheus is not None:
        return Served(scene.prometheus, scene.clock)
    return Scraped(scene, *queries)


def unavailable(scraper: Scraper) -> str:
    """Why there is nothing to scrape, and what to do."""
    if scraper.is_near:
        return f"{UNAVAILABLE}, or name a Prometheus server with {FLAG}"
    return (
        "where the components of this cluster serve their metrics is not known here; name a Prometheus server that "
        f"scrapes them: {FLAG} URL"
    )


class Scraped:
    """By our own scrape, and as much of PromQL as we know."""

    remarks: tuple[str, ...] = ()

    def __init__(self, scene: Scene, *queries: str) -> None:
        self._scrapes: Scrapes = scene.scrapes
        self._scene = scene
        self._samples = Samples(metrics_of(*(query.replace("%v", _ANYWHERE) for query in queries)))
        self._begun_ns = 0

    async def begin(self) -> str:
        """Scrape from now on, unless there is nothing to scrape."""
        is_first = self._scrapes.add(self._samples)
        self._begun_ns = self._scene.clock.wall_ns()
        if not await self._scrapes.scrape():
            return unavailable(self._scene.scraper)
        if is_first:
            self._scene.background.start(self._scrapes.keep_on(), name="scrape components")
        return ""

    async def freshen(self) -> None:
        """Scrape once more. What could not be read so far is told."""
        await self._scrapes.scrape()
        unread = sorted(self._scrapes.unread.items())
        self.remarks = tuple(f"metrics of {name} could not be read: {why}" for name, why in unread)

    async def ask(self, query: str, *, without_s: float = 0.0, at_least_s: float = 1.0) -> Vector:
        """For the time up to the last scrape."""
        range_s = _range_s(self._begun_ns, self._scrapes.at_ns, without_s, at_least_s)
        return self._samples.query(query.replace("%v", f"{range_s}s"), self._scrapes.at_ns)


class Served:
    """By a server that scrapes as it likes: what it does not scrape is not there."""

    remarks: tuple[str, ...] = ()

    def __init__(self, server: Prometheus, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._begun_ns = self._at_ns = 0

    async def begin(self) -> str:
        """See whether the server answers: it is better to know that now than when the test is over."""
        self._begun_ns = self._clock.wall_ns()
        await self._server.ask("vector(1)", self._begun_ns)
        return ""

    async def freshen(self) -> None:
        """Ask for what there is now."""
        self._at_ns = self._clock.wall_ns()

    async def ask(self, query: str, *, without_s: float = 0.0, at_least_s: float = 1.0) -> Vector:
        """The server's words of warning are kept in the remarks, each once."""
        range_s = _range_s(self._begun_ns, self._at_ns, without_s, at_least_s)
        answer = await self._server.ask(query.replace("%v", f"{range_s}s"), self._at_ns)
        told = (f"{self._server} warns: {one}" for one in answer.warnings)
        self.remarks = tuple(dict.fromkeys((*self.remarks, *told)))
        return answer.vector


def _range_s(begun_ns: int, at_ns: int, without_s: float, at_least_s: float) -> int:
    return round(max(at_least_s, (at_ns - begun_ns) / NS_PER_S - without_s))
