"""GenericPrometheusQuery and SchedulingThroughputPrometheus: figures by queries, whoever answers them."""

import abc
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.measurements.measuring import Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.scraping import Queried, queried
from kubedyno.clusterloader.reporting.perfdata import DataItem, PerfData, indented
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.errors import UsageError

_BINDINGS: Final = (
    'max_over_time(sum(irate(apiserver_request_total{verb="POST", resource="pods", subresource="binding", '
    'code="201"}[1m]))[%v:5s])'
)
_PERCENT: Final = re.compile(r"Perc([0-9]+(?:[.][0-9]+)?)")
_ALL_PERCENT: Final = 100
_OVER_TIME: Final = {
    "Max": "max_over_time",
    "Min": "min_over_time",
    "Avg": "avg_over_time",
    "Last": "last_over_time",
}
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
    def read(cls, params: Params) -> list["Query"]:
        """From one entry of `queries`: one figure, or one for each of its `aggregations` over the time of the test."""
        aggregations = [str(one) for one in params.listed("aggregations", [])]
        plain = cls(
            name=params.text("name", "" if aggregations else None),
            text=params.text("query"),
            threshold=params.number("threshold") if "threshold" in params else None,
            is_lower_bound=params.flag("lowerBound", default=False),
            requires_samples=params.flag("requireSamples", default=False),
        )
        return [plain.over_time(one) for one in aggregations] or [plain]

    def over_time(self, aggregation: str) -> "Query":
        """What its values from beginning to end come to, by one of upstream's words: Perc99, Max, Min, Avg, Last."""
        percent = _PERCENT.fullmatch(aggregation)
        if percent is not None and float(percent[1]) <= _ALL_PERCENT:
            function = f"quantile_over_time({float(percent[1]) / _ALL_PERCENT:g}, "
        elif aggregation in _OVER_TIME:
            function = f"{_OVER_TIME[aggregation]}("
        else:
            raise UsageError(
                f"GenericPrometheusQuery: {aggregation!r} is no aggregation: write Perc99 or another percentile, or "
                f"one of {', '.join(_OVER_TIME)}"
            )
        return msgspec.structs.replace(
            self,
            name=f"{self.name}_{aggregation}" if self.name else aggregation,
            # On a line of its own, for the query may end in a comment.
            text=f"{function}({self.text}\n)[%v:30s])",
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
        self._missing = ""

    async def execute(self, params: Params) -> Result:
        """`start` begins to look, `gather` asks the queries."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        self._metric = params.text("metricName"), params.text("metricVersion"), params.text("unit")
        self._dimensions = tuple(str(one) for one in params.listed("dimensions", []))
        self._queries = [
            one for entry in params.listed("queries") for one in Query.read(params.below("queries", entry))
        ]
        self._queried = queried(self._scene, *(query.text for query in self._queries))
        self._missing = await self._queried.begin()
        return Result(skipped=self._missing)

    async def _gather(self, params: Params) -> Result:
        if self._queried is None:
            raise UsageError(f"GenericPrometheusQuery {self._identifier}: gather without a start before it")
        if self._missing:
            required = [query.name for query in self._queries if query.requires_samples]
            if required:
                return Result(errors=(f"{', '.join(required)}: there are no samples: {self._missing}",))
            return Result(skipped=self._missing)
        await self._queried.freshen()
        name, version, unit = self._metric
        found: dict[tuple[str, ...], dict[str, float]] = {}
        violations: list[str] = []
        empty: list[str] = []
        for query in self._queries:
            answer = await self._queried.ask(query.text)
            if not answer and not query.requires_samples:
                empty.append(f"GenericPrometheusQuery {name}: {query.name}: there are no samples")
            for sample in answer:
                key = tuple(sample.labels.get(dimension, "") for dimension in self._dimensions)
                figures = found.setdefault(key, {})
                if query.name in figures:
                    violations.append(
                        f"{query.name}: there are {figures[query.name]:g} and {sample.value:g} for the same dimensions"
                        ": name more of them, or aggregate"
                    )
                else:
                    figures[query.name] = sample.value
            violations += query.violations([sample.value for sample in answer])
        items = tuple(
            DataItem(data=data, unit=unit, labels=dict(zip(self._dimensions, key, strict=True)))
            for key, data in sorted(found.items())
        )
        text = PerfData(version=version, items=items).json()
        told = judged(violations, params, Summary(name=f"GenericPrometheusQuery {name}", text=text))
        return msgspec.structs.replace(told, remarks=(*told.remarks, *empty, *self._queried.remarks))


class FixedQueries(abc.ABC):
    """A measurement whose queries are always the same: looked at from `start` on, asked at `gather`."""

    method = ""
    queries: tuple[str, ...] = ()

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._queried: Queried | None = None
        self._missing = ""

    async def execute(self, params: Params) -> Result:
        """`start` begins to look, `gather` tells the figures, and what is wrong with them."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    @abc.abstractmethod
    async def _told(self, queried: Queried, params: Params) -> Result:
        """What the answers come to."""

    async def _start(self, _: Params) -> Result:
        self._queried = queried(self._scene, *self.queries)
        self._missing = await self._queried.begin()
        return Result(skipped=self._missing)

    async def _gather(self, params: Params) -> Result:
        if self._queried is None:
            raise UsageError(f"{self.method} {self._identifier}: gather without a start before it")
        if self._missing:
            return Result(skipped=self._missing)
        await self._queried.freshen()
        told = await self._told(self._queried, params)
        return msgspec.structs.replace(told, remarks=(*told.remarks, *self._queried.remarks))


class SchedulingThroughputPrometheus(FixedQueries):
    """The highest rate of bindings, by what the API server counts, and whether it was too low."""

    method = "SchedulingThroughputPrometheus"
    queries = (_BINDINGS,)

    async def _told(self, queried: Queried, params: Params) -> Result:
        answer = await queried.ask(_BINDINGS)
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
