"""PodStartupLatency: how long pods take from being seen to running, by when the news arrives here."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

import msgspec

from kubedyno.client.informer import Change
from kubedyno.client.shaping import Metadata, Shape
from kubedyno.clusterloader.measurements.following import Follower, follow
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params
from kubedyno.clusterloader.reporting import thresholds
from kubedyno.clusterloader.reporting.perfdata import PerfData, latency_item
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.clusterloader.reporting.thresholds import Limit
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS

TRANSITIONS: Final[Mapping[str, tuple[str, str]]] = {
    "create_to_schedule": ("create", "schedule"),
    "schedule_to_run": ("schedule", "run"),
    "run_to_watch": ("run", "watch"),
    "schedule_to_watch": ("schedule", "watch"),
    "pod_startup": ("create", "watch"),
    "create_to_run": ("create", "run"),
}
CHECKED: Final = "pod_startup"
_STATELESS: Final = frozenset({"name", "emptyDir", "downwardAPI", "configMap", "secret", "projected"})
"""What a volume of a pod without state may be."""


class _Spec(TypedDict, total=False):
    nodeName: Any
    volumes: Any


class _Status(TypedDict, total=False):
    phase: Any


class _Pod(TypedDict, total=False):
    metadata: Metadata
    spec: _Spec
    status: _Status


_SHAPE: Final = Shape(_Pod)


class Way(msgspec.Struct):
    """What was seen of one pod, when; ns."""

    is_stateful: bool
    seen: dict[str, int]


class PodStartupLatency:
    """Follows pods from `start` on."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._ways: dict[str, Way] = {}
        self._follower: Follower | None = None
        self._limits: tuple[Limit, ...] = ()

    async def execute(self, params: Params) -> Result:
        """`start` follows the pods of a selector; `gather` tells how long they took, and whether that was too long."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        if self._follower is not None:
            return DONE  # started already, as upstream has it
        self._limits = thresholds.of_percentiles(CHECKED, params, default="5s")
        self._follower = await follow(self._scene, PODS, params.selector, on_change=self._changed, shape=_SHAPE)
        return DONE

    async def _gather(self, _: Params) -> Result:
        if self._follower is None:
            raise UsageError(f"PodStartupLatency {self._identifier}: gather without a start before it")
        await self._follower.stop()
        self._follower = None
        ways, self._ways = tuple(self._ways.values()), {}
        groups = {
            "PodStartupLatency": ways,
            "StatelessPodStartupLatency": [way for way in ways if not way.is_stateful],
            "StatefulPodStartupLatency": [way for way in ways if way.is_stateful],
        }
        summaries = [
            Summary(
                name=f"{name}_{self._identifier}",
                text=PerfData(
                    version="1.0",
                    items=tuple(latency_item(took_s(group, metric), metric) for metric in TRANSITIONS),
                ).json(),
            )
            for name, group in groups.items()
        ]
        errors = thresholds.violations(self._limits, took_s(ways, CHECKED))
        return Result(summaries=tuple(summaries), errors=errors)

    def _changed(self, change: Change) -> None:
        pod = change.new
        if pod is None:
            return
        uid = pod["metadata"]["uid"]
        way = self._ways.get(uid)
        if way is None:
            way = self._ways[uid] = Way(is_stateful(pod), {"create": change.monotonic_ns})
        if pod.get("spec", {}).get("nodeName"):
            way.seen.setdefault("schedule", change.monotonic_ns)
        if pod.get("status", {}).get("phase") == "Running":
            way.seen.setdefault("run", change.monotonic_ns)
            way.seen.setdefault("watch", change.monotonic_ns)


def is_stateful(pod: Object) -> bool:
    """Whether it has a volume that outlives it."""
    volumes = pod.get("spec", {}).get("volumes") or ()
    return any(not volume.keys() <= _STATELESS for volume in volumes)


def took_s(ways: Iterable[Way], metric: str) -> list[float]:
    """What each pod took that went all of that way, in seconds."""
    since, until = TRANSITIONS[metric]
    return [(way.seen[until] - way.seen[since]) / NS_PER_S for way in ways if since in way.seen and until in way.seen]


POD_STARTUP_LATENCY = Method(
    make=PodStartupLatency,
    params=(
        *("action", "schedulerName", "mapEventsByOrder", *SELECTOR_PARAMS),
        *thresholds.PARAMS,
    ),
)
