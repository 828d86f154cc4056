"""ChaosMonkey: nodes that fail from one step to another."""

import asyncio

from kubedyno.clusterloader.config import ChaosMonkey
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import UsageError


class LooseMonkey:
    """Lets nodes fail from `start` to `stop`; none of them twice, also when it is started again."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._failed: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    async def execute(self, params: Params) -> Result:
        """`start` lets it loose; `stop` ends it, and with it all that is down."""
        return await params.chosen("action", {"start": self._start, "stop": self._stop})(params)

    async def _start(self, params: Params) -> Result:
        if self._task is not None:
            raise UsageError(f"ChaosMonkey {self._identifier}: it is loose already; stop it first")
        monkey = ChaosMonkey(
            failure_rate=params.number("failureRate"),
            interval_s=params.duration_s("interval"),
            jitter_factor=params.number("jitterFactor", 0.0),
            simulated_downtime_s=params.duration_s("simulatedDowntime", "0s"),
        )
        if not 0 <= monkey.failure_rate <= 1:
            raise UsageError(f"ChaosMonkey {self._identifier}: failureRate is a share of all nodes, from 0 to 1")
        if monkey.interval_s <= 0 or monkey.jitter_factor < 0:
            raise UsageError(
                f"ChaosMonkey {self._identifier}: interval must be more than 0, and jitterFactor 0 or more"
            )
        self._task = self._scene.background.start(
            self._scene.unleash(monkey, self._failed), name=f"let nodes fail for {self._identifier}"
        )
        return DONE

    async def _stop(self, _: Params) -> Result:
        if self._task is None:
            raise UsageError(f"ChaosMonkey {self._identifier}: stop without a start before it")
        self._task.cancel()
        await asyncio.wait([self._task])
        self._task = None
        return DONE


CHAOS_MONKEY = Method(
    make=LooseMonkey, params=("action", "failureRate", "interval", "jitterFactor", "simulatedDowntime")
)
