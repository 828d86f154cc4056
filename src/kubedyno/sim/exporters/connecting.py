"""Whose connections exporters write over: one client for all, or one for each as in a cluster; and who is refused."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final

from kubedyno.client.rest import Client
from kubedyno.sim.exporters.refusing import Refusing

USER_AGENT: Final = "kubedyno-exporter"
"""Under this name exporters write."""

Connect = Callable[[], AbstractAsyncContextManager[Client]]
"""Makes a client with connections of its own."""
Refusals = Callable[[str], int | None]
"""The HTTP status that a node's exporter is answered with now; None: it is not refused."""


class Clients:
    """The clients of all exporters. With `connect` each has its own, which costs memory and handshakes for each."""

    def __init__(self, shared: Client, connect: Connect | None, refusals: Refusals) -> None:
        self._shared = shared
        self._connect = connect
        self._refusals = refusals
        self._own: dict[str, tuple[Client, AsyncExitStack]] = {}
        self._retries = 0

    async def of(self, node: str) -> Client:
        """The client of a node's exporter; of one that is refused, a client that is answered so."""
        client = await self._connected(node)
        if self._refusals(node) is None:
            return client
        transport = Refusing(client.transport, lambda: self._refusals(node))
        refused = Client(transport, clock=client.clock, manager=USER_AGENT)
        refused.counts = client.counts  # what it repeats is counted with the rest
        return refused

    async def _connected(self, node: str) -> Client:
        if self._connect is None:
            return self._shared
        if node not in self._own:
            stack = AsyncExitStack()
            self._own[node] = await stack.enter_async_context(self._connect()), stack
        return self._own[node][0]

    async def drop(self, node: str) -> None:
        """Close the connections of an exporter that has ended."""
        found = self._own.pop(node, None)
        if found is not None:
            client, stack = found
            self._retries += client.counts.retries
            await stack.aclose()

    @property
    def retries(self) -> int:
        """Requests that were repeated because the server asked for it."""
        return (
            self._retries + self._shared.counts.retries + sum(client.counts.retries for client, _ in self._own.values())
        )

    async def close(self) -> None:
        """Close the connections of all."""
        for node in list(self._own):
            await self.drop(node)


@contextlib.asynccontextmanager
async def clients(shared: Client, connect: Connect | None, refusals: Refusals) -> AsyncIterator[Clients]:
    """The clients for the duration of the block."""
    made = Clients(shared, connect, refusals)
    try:
        yield made
    finally:
        await made.close()
