"""GenericPrometheusQuery and SchedulingThroughputPrometheus: figures by queries, without a Prometheus server."""

import abc
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.scraping import UNAVAILABLE, Queried
from kubedyno.clusterloader.reporting.perfdata import DataItem, PerfData, indented
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.errors import UsageError

_BINDINGS: Final = (
    'max_over_time(sum(irate(apiserver_request_total{verb="POST", resource="pods", subresource="binding", '
    'code="201"}[1m]))[%v:5s])'
)
IGNORED: Final = "; this does not fail the test, since enableViolations is not set"
PROMETHEUS_PARAMS: Final = ("action", "enableViolations", "prometheusClient")


def judged(violations: list[str], params: Params, summary: Summary) -> Result:
    """As upstream: violations count only where they are asked to."""
    if params.flag("enableViolations", default=False):
        return Result(summaries=(summary,), errors=tuple(violations))
    return Result(summaries=(summary,), remarks=tuple(f"{one}{IGNORED}" for one in violations))


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a GenericPrometheusQuery."""

    name: str
    text: str
    threshold: float | None = None
    is_lower_bound: bool = False
    requires_samples: bool = False

    @classmethod
    def read(cls, params: Params) -> "Query":
        """From one entry of `queries`."""
        return cls(
            name=params.text("name"),
            text=params.text("query"),
            threshold=params.number("threshold") if "threshold" in params else None,
            is_lower_bound=params.flag("lowerBound", default=False),
            requires_samples=params.flag("requireSamples", default=False),
        )

    def violations(self, values: list[float]) -> Iterator[str]:
        """What is wrong with the values that it gave."""
        if not values and self.requires_samples:
            yield f"{self.name}: there are no samples"
        for value in values:
            if self.threshold is None:
                continue
            if self.is_lower_bound and value < self.threshold:
                yield f"{self.name}: {value:g} is less than {self.threshold:g}"
            if not self.is_lower_bound and value > self.threshold:
                yield f"{self.name}: {value:g} is more than {self.threshold:g}"


class GenericPrometheusQuery:
    """Any queries of the user's, from `start` to `gather`."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._queries: list[Query] = []
        self._dimensions: tuple[str, ...] = ()
        self._metric = ("", "", "")
        self._queried: Queried | None = None

    async def execute(self, params: Params) -> Result:
        """`start` begins to scrape, `gather` asks the queries."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        self._metric = params.text("metricName"), params.text("metricVersion"), params.text("unit")
        self._dimensions = tuple(str(one) for one in params.listed("dimensions", []))
        self._queries = [Query.read(params.below("queries", entry)) for entry in params.listed("queries")]
        queried = Queried(self._scene, *(query.text for query in self._queries))
        if not await queried.begin():
            return Result(skipped=UNAVAILABLE)
        self._queried = queried
        return DONE

    async def _gather(self, params: Params) -> Result:
        if not self._queries:
            raise UsageError(f"GenericPrometheusQuery {self._identifier}: gather without a start before it")
        if self._queried is None:
            required = [query.name for query in self._queries if query.requires_samples]
            if required:
                return Result(errors=(f"{', '.join(required)}: there are no samples: {UNAVAILABLE}",))
            return Result(skipped=UNAVAILABLE)
        unread = await self._queried.freshen()
        name, version, unit = self._metric
        found: dict[tuple[str, ...], dict[str, float]] = {}
        violations: list[str] = []
        for query in self._queries:
            answer = self._queried.ask(query.text)
            for sample in answer:
                key = tuple(sample.labels.get(dimension, "") for dimension in self._dimensions)
                found.setdefault(key, {})[query.name] = sample.value
            violations += query.violations([sample.value for sample in answer])
        items = tuple(
            DataItem(data=data, unit=unit, labels=dict(zip(self._dimensions, key, strict=True)))
            for key, data in sorted(found.items())
        )
        text = PerfData(version=version, items=items).json()
        told = judged(violations, params, Summary(name=f"GenericPrometheusQuery {name}", text=text))
        return msgspec.structs.replace(told, remarks=(*told.remarks, *unread))


class FixedQueries(abc.ABC):
    """A measurement whose queries are always the same: scraped from `start` on, asked at `gather`."""

    method = ""
    queries: tuple[str, ...] = ()

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._queried: Queried | None = None
        self._is_begun = False

    async def execute(self, params: Params) -> Result:
        """`start` begins to scrape, `gather` tells the figures, and what is wrong with them."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    @abc.abstractmethod
    def _told(self, queried: Queried, params: Params) -> Result:
        """What the answers come to."""

    async def _start(self, _: Params) -> Result:
        self._is_begun = True
        queried = Queried(self._scene, *self.queries)
        if not await queried.begin():
            return Result(skipped=UNAVAILABLE)
        self._queried = queried
        return DONE

    async def _gather(self, params: Params) -> Result:
        if not self._is_begun:
            raise UsageError(f"{self.method} {self._identifier}: gather without a start before it")
        if self._queried is None:
            return Result(skipped=UNAVAILABLE)
        unread = await self._queried.freshen()
        told = self._told(self._queried, params)
        return msgspec.structs.replace(told, remarks=(*told.remarks, *unread))


class SchedulingThroughputPrometheus(FixedQueries):
    """The highest rate of bindings, by what the API server counts, and whether it was too low."""

    method = "SchedulingThroughputPrometheus"
    queries = (_BINDINGS,)

    def _told(self, queried: Queried, params: Params) -> Result:
        answer = queried.ask(_BINDINGS)
        if len(answer) != 1:
            return Result(errors=("scheduler throughput: nothing was bound, or too little time has passed to tell",))
        at_least, best = params.number("threshold", 0.0), answer[0].value
        violations = (
            [f"scheduler throughput: {best:g} pods/s at most, and {at_least:g} are asked for"]
            if best < at_least
            else []
        )
        told: dict[str, Any] = {"max": best}
        return judged(violations, params, Summary(name=self.method, text=indented(told)))


GENERIC_PROMETHEUS_QUERY = Method(
    make=GenericPrometheusQuery,
    params=(*PROMETHEUS_PARAMS, "metricName", "metricVersion", "unit", "dimensions", "queries"),
)
SCHEDULING_THROUGHPUT_PROMETHEUS = Method(make=SchedulingThroughputPrometheus, params=(*PROMETHEUS_PARAMS, "threshold"))
