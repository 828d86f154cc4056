"""Waiting until new nodes can be used."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from kubedyno.client.errors import Overdue
from kubedyno.client.rest import Client
from kubedyno.client.watching import ChangeType, Event, Glance, Heed, Listed
from kubedyno.kit import randomness, tasks
from kubedyno.kube import meta
from kubedyno.kube.resources import NODES
from kubedyno.sim import marks
from kubedyno.sim.following import follow

_READY_WITHIN_S: Final = 60.0
_READY_WITHIN_S_PER_NODE: Final = 0.05
_NEWBORN: Final = b'"node.kubernetes.io/not-ready"'


def usable(node: Mapping[str, Any]) -> bool:
    """Whether a scheduler may use the node: Ready, and the not-ready taint of its creation is gone."""
    taints = node.get("spec", {}).get("taints") or []
    tainted = any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)
    return meta.is_condition_true(node, "Ready") and not tainted


def heeds(kind: ChangeType, glance: Glance, raw: bytes) -> Heed:
    """A node that still has the taint of its creation need not be read."""
    del glance
    return "not" if kind == "DELETED" or _NEWBORN in raw else "whole"


@asynccontextmanager
async def arrivals(
    client: Client, pools: Collection[str], names: Collection[str]
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Create the nodes `names` of these pools in the block, then await what it yields: until all can be used."""
    missing = set(names)
    listed, complete = asyncio.Event(), asyncio.Event()

    def hear(event: Event) -> None:
        if isinstance(event, Listed):
            # What is there already when the watch begins says nothing of the nodes that are to come.
            if listed.is_set():
                missing.difference_update(node["metadata"]["name"] for node in event.items if usable(node))
            listed.set()
        elif usable(event.object):
            missing.discard(event.object["metadata"]["name"])
        if not missing:
            complete.set()

    async def arrived() -> None:
        within_s = _READY_WITHIN_S + _READY_WITHIN_S_PER_NODE * len(names)
        try:
            async with asyncio.timeout(within_s):
                await complete.wait()
        except TimeoutError:
            raise Overdue(
                f"{len(names)} nodes of {_told(pools)} to be Ready did not happen within {within_s:g} s "
                f"({len(missing)} are not, {min(missing)} is one): does anybody play their kubelets?"
            ) from None

    async def nothing() -> None:
        pass

    if not missing:
        yield nothing
        return
    selector = f"{marks.POOL} in ({','.join(sorted(pools))})"
    rng = randomness.stream(0, "arrivals")
    async with tasks.owning() as group:
        following = group.create_task(
            follow(client, NODES, hear, rng=rng, label_selector=selector, heeds=heeds), name="see nodes arrive"
        )
        await listed.wait()
        try:
            yield arrived
        finally:
            following.cancel()


def _told(pools: Collection[str]) -> str:
    return f"pool{'s' if len(pools) > 1 else ''} {', '.join(sorted(pools))}"
