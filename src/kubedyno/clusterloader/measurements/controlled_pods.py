"""WaitForControlledPodsRunning: until the pods of Deployments, Jobs and whatever else controls pods run."""

import asyncio
import contextlib

from kubedyno.client.informer import Change
from kubedyno.clusterloader.measurements.controlled import Controller, Tracking
from kubedyno.clusterloader.measurements.following import Follower, follow
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params, Selector
from kubedyno.clusterloader.measurements.pods import PodState, pod_state, why_waiting
from kubedyno.clusterloader.reporting.pods import FailedPod, failed_pods
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import PODS, REPLICA_SETS, Resource

_TOLD = 5
"""Objects that an error describes; of the others it tells the number."""


class WaitForControlledPodsRunning:
    """Follows controlling objects and their pods from `start` on."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._tracking = Tracking()
        self._followers: list[Follower] = []
        self._news = asyncio.Event()
        self._timeout_s = 0.0
        self._resource: Resource | None = None
        self._selector = Selector()

    async def execute(self, params: Params) -> Result:
        """`start` follows, `gather` waits for all that was seen, `stop` ends it."""
        actions = {"start": self._start, "gather": self._gather, "stop": self._stop}
        return await params.chosen("action", actions)(params)

    async def _start(self, params: Params) -> Result:
        if self._followers:
            return DONE
        self._resource = await self._scene.client.resource(params.text("apiVersion"), params.text("kind"))
        self._timeout_s = params.duration_s("operationTimeout", "10m")
        self._tracking = Tracking(
            margin=params.whole("countErrorMargin", 0),
            checks_updates=params.flag("checkIfPodsAreUpdated", default=True),
        )
        self._selector = params.selector
        within = Selector(namespace=self._selector.namespace)
        # Pods last: when they are told of, their owners are known.
        self._followers = [await follow(self._scene, self._resource, self._selector, on_change=self._controller)]
        if self._resource.kind == "Deployment":
            self._followers.append(await follow(self._scene, REPLICA_SETS, within, on_change=self._between))
        self._followers.append(await follow(self._scene, PODS, within, on_change=self._pod))
        return DONE

    async def _gather(self, params: Params) -> Result:
        if not self._followers:
            raise UsageError(f"WaitForControlledPodsRunning {self._identifier}: gather without a start before it")
        await self._synced(params.duration_s("syncTimeout", "60s"))
        overdue = await self._settled()
        if not overdue:
            return DONE
        return Result(errors=self._told(overdue), summaries=(self._failed_pods(overdue),))

    async def _stop(self, _: Params) -> Result:
        for follower in self._followers:
            await follower.stop()
        self._followers = []
        return DONE

    # Within.

    def _controller(self, change: Change) -> None:
        self._tracking.controller_changed(change.object, change.monotonic_ns, is_deleted=change.new is None)
        self._news.set()

    def _between(self, change: Change) -> None:
        self._tracking.between_changed(change.object, is_deleted=change.new is None)
        self._news.set()

    def _pod(self, change: Change) -> None:
        self._tracking.pod_changed(change.object, is_deleted=change.new is None)
        self._news.set()

    async def _synced(self, timeout_s: float) -> None:
        """Return when all objects that are there now are known: what phases before made must not be missed."""
        assert self._resource is not None  # noqa: S101 - started
        listed = await self._scene.client.list_all(
            self._resource,
            namespace=self._selector.namespace,
            label_selector=self._selector.labels,
            field_selector=self._selector.fields,
        )
        uids = {obj["metadata"]["uid"] for obj in listed.items}
        known = self._tracking.controllers.keys()
        await self._followers[0].informer.wait_until(
            lambda _: uids <= known, timeout_s=timeout_s, what=f"news of {len(uids)} {self._resource.full_name}"
        )

    async def _settled(self) -> list[Controller]:
        """Wait until each object has come to what it wants or is overdue; those that are."""
        clock = self._scene.clock
        while (since_ns := self._tracking.newest_since_ns()) is not None:
            left_s = self._timeout_s - (clock.monotonic_ns() - since_ns) / NS_PER_S
            if left_s <= 0:
                return self._tracking.unfinished()
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._news.wait()
        return []

    def _told(self, overdue: list[Controller]) -> tuple[str, ...]:
        told = []
        for one in sorted(overdue, key=lambda one: one.name)[:_TOLD]:
            pods = list(self._tracking.pods_of(one))
            if one.is_deleted:
                told.append(
                    f"{one.name}: deleted {self._timeout_s:g} s ago, and {len(pods)} of its pods are still there"
                )
            else:
                wanted = "?" if one.desired is None else one.desired
                told.append(
                    f"{one.name}: {one.counts[PodState.READY]} of {wanted} pods run and are ready after "
                    f"{self._timeout_s:g} s; it has {len(pods)}{why_waiting(pods)}"
                )
        if len(overdue) > _TOLD:
            told.append(f"{len(overdue) - _TOLD} more objects did not come to their pods in time")
        return tuple(told)

    def _failed_pods(self, overdue: list[Controller]) -> Summary:
        rows = [
            FailedPod(
                namespace=pod["metadata"].get("namespace", ""),
                controlled_by=one.name,
                name=pod["metadata"]["name"],
                host=pod.get("spec", {}).get("nodeName", ""),
                status=pod.get("status", {}).get("phase", ""),
            )
            for one in overdue
            for pod in self._tracking.pods_of(one)
            if pod_state(pod) is not PodState.READY
        ]
        return failed_pods(rows, self._scene.clock.wall_ns())


WAIT_FOR_CONTROLLED_PODS = Method(
    make=WaitForControlledPodsRunning,
    params=(
        *("action", "apiVersion", "kind", "operationTimeout", "checkIfPodsAreUpdated", "countErrorMargin"),
        *("syncTimeout", *SELECTOR_PARAMS),
    ),
)
