"""Waiting until new nodes can be used."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from kubedyno.client.informer import Change, Informer
from kubedyno.client.rest import Client
from kubedyno.kube import meta
from kubedyno.kube.resources import NODES
from kubedyno.sim import marks

_READY_WITHIN_S: Final = 60.0
_READY_WITHIN_S_PER_NODE: Final = 0.05


def usable(node: Mapping[str, Any]) -> bool:
    """Whether a scheduler may use the node: Ready, and the not-ready taint of its creation is gone."""
    taints = node.get("spec", {}).get("taints") or []
    tainted = any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)
    return meta.is_condition_true(node, "Ready") and not tainted


@asynccontextmanager
async def arrivals(
    client: Client, pools: Collection[str], names: Collection[str]
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Create the nodes `names` of these pools in the block, then await what it yields: until all can be used."""
    missing = set(names)

    def note(change: Change) -> None:
        name = change.key[1]
        if name in missing and change.new is not None and usable(change.new):
            missing.discard(name)

    async def arrived() -> None:
        await nodes.wait_until(
            lambda _nodes: not missing,
            timeout_s=_READY_WITHIN_S + _READY_WITHIN_S_PER_NODE * len(names),
            what=f"{len(names)} nodes of {_told(pools)} to be Ready",
        )

    async def nothing() -> None:
        pass

    if not missing:
        yield nothing
        return
    nodes = Informer(client, NODES, label_selector=f"{marks.POOL} in ({','.join(sorted(pools))})")
    # What is there already when the watch begins says nothing of the nodes that are to come.
    async with nodes:
        nodes.subscribe(note)
        yield arrived


def _told(pools: Collection[str]) -> str:
    return f"pool{'s' if len(pools) > 1 else ''} {', '.join(sorted(pools))}"
