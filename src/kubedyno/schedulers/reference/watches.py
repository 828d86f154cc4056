"""Following the kinds that the scheduler reads: those that every server has, and those that may come later."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeAlias, TypedDict

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.shaping import Container, Shape
from kubedyno.client.watching import ChangeType, Listed, Watch
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

LOOK_AGAIN_S: Final = 3.0
"""After a kind was found missing."""

Hear: TypeAlias = Callable[[ChangeType, Object], None]
"""Takes a change; of a deleted object its last state, or of one that was missed its metadata only."""


class _Metadata(TypedDict, total=False):
    name: Any
    namespace: Any
    uid: Any
    resourceVersion: Any
    creationTimestamp: Any
    deletionTimestamp: Any
    labels: Any
    annotations: Any


class _OwnedMetadata(_Metadata, total=False):
    ownerReferences: Any


class _PodSpec(TypedDict, total=False):
    nodeName: Any
    schedulerName: Any
    schedulingGates: Any
    schedulingGroup: Any
    priority: Any
    priorityClassName: Any
    containers: list[Container]
    initContainers: list[Container]
    resources: Any
    overhead: Any
    nodeSelector: Any
    affinity: Any
    tolerations: Any
    volumes: Any
    resourceClaims: Any


class _PodStatus(TypedDict, total=False):
    phase: Any
    conditions: Any
    resourceClaimStatuses: Any


class _Pod(TypedDict, total=False):
    metadata: _Metadata
    spec: _PodSpec
    status: _PodStatus


class _NodeSpec(TypedDict, total=False):
    taints: Any
    unschedulable: Any


class _NodeStatus(TypedDict, total=False):
    allocatable: Any


class _Node(TypedDict, total=False):
    metadata: _Metadata
    spec: _NodeSpec
    status: _NodeStatus


class _Any(TypedDict, total=False):
    metadata: _OwnedMetadata
    spec: Any
    status: Any
    value: Any
    zones: Any
    attributes: Any
    topologyPolicies: Any


_SHAPES: Final = {"pods": Shape(_Pod), "nodes": Shape(_Node)}
_ANY: Final = Shape(_Any)


class Follower:
    """Follows one kind in the first of its versions that the server has, until cancelled.

    `looked` is set when all that was there has been told, or that the server has no such kind.
    """

    def __init__(self, client: Client, versions: Sequence[Resource], hear: Hear, *, rng: random.Random) -> None:
        self.looked = asyncio.Event()
        self._client = client
        self._versions = versions
        self._hear = hear
        self._rng = rng
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        """uid and version by key."""

    async def run(self) -> None:
        """Follow. A kind that the server does not have, or does not show us, is looked for again."""
        while True:
            for resource in self._versions:
                shape = _SHAPES.get(resource.full_name, _ANY)
                try:
                    await self._listen(Watch(self._client, resource, rng=self._rng, shape=shape))
                except (ApiError, Unreachable) as error:
                    is_missing = isinstance(error, ApiError) and (error.is_not_found or error.is_forbidden)
                    if not is_missing and not (self.looked.is_set() and retrying.may_pass(error)):
                        raise
                    if is_missing:
                        self._take_over([])
            self.looked.set()
            await self._client.clock.sleep(LOOK_AGAIN_S)

    async def _listen(self, watch: Watch) -> None:
        async with aclosing(watch.events()) as events:
            async for event in events:
                if isinstance(event, Listed):
                    self._take_over(event.items)
                    self.looked.set()
                    continue
                key = meta.key(event.object)
                if event.type == "DELETED":
                    self._known.pop(key, None)
                else:
                    self._known[key] = _identity(event.object)
                self._hear(event.type, event.object)

    def _take_over(self, items: Sequence[Object]) -> None:
        """Tell what a list changed, added and no longer has."""
        fresh = {meta.key(obj): obj for obj in items}
        for key, (uid, _) in list(self._known.items()):
            found = fresh.get(key)
            if found is None or found["metadata"].get("uid") != uid:
                del self._known[key]
                self._hear("DELETED", {"metadata": {"namespace": key[0], "name": key[1], "uid": uid}})
        for key, obj in fresh.items():
            before, self._known[key] = self._known.get(key), _identity(obj)
            if before != self._known[key]:
                self._hear("ADDED" if before is None else "MODIFIED", obj)


def _identity(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("uid") or "", obj["metadata"].get("resourceVersion") or ""
