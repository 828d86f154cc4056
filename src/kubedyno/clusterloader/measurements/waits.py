"""Waits of one call: for running pods, for nodes, for objects of any kind with certain conditions."""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec

from kubedyno.clusterloader.measurements.counting import awaited
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params, Selector
from kubedyno.clusterloader.measurements.pods import PodState, pod_state, why_waiting
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS, Resource


class WaitForRunningPods:
    """Waits until exactly so many pods run and are ready, and none is on its way."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene

    async def execute(self, params: Params) -> Result:
        """`desiredPodCount` of a selector within `timeout`; with `isFatal` the test ends when they do not come."""
        desired = params.whole("desiredPodCount")

        def is_reached(states: Counter[PodState]) -> bool:
            return states[PodState.READY] == desired and not states[PodState.COMING]

        def told(states: Counter[PodState], pods: Iterable[Object]) -> str:
            return f"{states[PodState.READY]} of {desired} pods run and are ready{why_waiting(pods)}"

        problem = await awaited(
            self._scene,
            PODS,
            params.selector,
            pod_state,
            is_reached,
            timeout_s=params.duration_s("timeout", "60s"),
            told=told,
        )
        return Result(errors=(problem,), is_fatal=params.flag("isFatal", default=False)) if problem else DONE


class WaitForNodes:
    """Waits until there are as many ready nodes as are wanted."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        del identifier
        self._scene = scene

    async def execute(self, params: Params) -> Result:
        """From `minDesiredNodeCount` to `maxDesiredNodeCount` of a selector within `timeout`."""
        least, most = params.whole("minDesiredNodeCount"), params.whole("maxDesiredNodeCount")
        if least > most:
            raise UsageError(f"WaitForNodes: minDesiredNodeCount {least} is more than maxDesiredNodeCount {most}")

        def told(ready: Counter[bool], _: Iterable[Object]) -> str:
            return f"{ready[True]} nodes are ready, and {least} to {most} are wanted,"

        problem = await awaited(
            self._scene,
            NODES,
            params.selector,
            _is_ready,
            lambda ready: least <= ready[True] <= most,
            timeout_s=params.duration_s("timeout", "30m"),
            told=told,
        )
        return Result(errors=(problem,)) if problem else DONE


class _End(Enum):
    """What has become of an object."""

    GOOD = "good"
    BAD = "bad"
    NONE = "none"
    """Nothing yet, or it is not looked at."""


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What objects are waited for, and when it is enough."""

    namespaces: frozenset[str] | None
    """Those that are looked at; None: all."""
    successful: frozenset[tuple[str, str]]
    failed: frozenset[tuple[str, str]]
    least: int
    failed_at_most: int

    def end_of(self, obj: Object) -> _End:
        """By its conditions."""
        if self.namespaces is not None and obj["metadata"].get("namespace") not in self.namespaces:
            return _End.NONE
        has = {(one.get("type"), one.get("status")) for one in obj.get("status", {}).get("conditions") or ()}
        if has & self.successful:
            return _End.GOOD
        return _End.BAD if has & self.failed else _End.NONE

    def is_reached(self, ends: Counter[_End]) -> bool:
        """Whether enough have come to their end, and not too many to a bad one."""
        return ends[_End.GOOD] + ends[_End.BAD] >= self.least and ends[_End.BAD] <= self.failed_at_most


class WaitForGenericK8sObjects:
    """Waits until enough objects of any kind have one of some conditions."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        del identifier
        self._scene = scene

    async def execute(self, params: Params) -> Result:
        """`minDesiredObjectCount` of a resource with a successful or failed condition within `timeout`."""
        resource = await self._resource(params)
        wanted = _Wanted(
            namespaces=self._namespaces(params),
            successful=_conditions(params, "successfulConditions"),
            failed=_conditions(params, "failedConditions"),
            least=params.whole("minDesiredObjectCount"),
            failed_at_most=params.whole("maxFailedObjectCount", 0),
        )

        def told(ends: Counter[_End], _: Iterable[Object]) -> str:
            return (
                f"{ends[_End.GOOD]} {resource.full_name} are successful and {ends[_End.BAD]} failed, where "
                f"{wanted.least} are wanted, of which {wanted.failed_at_most} may have failed,"
            )

        problem = await awaited(
            self._scene,
            resource,
            Selector(labels=params.text("labelSelector", "") or None),
            wanted.end_of,
            wanted.is_reached,
            timeout_s=params.duration_s("timeout", "30m"),
            told=told,
        )
        return Result(errors=(problem,)) if problem else DONE

    async def _resource(self, params: Params) -> Resource:
        group, version = params.text("objectGroup", ""), params.text("objectVersion")
        plural = params.text("objectResource")
        return await self._scene.client.resource_named(f"{group}/{version}" if group else version, plural)

    def _namespaces(self, params: Params) -> frozenset[str] | None:
        """Those that are looked at; None: all."""
        given = params.below("namespaceRange", params.mapping("namespaceRange", {}))
        if given.flag("allNamespaces", default=False):
            return None
        if "min" not in given and "max" not in given:
            return None
        prefix = given.text("prefix", self._scene.prefix)
        return frozenset(f"{prefix}-{number}" for number in range(given.whole("min"), given.whole("max") + 1))


def _conditions(params: Params, name: str) -> frozenset[tuple[str, str]]:
    """`Type=Status`, any number of times."""
    found: set[tuple[str, str]] = set()
    for text in params.listed(name, []):
        kind, equals, status = str(text).partition("=")
        if not equals:
            raise UsageError(f"WaitForGenericK8sObjects: {name}: write {text!r} as Type=Status, like Complete=True")
        found.add((kind, status))
    return frozenset(found)


def _is_ready(node: Object) -> bool:
    return meta.is_condition_true(node, "Ready")


_TIMES: Final = ("timeout", "refreshInterval")

WAIT_FOR_RUNNING_PODS = Method(
    make=WaitForRunningPods, params=("action", "desiredPodCount", "isFatal", *_TIMES, *SELECTOR_PARAMS)
)
WAIT_FOR_NODES = Method(
    make=WaitForNodes, params=("action", "minDesiredNodeCount", "maxDesiredNodeCount", *_TIMES, *SELECTOR_PARAMS)
)
WAIT_FOR_GENERIC_OBJECTS = Method(
    make=WaitForGenericK8sObjects,
    params=(
        *("action", "objectGroup", "objectVersion", "objectResource", "namespaceRange", "labelSelector"),
        *("successfulConditions", "failedConditions", "minDesiredObjectCount", "maxFailedObjectCount", *_TIMES),
    ),
)
