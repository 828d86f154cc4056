"""EtcdMetrics and MetricsForE2E: what components say of themselves, in the shapes that readers know."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.scraping import UNAVAILABLE
from kubedyno.clusterloader.reporting.components import EtcdMetrics, Series, series
from kubedyno.clusterloader.reporting.perfdata import indented
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.errors import UsageError
from kubedyno.lab.scraping import FAR, Page
from kubedyno.measure.histograms import Page as Figures
from kubedyno.measure.promql import NAME, exposition

_ETCD: Final = "etcd"
_SIZE: Final = "etcd_mvcc_db_total_size_in_bytes"
_HISTOGRAMS: Final = {
    "backend_commit_duration": "etcd_disk_backend_commit_duration_seconds",
    "snapshot_save_total_duration": "etcd_debugging_snap_save_total_duration_seconds",
    "peer_round_trip_time": "etcd_network_peer_round_trip_time_seconds",
    "wal_fsync_duration": "etcd_disk_wal_fsync_duration_seconds",
}
_NO_ETCD: Final = "this lab has no etcd; use --engine local"
_E2E: Final = {
    "kube-apiserver": "APIServerMetrics",
    "kube-controller-manager": "ControllerManagerMetrics",
    "kube-scheduler": "SchedulerMetrics",
}


class MeasureEtcd:
    """Looks at etcd's size from `start` to `gather`, and at its histograms at the end."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._largest_bytes = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def execute(self, params: Params) -> Result:
        """`start` begins to look every `waitTime`, `gather` tells."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        every_s = params.duration_s("waitTime", "1m")
        if every_s <= 0:
            raise UsageError(f"EtcdMetrics {self._identifier}: waitTime must be more than 0")
        if not await self._look():
            return self._skipped()
        self._looking = self._scene.background.start(self._keep_looking(every_s), name="look at etcd's size")
        return DONE

    async def _gather(self, _: Params) -> Result:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        pages = await self._look()
        if not pages:
            return self._skipped()
        found = {field: tuple(_series(pages, metric)) for field, metric in _HISTOGRAMS.items()}
        text = EtcdMetrics(max_database_size_bytes=self._largest_bytes, **found).json()
        return Result(summaries=(Summary(name="EtcdMetrics", text=text),))

    def _skipped(self) -> Result:
        return Result(skipped=_NO_ETCD if self._scene.scraper.is_near else FAR)

    async def _keep_looking(self, every_s: float) -> None:
        while True:
            await self._scene.clock.sleep(every_s)
            await self._look()

    async def _look(self) -> list[Page]:
        pages = [page for page in await self._scene.scraper.pages() if page.program == _ETCD and not page.problem]
        for page in pages:
            self._largest_bytes = max(self._largest_bytes, Figures(page.text).counter(_SIZE))
        return pages


def _series(pages: Iterable[Page], metric: str) -> Iterable[Series]:
    """Of each member one, told apart by its name."""
    for page in pages:
        yield from series(Figures(page.text).histogram(metric), {"instance": page.component})


class MetricsForE2E:
    """All that the components of the control plane serve, at the time of `gather`."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        del identifier
        self._scene = scene

    async def execute(self, params: Params) -> Result:
        """`start` does nothing; `gather` tells."""
        if params.chosen("action", {"start": False, "gather": True}):
            return await self._gather()
        return DONE

    async def _gather(self) -> Result:
        pages = [page for page in await self._scene.scraper.pages() if page.program in _E2E]
        if not pages:
            return Result(skipped=UNAVAILABLE if self._scene.scraper.is_near else FAR)
        problems = tuple(f"{page.component}: {page.problem}" for page in pages if page.problem)
        told: dict[str, dict[str, list[Mapping[str, Any]]]] = {part: {} for part in _E2E.values()}
        for page in pages:
            part = told[_E2E[page.program]]
            for _, written, rest in exposition.lines(page.text):
                labels, (value, _) = exposition.labels(written), exposition.reading(rest)
                part.setdefault(labels[NAME], []).append({"metric": labels, "value": [0, f"{value:g}"]})
        summary = Summary(name="MetricsForE2E", text=indented(told))
        return Result(summaries=(summary,), errors=problems)


ETCD_METRICS = Method(make=MeasureEtcd, params=("action", "waitTime", "host", "provider", "nodeCount"))
METRICS_FOR_E2E = Method(make=MetricsForE2E, params=("action", "gatherKubeletsMetrics", "provider"))
