"""Sleep and Timer."""

from collections.abc import Mapping

from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.reporting.perfdata import DataItem, PerfData
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError


class Sleep:
    """Lets time pass."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        del identifier
        self._clock = scene.clock

    async def execute(self, params: Params) -> Result:
        """Return after `duration`."""
        await self._clock.sleep(params.duration_s("duration"))
        return DONE


class Timer:
    """A stop-watch with any number of hands, told apart by labels."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._clock = scene.clock
        self._begun_ns: dict[str, int] = {}
        self._took_s: dict[str, float] = {}

    async def execute(self, params: Params) -> Result:
        """`start` and `stop` of a `label`; `gather` tells all that were stopped."""
        actions = {"start": self._start, "stop": self._stop, "gather": self._gather}
        return params.chosen("action", actions)(params)

    def _start(self, params: Params) -> Result:
        self._begun_ns[params.text("label")] = self._clock.monotonic_ns()
        return DONE

    def _stop(self, params: Params) -> Result:
        label = params.text("label")
        if label not in self._begun_ns:
            raise UsageError(f"Timer {self._identifier}: {label} is stopped, but was not started")
        took_ns = self._clock.monotonic_ns() - self._begun_ns.pop(label)
        self._took_s[label] = took_ns / NS_PER_S
        return DONE

    def _gather(self, _: Params) -> Result:
        took: Mapping[str, float] = dict(self._took_s)
        data = PerfData(version="v1", items=(DataItem(data=took, unit="s", labels={"test": "phases"}),))
        return Result(summaries=(Summary(name="Timer", text=data.json()),))


SLEEP = Method(make=Sleep, params=("duration",))
TIMER = Method(make=Timer, params=("action", "label"))
