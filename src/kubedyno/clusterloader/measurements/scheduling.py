"""SchedulingMetrics: how long a kube-scheduler says that it took, from its own histograms.

PrometheusSchedulingMetrics is the same, as long as no Prometheus server answers: pages tell exactly what queries guess.
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Final

from kubedyno.clusterloader.measurements.measuring import DONE, Measurement, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.queries import PROMETHEUS_PARAMS, FixedQueries
from kubedyno.clusterloader.measurements.scraping import Queried, unavailable
from kubedyno.clusterloader.reporting.components import EXTENSION_POINTS, SchedulingMetrics, quantiles
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.lab.scraping import FAR, Page
from kubedyno.measure.histograms import Histogram, together
from kubedyno.measure.histograms import Page as Figures
from kubedyno.measure.promql import Vector

_PROGRAM: Final = "kube-scheduler"
_POINT: Final = "scheduler_framework_extension_point_duration_seconds"
_OTHERS: Final = {
    "e2e_scheduling_latency": "scheduler_pod_scheduling_sli_duration_seconds",
    "scheduling_latency": "scheduler_scheduling_algorithm_duration_seconds",
    "preemption_evaluation_latency": "scheduler_scheduling_algorithm_preemption_evaluation_seconds",
}
_UNAVAILABLE: Final = (
    "no scheduler of this lab serves kube-scheduler's metrics; use --engine local with --scheduler kube-scheduler"
)

Histograms = Mapping[str, Histogram]
"""By extension point, or by the field of the summary."""


class MeasureScheduling:
    """Counts from `start` or `reset` to `gather`."""

    def __init__(self, name: str, scene: Scene, *, far: str = FAR) -> None:
        """`name` is that of the summary; `far` is told of a scheduler that cannot be asked from here."""
        self._name = name
        self._scene = scene
        self._unavailable = _UNAVAILABLE if scene.scraper.is_near else far
        self._before: Histograms = {}

    async def execute(self, params: Params) -> Result:
        """`start` and `reset` begin to count, `gather` tells what came since."""
        action = params.chosen("action", {name: name for name in ("reset", "start", "gather")})
        pages = [page for page in await self._scene.scraper.pages() if page.program == _PROGRAM]
        if not pages:
            return Result(skipped=self._unavailable)
        problems = tuple(f"{page.component}: {page.problem}" for page in pages if page.problem)
        if problems:
            return Result(errors=problems)
        now = histograms(pages)
        if action != "gather":
            self._before = now
            return DONE
        since = {name: one.since(self._before[name]) if name in self._before else one for name, one in now.items()}
        return Result(summaries=(Summary(name=self._name, text=told(since).json()),))


class QueriedScheduling(FixedQueries):
    """What a Prometheus server knows of the scheduler from `start` to `gather`."""

    method = "PrometheusSchedulingMetrics"

    async def _told(self, queried: Queried, params: Params) -> Result:
        del params
        counted: dict[str, Histogram] = {}
        for name, metric, which in (
            *((point, _POINT, f'{{extension_point="{point}"}}') for point in EXTENSION_POINTS),
            *((field, metric, "") for field, metric in _OTHERS.items()),
        ):
            counted[name] = gained(await queried.ask(f"sum(increase({metric}_bucket{which}[%v])) by (le)"))
        if not any(one.count for one in counted.values()):
            return Result(skipped="no metrics of kube-scheduler are there for this time: let Prometheus scrape it")
        return Result(summaries=(Summary(name=f"{self._identifier}_{self.method}", text=told(counted).json()),))


def gained(buckets: Vector) -> Histogram:
    """From cumulated counts by bound. They never fall: a bucket holds all that those before it hold."""
    cumulated = {float(sample.labels["le"]): sample.value for sample in buckets if "le" in sample.labels}
    bounds = tuple(sorted(cumulated))
    sums = list(accumulate((cumulated[bound] for bound in bounds), max))
    return Histogram(bounds, tuple(after - before for before, after in pairwise((0.0, *sums))))


def histograms(pages: Iterable[Page]) -> Histograms:
    """All that is told, of all schedulers and profiles together."""
    figures = [Figures(page.text) for page in pages]

    def of_point(name: str) -> Histogram:
        return together(
            page.histogram(_POINT, lambda labels: labels.get("extension_point") == name) for page in figures
        )

    found = {name: of_point(name) for name in EXTENSION_POINTS}
    return found | {field: together(page.histogram(metric) for page in figures) for field, metric in _OTHERS.items()}


def told(counted: Histograms) -> SchedulingMetrics:
    """The summary."""
    return SchedulingMetrics(
        extension_points={name: quantiles(counted[name]) for name in EXTENSION_POINTS},
        **{field: quantiles(counted[field]) for field in _OTHERS},
    )


SCHEDULING_METRICS = Method(
    make=lambda _, scene: MeasureScheduling("SchedulingMetrics", scene), params=("action", "masterIP", "masterName")
)


def _by_queries_or_pages(identifier: str, scene: Scene) -> Measurement:
    if scene.prometheus is not None:
        return QueriedScheduling(identifier, scene)
    return MeasureScheduling(f"{identifier}_{QueriedScheduling.method}", scene, far=unavailable(scene.scraper))


PROMETHEUS_SCHEDULING_METRICS = Method(make=_by_queries_or_pages, params=PROMETHEUS_PARAMS)
