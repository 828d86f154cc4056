"""NodeHealthTracker: whether too many nodes were out of order at one time."""

from typing import Final

import msgspec

from kubedyno.client.informer import Change
from kubedyno.clusterloader.measurements.counting import Tally
from kubedyno.clusterloader.measurements.following import Follower, follow
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params
from kubedyno.clusterloader.reporting.perfdata import indented
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES

_BUILT_IN: Final = "node.kubernetes.io/"
_REPELLING: Final = frozenset({"NoSchedule", "NoExecute"})


class _Tracked(msgspec.Struct, frozen=True, rename="camel"):
    running_nodes: int
    node_count: int
    threshold_reached: bool


class NodeHealthTracker:
    """Follows nodes from `start` to `gather`."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._tally: Tally[bool] = Tally(is_healthy)
        self._follower: Follower | None = None
        self._threshold, self._ratio = 0, 0.0
        self._worst = ""

    async def execute(self, params: Params) -> Result:
        """`start` follows the nodes of a selector, `gather` tells whether ever too many were out of order."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather, "stop": self._stop})(params)

    async def _start(self, params: Params) -> Result:
        if self._follower is not None:
            return DONE
        self._threshold, self._ratio = params.whole("threshold", 4), params.number("ratio", 0.01)
        self._tally, self._worst = Tally(is_healthy), ""
        # A part of the first list is no picture of the cluster: judged is from its end on.
        self._follower = await follow(self._scene, NODES, params.selector, on_change=self._changed)
        self._judge()
        return DONE

    async def _gather(self, params: Params) -> Result:
        if self._follower is None:
            raise UsageError(f"NodeHealthTracker {self._identifier}: gather without a start before it")
        await self._stop(params)
        counts = self._tally.counts
        tracked = _Tracked(counts[True], counts.total(), bool(self._worst))
        return Result(
            summaries=(Summary(name="NodeHealthTracker", text=indented(tracked)),),
            errors=(self._worst,) if self._worst else (),
        )

    async def _stop(self, _: Params) -> Result:
        if self._follower is not None:
            await self._follower.stop()
            self._follower = None
        return DONE

    def _changed(self, change: Change) -> None:
        self._tally.changed(change)
        if self._follower is not None:
            self._judge()

    def _judge(self) -> None:
        counts = self._tally.counts
        at_most = max(float(self._threshold), counts.total() * self._ratio)
        if counts[False] > at_most and not self._worst:
            self._worst = (
                f"node health: {counts[False]} of {counts.total()} nodes were out of order at one time, and "
                f"{at_most:g} is the limit"
            )


def is_healthy(node: Object) -> bool:
    """Whether pods may come to it: it is Ready, not cordoned, and nobody in Kubernetes itself has tainted it."""
    spec = node.get("spec", {})
    taints = spec.get("taints") or ()
    return (
        meta.is_condition_true(node, "Ready")
        and not spec.get("unschedulable")
        and not any(one.get("effect") in _REPELLING and one.get("key", "").startswith(_BUILT_IN) for one in taints)
    )


NODE_HEALTH_TRACKER = Method(make=NodeHealthTracker, params=("action", "threshold", "ratio", *SELECTOR_PARAMS))
