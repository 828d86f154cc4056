"""SchedulingThroughput: how many pods were bound in each interval."""

import asyncio
from typing import Any, Final, TypedDict

from kubedyno.client.informer import Change
from kubedyno.client.shaping import Metadata, Shape
from kubedyno.clusterloader.measurements.following import Follower, follow
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params
from kubedyno.clusterloader.reporting import perfdata
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import PODS


class _Spec(TypedDict, total=False):
    nodeName: Any


class _Pod(TypedDict, total=False):
    metadata: Metadata
    spec: _Spec


_SHAPE: Final = Shape(_Pod)
_INTERVAL: Final = "measurmentInterval"
"""Spelt as ClusterLoader2 does."""


class SchedulingThroughput:
    """Counts bound pods from `start` to `gather`."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._bound: set[str] = set()
        self._rates: list[float] = []
        self._follower: Follower | None = None
        self._counting: asyncio.Task[None] | None = None

    async def execute(self, params: Params) -> Result:
        """`start` counts the pods of a selector; `gather` tells the rates, and whether the highest was too low."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        if self._follower is not None:
            return DONE
        interval_s = params.duration_s(_INTERVAL, "5s")
        if interval_s <= 0:
            raise UsageError(f"SchedulingThroughput {self._identifier}: {_INTERVAL} must be more than 0")
        self._follower = await follow(self._scene, PODS, params.selector, on_change=self._changed, shape=_SHAPE)
        self._counting = self._scene.background.start(
            self._count(interval_s), name=f"count bound pods for {self._identifier}"
        )
        return DONE

    async def _gather(self, params: Params) -> Result:
        if self._follower is None or self._counting is None:
            raise UsageError(f"SchedulingThroughput {self._identifier}: gather without a start before it")
        self._counting.cancel()
        await asyncio.wait([self._counting])
        await self._follower.stop()
        self._follower = None
        rates, self._rates = self._rates, []
        self._bound.clear()
        summary = Summary(name="SchedulingThroughput", text=perfdata.throughput_json(rates))
        at_least = params.number("threshold", 0.0)
        best = max(rates, default=0.0)
        if not at_least or best >= at_least or not params.flag("enableViolations", default=True):
            return Result(summaries=(summary,))
        told = f"scheduler throughput: {best:g} pods/s at most, and {at_least:g} are asked for"
        return Result(summaries=(summary,), errors=(told,))

    def _changed(self, change: Change) -> None:
        pod = change.new
        if pod is not None and pod.get("spec", {}).get("nodeName"):
            self._bound.add(pod["metadata"]["uid"])

    async def _count(self, interval_s: float) -> None:
        """One rate each interval; times are absolute, and rates are by the time that has really passed."""
        clock = self._scene.clock
        counted, last_ns = len(self._bound), clock.monotonic_ns()
        due_ns = last_ns
        while True:
            due_ns += round(interval_s * NS_PER_S)
            await clock.sleep(max(0.0, (due_ns - clock.monotonic_ns()) / NS_PER_S))
            now_ns, bound = clock.monotonic_ns(), len(self._bound)
            self._rates.append((bound - counted) / ((now_ns - last_ns) / NS_PER_S))
            counted, last_ns = bound, now_ns


SCHEDULING_THROUGHPUT = Method(
    make=SchedulingThroughput, params=("action", _INTERVAL, "threshold", "enableViolations", *SELECTOR_PARAMS)
)
