"""TestMetrics: several measurements under one name."""

from collections.abc import Mapping
from typing import Final

from kubedyno.clusterloader.measurements.components import ETCD_METRICS, METRICS_FOR_E2E
from kubedyno.clusterloader.measurements.measuring import Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.scheduling import SCHEDULING_METRICS
from kubedyno.clusterloader.measurements.usage import RESOURCE_USAGE_SUMMARY

_PARTS: Final[Mapping[str, Method]] = {
    "EtcdMetrics": ETCD_METRICS,
    "MetricsForE2E": METRICS_FOR_E2E,
    "ResourceUsageSummary": RESOURCE_USAGE_SUMMARY,
    "SchedulingMetrics": SCHEDULING_METRICS,
}
_LEFT_OUT: Final = "profiles, system pods and containers that were killed for memory are left out here"


class TestMetrics:
    """Each of its parts gets all parameters; what one cannot measure is said, and the others go on."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._parts = {name: method.make(identifier, scene) for name, method in _PARTS.items()}

    async def execute(self, params: Params) -> Result:
        """`start` and `gather` of all parts, one after the other."""
        results = {name: await part.execute(params) for name, part in self._parts.items()}
        skipped = [f"{name} was skipped: {one.skipped}" for name, one in results.items() if one.skipped]
        remarks = [remark for one in results.values() for remark in one.remarks]
        return Result(
            summaries=tuple(summary for one in results.values() for summary in one.summaries),
            errors=tuple(f"{name}: {error}" for name, one in results.items() for error in one.errors),
            remarks=(*remarks, *(f"TestMetrics: {one}" for one in (*skipped, _LEFT_OUT))),
        )


TEST_METRICS = Method(
    make=TestMetrics,
    params=(
        *dict.fromkeys(name for method in _PARTS.values() for name in method.params),
        *("systemPodMetricsEnabled", "clusterOOMsTrackerEnabled", "clusterOOMsIgnoredProcesses"),
        *("restartCountThresholdOverrides", "enableRestartCountCheck"),
    ),
)
