"""ResourceUsageSummary: CPU and memory of the lab's processes, and whether they kept within their constraints."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kubedyno.clusterloader.language.documents import Document, NoYaml, read
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.reporting.components import ContainerUsage, Usage, resource_usage_json, usage_percentiles
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.kube.quantities import Quantity
from kubedyno.lab.scraping import FAR
from kubedyno.measure import host
from kubedyno.measure.columns import SeriesRow

_CHECKED = "99"


class ResourceUsageSummary:
    """Samples from `start` to `gather`. On the embedded engine all of it is one process."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._usage = host.Usage(scene.scraper.pids, scene.clock)
        self._sampling: asyncio.Task[None] | None = None
        self._constraints: Mapping[str, Any] = {}

    async def execute(self, params: Params) -> Result:
        """`start` begins to sample; `gather` tells percentiles, and what used more than it may."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        if not self._scene.scraper.is_near:
            return Result(skipped=FAR)
        path = params.text("resourceConstraints", "")
        self._constraints = self._read(path) if path else {}
        if self._sampling is None:
            self._sampling = self._scene.background.start(self._usage.follow(), name="sample CPU and memory")
        return DONE

    async def _gather(self, _: Params) -> Result:
        if not self._scene.scraper.is_near:
            return Result(skipped=FAR)
        if self._sampling is None:
            raise UsageError(f"ResourceUsageSummary {self._identifier}: gather without a start before it")
        self._sampling.cancel()
        self._sampling = None
        self._usage.sample()
        percentiles = usage_percentiles(samples_of(self._usage.rows))
        summary = Summary(name="ResourceUsageSummary", text=resource_usage_json(percentiles))
        return Result(summaries=(summary,), errors=tuple(violations(percentiles.get(_CHECKED, ()), self._constraints)))

    def _read(self, path: str) -> Mapping[str, Any]:
        try:
            found = read(Document(self._scene.render(path)))
        except NoYaml as error:
            raise UsageError(f"ResourceUsageSummary: {path} is no YAML: {error}") from error
        if not isinstance(found, dict):
            raise UsageError(f"ResourceUsageSummary: {path} is a mapping from components to their constraints")
        return found


def samples_of(rows: Sequence[SeriesRow]) -> dict[str, list[Usage]]:
    """What each component used between two looks at it: cores on the average, and bytes at the end."""
    looks: dict[str, dict[int, dict[str, float]]] = {}
    for row in rows:
        looks.setdefault(row.component or "", {}).setdefault(row.time_ns, {})[row.series] = row.value
    found: dict[str, list[Usage]] = {}
    for component, by_time in looks.items():
        for (before_ns, before), (after_ns, after) in pairwise(sorted(by_time.items())):
            used_s = after["cpu_s"] - before["cpu_s"]
            # A process that was started anew counts from zero again.
            cores = max(0.0, used_s) / ((after_ns - before_ns) / NS_PER_S)
            found.setdefault(f"{component}/{component}", []).append(Usage(cores, round(after["memory_bytes"])))
    return found


def violations(used: Sequence[ContainerUsage], constraints: Mapping[str, Any]) -> list[str]:
    """Who used more than its constraint, by the name of its container."""
    told = []
    for one in used:
        limit = constraints.get(one.name.rpartition("/")[2])
        if not isinstance(limit, dict):
            continue
        for field, figure, unit in (
            ("cpuConstraint", one.cpu_cores, "cores"),
            ("memoryConstraint", one.memory_bytes, "bytes"),
        ):
            if limit.get(field) is None:
                continue
            at_most = float(Quantity.parse(limit[field]).nanos) / NS_PER_S
            if figure > at_most:
                told.append(
                    f"{one.name}: the {_CHECKED}th percentile is {figure:g} {unit}, and {at_most:g} is the limit"
                )
    return told


RESOURCE_USAGE_SUMMARY = Method(
    make=ResourceUsageSummary, params=("action", "resourceConstraints", "host", "namespace", "nodeMode", "provider")
)
