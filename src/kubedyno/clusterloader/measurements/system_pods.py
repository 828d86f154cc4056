"""SystemPodMetrics: containers of kube-system that were started anew, and whether that was too often."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.language.documents import Document, NoYaml, read
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.reporting.pods import SystemContainer, SystemPod, restart_reason, system_pods_json
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS

_NAMESPACE: Final = "kube-system"
_ENABLED: Final = "systemPodMetricsEnabled"
_CHECKED: Final = "enableRestartCountCheck"
_LIMITS: Final = "restartCountThresholdOverrides"
_ALL_OTHERS: Final = "default"


class SystemPodMetrics:
    """Restarts from `start` to `gather`; only where `systemPodMetricsEnabled` is true, as elsewhere."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._before: tuple[SystemPod, ...] | None = None

    async def execute(self, params: Params) -> Result:
        """`start` counts, `gather` tells what came since; with `enableRestartCountCheck` too many fail the test."""
        is_gathering = params.chosen("action", {"start": False, "gather": True})
        if not params.flag(_ENABLED, default=False):
            return Result(skipped=f"{_ENABLED} is not set")
        listed = await self._scene.client.list_all(PODS, namespace=_NAMESPACE)
        now = tuple(map(system_pod, listed.items))
        if not is_gathering:
            self._before = now
            return DONE
        if self._before is None:
            raise UsageError(f"SystemPodMetrics {self._identifier}: gather without a start before it")
        since = tuple(restarts_since(now, self._before))
        limits = _limits(params)
        return Result(
            summaries=(Summary(name="SystemPodMetrics", text=system_pods_json(since)),),
            errors=tuple(violations(since, limits)) if params.flag(_CHECKED, default=False) else (),
            remarks=() if since else (f"SystemPodMetrics: {_NAMESPACE} has no pods",),
        )


def system_pod(pod: Object) -> SystemPod:
    """A pod by its containers, with all restarts that they ever had."""
    return SystemPod(
        name=pod["metadata"]["name"],
        containers=tuple(
            SystemContainer(
                name=one["name"],
                image=one.get("image", ""),
                restart_count=one.get("restartCount", 0),
                last_restart_reason=restart_reason((one.get("lastState") or {}).get("terminated")),
            )
            for one in pod.get("status", {}).get("containerStatuses") or ()
        ),
    )


def restarts_since(now: Iterable[SystemPod], before: Iterable[SystemPod]) -> Iterator[SystemPod]:
    """What is there now, without the restarts that had been before."""
    known = {(pod.name, one.name): one.restart_count for pod in before for one in pod.containers}
    for pod in now:
        containers = (
            msgspec.structs.replace(one, restart_count=one.restart_count - known.get((pod.name, one.name), 0))
            for one in pod.containers
        )
        yield SystemPod(pod.name, tuple(containers))


def violations(pods: Sequence[SystemPod], limits: Mapping[str, int]) -> Iterator[str]:
    """Which containers were started anew more often than they may: by their own limit, or by `default`, or at all."""
    for pod in pods:
        for one in pod.containers:
            at_most = limits.get(one.name, limits.get(_ALL_OTHERS, 0))
            if one.restart_count > at_most:
                yield f"{pod.name}: {one.name} was restarted {one.restart_count} times, and {at_most} is the limit"


def _limits(params: Params) -> Mapping[str, int]:
    """Restarts by container, which are YAML in a text."""
    try:
        found: Any = read(Document(params.text(_LIMITS, "")))
    except NoYaml as error:
        raise UsageError(f"SystemPodMetrics: {_LIMITS} is no YAML: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UsageError(f"SystemPodMetrics: {_LIMITS} is a mapping from containers to numbers, as a text")
    given = params.below(_LIMITS, found)
    return {name: given.whole(name) for name in found}


SYSTEM_POD_METRICS = Method(make=SystemPodMetrics, params=("action", _ENABLED, _CHECKED, _LIMITS))
