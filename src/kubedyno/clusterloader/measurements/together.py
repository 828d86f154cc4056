"""TestMetrics and SLOMeasurement: several measurements under one name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.measurements.components import ETCD_METRICS, METRICS_FOR_E2E
from kubedyno.clusterloader.measurements.measuring import Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.profiles import ALONG
from kubedyno.clusterloader.measurements.queries import SCHEDULING_THROUGHPUT_PROMETHEUS
from kubedyno.clusterloader.measurements.refused import REFUSED
from kubedyno.clusterloader.measurements.scheduling import SCHEDULING_METRICS
from kubedyno.clusterloader.measurements.system_pods import SYSTEM_POD_METRICS
from kubedyno.clusterloader.measurements.usage import RESOURCE_USAGE_SUMMARY
from kubedyno.lab.profiling import PROFILED

_OVERRIDES: Final = "overrides"
_OOMS: Final = "ClusterOOMsTracker"
_OOMS_ENABLED: Final = "clusterOOMsTrackerEnabled"
_DNS: Final = "DnsLookupLatency"
_THROUGHPUT: Final = "SchedulingThroughputPrometheus"


class _Part(msgspec.Struct, frozen=True):
    method: Method
    given: Mapping[str, str] = {}
    """Parameters of its own."""
    called: str = ""
    """With others of its kind; empty: it has a name of its own."""


_OF_TEST_METRICS: Final[Mapping[str, _Part]] = {
    "EtcdMetrics": _Part(ETCD_METRICS),
    "MetricsForE2E": _Part(METRICS_FOR_E2E),
    "ResourceUsageSummary": _Part(RESOURCE_USAGE_SUMMARY),
    "SchedulingMetrics": _Part(SCHEDULING_METRICS),
    **{
        f"{name} of {program}": _Part(method, {"componentName": program}, f"profiles of {program}")
        for program in PROFILED
        for name, method in ALONG.items()
    },
    "SystemPodMetrics": _Part(SYSTEM_POD_METRICS),
}


class TestMetrics:
    """Each of its parts gets all parameters; what one cannot measure is said, and the others go on."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._parts = {name: part.method.make(identifier, scene) for name, part in _OF_TEST_METRICS.items()}

    async def execute(self, params: Params) -> Result:
        """`start` and `gather` of all parts, one after the other."""
        is_gathering = params.chosen("action", {"start": False, "gather": True})
        results = {
            name: await part.execute(params.also(_OF_TEST_METRICS[name].given)) for name, part in self._parts.items()
        }
        # What was skipped is known from the start, and told once.
        left_out = list(_skipped(results)) if is_gathering else []
        if is_gathering and params.flag(_OOMS_ENABLED, default=False):
            left_out.append(f"{_OOMS} is left out: {REFUSED[_OOMS]}")
        return _together("TestMetrics", results, left_out)


class SLOMeasurement:
    """SchedulingThroughputPrometheus with parameters of its own; DnsLookupLatency is left out, and it says so."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._throughput = SCHEDULING_THROUGHPUT_PROMETHEUS.make(identifier, scene)

    async def execute(self, params: Params) -> Result:
        """`start` and `gather`; `overrides` holds parameters by method."""
        given = params.below(_OVERRIDES, params.mapping(_OVERRIDES, {}))
        own: Mapping[str, Any] = given.mapping(_THROUGHPUT, {})
        result = await self._throughput.execute(params.also(own))
        is_gathering = params.chosen("action", {"start": False, "gather": True})
        left_out = [f"{_DNS} is left out: {REFUSED[_DNS]}"] if is_gathering else []
        told = _together("SLOMeasurement", {_THROUGHPUT: result}, left_out)
        return msgspec.structs.replace(told, skipped=result.skipped)


def _together(name: str, results: Mapping[str, Result], left_out: Iterable[str]) -> Result:
    """What all parts came to."""
    remarks = [remark for one in results.values() for remark in one.remarks]
    return Result(
        summaries=tuple(summary for one in results.values() for summary in one.summaries),
        errors=tuple(f"{part}: {error}" for part, one in results.items() for error in one.errors),
        remarks=(*remarks, *(f"{name}: {one}" for one in left_out)),
    )


def _skipped(results: Mapping[str, Result]) -> Iterator[str]:
    """Which parts of TestMetrics were not measured, those with the same reason together."""
    by_reason: dict[str, dict[str, None]] = {}
    for name, one in results.items():
        if one.skipped:
            by_reason.setdefault(one.skipped, {})[_OF_TEST_METRICS[name].called or name] = None
    for reason, names in by_reason.items():
        is_one = len(names) == 1 and "profiles" not in next(iter(names))
        yield f"{', '.join(names)} {'was' if is_one else 'were'} skipped: {reason}"


TEST_METRICS = Method(
    make=TestMetrics,
    params=(
        *dict.fromkeys(name for part in _OF_TEST_METRICS.values() for name in part.method.params),
        *(_OOMS_ENABLED, "clusterOOMsIgnoredProcesses"),
    ),
)
SLO_MEASUREMENT = Method(make=SLOMeasurement, params=(*SCHEDULING_THROUGHPUT_PROMETHEUS.params, _OVERRIDES))
