"""APIResponsivenessPrometheus: how long API calls took, by verb, resource and scope, by what the API server counts."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.language.documents import Document, NoYaml, read
from kubedyno.clusterloader.measurements.measuring import Method, Result
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.queries import PROMETHEUS_PARAMS, FixedQueries, judged
from kubedyno.clusterloader.measurements.scraping import Queried
from kubedyno.clusterloader.reporting.perfdata import PERCENTS, DataItem, PerfData
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s
from kubedyno.measure.promql import Labels, Vector

_METRIC: Final = "apiserver_request_duration_seconds"
_FILTER: Final = 'verb!="WATCH", subresource!~"log|exec|portforward|attach|proxy"'
_BY: Final = ("resource", "subresource", "scope", "verb")
_GROUP: Final = f"by ({', '.join(_BY)})"
_BUCKETS: Final = f"by ({', '.join(_BY)}, le)"
_WHOLE: Final = (
    "histogram_quantile({quantile}, sum(rate(" + _METRIC + "_bucket{{" + _FILTER + "}}[%v])) " + _BUCKETS + ")"
)
"""One quantile over all the time."""
_BY_MINUTE: Final = (
    "quantile_over_time(0.99, histogram_quantile({quantile}, sum(rate("
    + _METRIC
    + "_bucket{{"
    + _FILTER
    + "}}[1m])) "
    + _BUCKETS
    + ")[%v:30s])"
)
"""The worst but one in a hundred of the quantiles of all minutes, as a recorded rule has them elsewhere."""
_FIRST_S: Final = 300.0
_LAST_S: Final = 60.0
"""By minutes, the first five are left out, but never the last one."""
_COUNT: Final = f"sum(increase({_METRIC}_count{{{_FILTER}}}[%v])) {_GROUP}"
_FAST: Final = tuple(
    f"sum(increase({_METRIC}_bucket{{{_FILTER}, {which}}}[%v])) {_GROUP}"
    # Prometheus 3 writes the bounds of buckets as floats, whatever a component writes.
    for which in (
        'verb!="LIST", le=~"1|1[.]0"',
        'verb="LIST", scope!="cluster", le=~"5|5[.]0"',
        'verb="LIST", scope="cluster", le=~"30|30[.]0"',
    )
)
"""Calls that are not slow."""
_OTHER_LIMIT_S: Final = 30.0
_CHECKED: Final = 99

Key = tuple[str, ...]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """All requests of one kind."""

    labels: Mapping[str, str]
    quantiles_s: Mapping[int, float]
    count: int
    slow: int

    @property
    def item(self) -> DataItem:
        """As perfdash reads it."""
        spelt = {name.capitalize(): self.labels.get(name, "") for name in _BY}
        return DataItem(
            data={f"Perc{percent}": quantile_s * 1000 for percent, quantile_s in self.quantiles_s.items()},
            unit="ms",
            labels={**spelt, "Count": str(self.count), "SlowCount": str(self.slow)},
        )

    def __str__(self) -> str:
        words = " ".join(self.labels[name] for name in ("verb", "resource", "subresource") if self.labels.get(name))
        return f"{words} ({self.labels.get('scope', '')})"


class APIResponsivenessPrometheus(FixedQueries):
    """The latencies of API calls from `start` to `gather`, and which were too long."""

    method = "APIResponsivenessPrometheus"
    queries = (_WHOLE.format(quantile=0.5), _COUNT, *_FAST)

    async def _told(self, queried: Queried, params: Params) -> Result:
        calls = await self._calls(queried, is_simple=params.flag("useSimpleLatencyQuery", default=False))
        if not calls:
            return Result(
                skipped="no API calls were counted: nobody scrapes the API server, or too little time has passed"
            )
        limits = _Limits(params)
        violations = [
            f"{call}: the {_CHECKED}th percentile is {call.quantiles_s[_CHECKED]:.3f} s, and {limit_s:g} s is the limit"
            for call in calls
            if call.quantiles_s.get(_CHECKED, 0.0) > (limit_s := limits.of(call.labels))
            and not (limits.slow_calls and call.slow <= limits.slow_calls)
        ]
        text = PerfData(version="v1", items=tuple(call.item for call in calls)).json()
        name = params.text("summaryName", self.method)
        return judged(violations, params, Summary(name=name, text=text))

    @staticmethod
    async def _calls(queried: Queried, *, is_simple: bool) -> list[Call]:
        counts = _by_key(await queried.ask(_COUNT))
        fast: dict[Key, float] = {}
        for query in _FAST:
            fast |= _by_key(await queried.ask(query))
        latency = _WHOLE if is_simple else _BY_MINUTE
        times = {} if is_simple else {"without_s": _FIRST_S, "at_least_s": _LAST_S}
        quantiles = {
            percent: _by_key(await queried.ask(latency.format(quantile=percent / 100), **times)) for percent in PERCENTS
        }
        return [
            Call(
                labels=dict(zip(_BY, key, strict=True)),
                quantiles_s={percent: found[key] for percent, found in quantiles.items() if found.get(key, -1.0) >= 0},
                count=round(count),
                slow=max(0, round(count - fast.get(key, count))),
            )
            for key, count in sorted(counts.items())
            if round(count) >= 1
        ]


class _Limits:
    """What calls may take, in seconds."""

    def __init__(self, params: Params) -> None:
        self.slow_calls = params.whole("allowedSlowCalls", 0)
        self._resource_s = params.duration_s("singleResourceThreshold", "1s")
        self._custom = [_custom(params, entry) for entry in _listed(params)]

    def of(self, labels: Mapping[str, str]) -> float:
        for wanted, limit_s in self._custom:
            if all(labels.get(name, "") == value for name, value in wanted.items()):
                return limit_s
        return self._resource_s if labels.get("scope") == "resource" else _OTHER_LIMIT_S


def _listed(params: Params) -> list[Any]:
    """`customThresholds`, which is YAML in a text."""
    try:
        found = read(Document(params.text("customThresholds", "")))
    except NoYaml as error:
        raise UsageError(f"APIResponsivenessPrometheus: customThresholds is no YAML: {error}") from error
    if found is None:
        return []
    if not isinstance(found, list):
        raise UsageError("APIResponsivenessPrometheus: customThresholds is a list of verb, resource, scope, threshold")
    return found


def _custom(params: Params, entry: Any) -> tuple[Mapping[str, str], float]:
    given = params.below("customThresholds", entry if isinstance(entry, dict) else {})
    labels = {name: given.text(name, "") for name in _BY}
    return labels, parse_duration_s(given.text("threshold"))


def _by_key(answer: Vector) -> dict[Key, float]:
    return {_key(sample.labels): sample.value for sample in answer}


def _key(labels: Labels) -> Key:
    return tuple(labels.get(name, "") for name in _BY)


API_RESPONSIVENESS = Method(
    make=APIResponsivenessPrometheus,
    params=(
        *(*PROMETHEUS_PARAMS, "useSimpleLatencyQuery", "summaryName", "allowedSlowCalls", "customThresholds"),
        "singleResourceThreshold",
    ),
)
