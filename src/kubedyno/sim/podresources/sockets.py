"""Sockets for the nodes that are chosen: those named at the start, and all that carry the label.

They lie at `<folder>/<node>/kubelet.sock`, so that the folder of a node can be given to an exporter in the place of
the kubelet's own.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from kubedyno.client.rest import Client
from kubedyno.client.watching import Event
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import KubedynoError, UsageError
from kubedyno.kit.logs import Log
from kubedyno.kube.resources import NODES
from kubedyno.model.numa.podresources import View
from kubedyno.sim import marks
from kubedyno.sim.exporters.views import Views
from kubedyno.sim.following import follow, present

SOCKET: Final = "kubelet.sock"
_LONGEST_PATH: Final = 107  # bytes; the kernel's field for it has one more, for the end
_log = Log("sim.podresources")


def socket_of(folder: Path, node: str) -> Path:
    """Where the socket of a node is; UsageError for what is no name, and where clients could not reach it."""
    if "/" in node or node in {"", ".", ".."}:
        raise UsageError(f"{node!r} is no name of a node")
    path = folder.absolute() / node / SOCKET
    length = len(os.fsencode(path))
    if length > _LONGEST_PATH:
        raise UsageError(
            f"the socket {path} has {length} bytes, and the path of a Unix socket may have {_LONGEST_PATH}:"
            " name a shorter folder"
        )
    return path


class Sockets:
    """The sockets of some nodes in a folder; `views` is asked with each call."""

    def __init__(self, folder: Path, views: Views, *, clock: Clock) -> None:
        self._folder = folder
        self._views = views
        self._clock = clock
        self._open: dict[str, AsyncExitStack] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Those that have one."""
        return tuple(self._open)

    async def open(self, node: str) -> None:
        """Answer for a node from now on; UsageError or EngineError where that cannot be."""
        # Few simulators are asked for this, and the library takes a while to load.
        from kubedyno.sim.podresources.serving import serving  # noqa: PLC0415 - as said

        async def tell() -> View:
            view, _ = await self._views.view(node)
            return view

        stack = AsyncExitStack()
        await stack.enter_async_context(serving(socket_of(self._folder, node), tell, clock=self._clock))
        self._open[node] = stack

    async def close(self, node: str) -> None:
        """Answer no more for a node."""
        await self._open.pop(node).aclose()


@asynccontextmanager
async def _opened(folder: Path, views: Views, *, clock: Clock) -> AsyncIterator[Sockets]:
    sockets = Sockets(folder, views, clock=clock)
    try:
        yield sockets
    finally:
        for node in sockets.nodes:
            await sockets.close(node)


async def serve_sockets(
    client: Client,
    folder: Path,
    views: Views,
    *,
    clock: Clock,
    seed: int,
    names: Collection[str] = (),
    manages: Callable[[str], bool] | None = None,
) -> None:
    """Serve until cancelled; `manages` says by name which nodes are ours, without it all.

    Nodes that are named have their socket from the start, whether they are there or not, and it is an error when it
    cannot be made; of nodes with the label that is told in the log.
    """
    named = [name for name in names if manages is None or manages(name)]
    labelled: dict[str, None] = {}
    news = asyncio.Event()

    def gone(node: str) -> None:
        labelled.pop(node, None)
        news.set()

    def hear(event: Event) -> None:
        for node in present(event, labelled, gone, lambda node: str(node["metadata"]["name"])):
            name = node["metadata"]["name"]
            if manages is None or manages(name):
                labelled[name] = None
                news.set()

    async with _opened(folder, views, clock=clock) as sockets, tasks.owning() as group:
        for node in named:
            await sockets.open(node)
        rng = randomness.stream(seed, "pod resources")
        seen = follow(client, NODES, hear, rng=rng, label_selector=f"{marks.POD_RESOURCES}=true")
        group.create_task(seen, name="see nodes with sockets")
        failed: set[str] = set()
        while True:
            await news.wait()
            news.clear()
            for node in [node for node in sockets.nodes if node not in named and node not in labelled]:
                await sockets.close(node)
            failed &= labelled.keys()
            for node in _missing(labelled, sockets.nodes, failed):
                try:
                    await sockets.open(node)
                except KubedynoError as error:
                    failed.add(node)
                    _log.warning(f"node {node} has no pod-resources socket: {error}")


def _missing(labelled: Collection[str], there: Collection[str], failed: Collection[str]) -> Iterator[str]:
    return (node for node in tuple(labelled) if node not in there and node not in failed)
