"""ResourceClaimAllocationLatency: from the creation of a claim to its allocation."""

from collections.abc import Mapping
from typing import Final

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change
from kubedyno.clusterloader.measurements.following import Follower, follow
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params
from kubedyno.clusterloader.reporting import thresholds
from kubedyno.clusterloader.reporting.perfdata import DataItem, PerfData, latency_item
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.clusterloader.reporting.thresholds import Limit
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, RESOURCE_CLAIMS

CHECKED: Final = "claim_allocation"


class Claim(msgspec.Struct):
    """What was seen of a claim; ns since the epoch."""

    namespace: str
    pod: str
    """Its owner, by name; empty: it has none."""
    pod_uid: str
    created_ns: int
    allocated_ns: int | None = None


class ResourceClaimAllocationLatency:
    """Follows claims and pods from `start` on. Claims that were allocated when they were first seen are left out."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._claims: dict[str, Claim | None] = {}
        self._pods: dict[str, int] = {}
        """When pods were created, by uid; ns since the epoch."""
        self._followers: list[Follower] = []
        self._limits: tuple[Limit, ...] = ()

    async def execute(self, params: Params) -> Result:
        """`start` follows the claims of a selector; `gather` tells how long they took, and whether too long."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        if self._followers:
            return DONE
        self._limits = thresholds.of_percentiles(CHECKED, params, default="5m")
        self._followers = [
            await follow(self._scene, RESOURCE_CLAIMS, params.selector, on_change=self._claim_changed),
            await follow(self._scene, PODS, params.selector, on_change=self._pod_changed),
        ]
        return DONE

    async def _gather(self, _: Params) -> Result:
        if not self._followers:
            raise UsageError(f"ResourceClaimAllocationLatency {self._identifier}: gather without a start before it")
        for follower in self._followers:
            await follower.stop()
        self._followers = []
        claims = [claim for claim in self._claims.values() if claim is not None]
        asked = await self._look_up_pods(claims)
        took_s = [
            (claim.allocated_ns - claim.created_ns) / NS_PER_S for claim in claims if claim.allocated_ns is not None
        ]
        before_s = [
            (claim.created_ns - self._pods[claim.pod_uid]) / NS_PER_S for claim in claims if claim.pod_uid in self._pods
        ]
        counted: Mapping[str, float] = {"Count": float(asked)}
        items = (
            latency_item(took_s, CHECKED),
            latency_item(before_s, "pod_create_to_claim_create"),
            DataItem(data=counted, unit="count", labels={"Metric": "PodGetCalls"}),
        )
        text = PerfData(version="1.0", items=items).json()
        self._claims, self._pods = {}, {}
        return Result(
            summaries=(Summary(name=f"ResourceClaimAllocationLatency_{self._identifier}", text=text),),
            errors=thresholds.violations(self._limits, took_s),
        )

    def _claim_changed(self, change: Change) -> None:
        claim = change.new
        if claim is None:
            return
        uid, is_new = claim["metadata"]["uid"], claim["metadata"]["uid"] not in self._claims
        if is_new:
            self._claims[uid] = None if is_allocated(claim) else _claim(claim)
        known = self._claims[uid]
        if known is not None and known.allocated_ns is None and is_allocated(claim):
            known.allocated_ns = change.wall_ns

    def _pod_changed(self, change: Change) -> None:
        metadata = change.object["metadata"]
        self._pods.setdefault(metadata["uid"], parse_rfc3339_ns(metadata["creationTimestamp"]))

    async def _look_up_pods(self, claims: list[Claim]) -> int:
        """Ask for the owners that the selector does not mean; how many were asked for."""
        missing = [claim for claim in claims if claim.pod and claim.pod_uid not in self._pods]
        for claim in missing:
            try:
                pod = await self._scene.client.get(PODS, claim.pod, namespace=claim.namespace)
            except ApiError as error:
                if not error.is_not_found:
                    raise
                continue  # it is gone, and nobody knows any more when it came
            self._pods[pod["metadata"]["uid"]] = parse_rfc3339_ns(pod["metadata"]["creationTimestamp"])
        return len(missing)


def is_allocated(claim: Object) -> bool:
    """Whether it was allocated, is reserved, or has devices."""
    status = claim.get("status", {})
    return bool(status.get("allocation") or status.get("reservedFor") or status.get("devices"))


def _claim(claim: Object) -> Claim:
    metadata = claim["metadata"]
    owner: Object = next((one for one in meta.owner_references(claim) if one.get("kind") == "Pod"), {})
    return Claim(
        namespace=metadata.get("namespace", ""),
        pod=owner.get("name", ""),
        pod_uid=owner.get("uid", ""),
        created_ns=parse_rfc3339_ns(metadata["creationTimestamp"]),
    )


RESOURCE_CLAIM_ALLOCATION_LATENCY = Method(
    make=ResourceClaimAllocationLatency, params=("action", *thresholds.PARAMS, *SELECTOR_PARAMS)
)
