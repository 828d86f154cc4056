"""A TCP balancer on loopback before several API servers: one URL, unhealthy servers taken out.

TLS passes through untouched. A server that stops answering its readiness probe loses its connections at once, so
clients with open watches go over to another instead of waiting for a timeout.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import cast

from kubedyno.kit import tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.logs import Log
from kubedyno.plane.component import Probe
from kubedyno.plane.controlplane import Balancer
from kubedyno.plane.health import Prober
from kubedyno.plane.ports import LOOPBACK

_PROBE_EVERY_S = 0.5
_CONNECT_WITHIN_S = 2.0
_log = Log("plane.balancing")


class _End(asyncio.Protocol):
    """One end of a connection: what arrives here leaves at the other end, with back pressure."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _End | None = None
        self.early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)
        else:
            self.early.append(data)

    def join(self, other: "_End") -> None:
        """Connect this end to the other; what came before goes first."""
        self.other, other.other = other, self
        for end in (self, other):
            for data in end.early:
                end.data_received(data)
            end.early.clear()

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class _ClientEnd(_End):
    """The end that faces a client; it reads little until a server is connected."""

    def __init__(self, balancing: "Balancing") -> None:
        super().__init__()
        self._balancing = balancing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        cast("asyncio.Transport", transport).pause_reading()
        self._balancing.connect(self)


class Balancing:
    """The running balancer."""

    def __init__(self, spec: Balancer, connectors: asyncio.TaskGroup) -> None:
        self._connectors = connectors
        self._ends: dict[int, set[_End]] = {port: set() for port in spec.backends}
        self._healthy: dict[int, bool] = dict.fromkeys(spec.backends, True)
        self._turn = 0

    @property
    def healthy(self) -> tuple[int, ...]:
        """Ports of the servers that take part."""
        return tuple(port for port, up in self._healthy.items() if up)

    def mark(self, port: int, *, up: bool) -> None:
        """Take a server in or out; one that goes out loses its connections."""
        if self._healthy[port] != up:
            _log.debug("server taken in" if up else "server taken out", port=port)
        self._healthy[port] = up
        if not up:
            for end in tuple(self._ends[port]):
                if end.transport is not None:
                    end.transport.abort()

    def connect(self, client: _ClientEnd) -> None:
        """Find a server for a new connection."""
        self._connectors.create_task(self._connect(client), name="balancer: connect")

    async def _connect(self, client: _ClientEnd) -> None:
        loop = asyncio.get_running_loop()
        assert client.transport is not None  # noqa: S101 - connection_made has set it
        for port in self._in_turn():
            try:
                async with asyncio.timeout(_CONNECT_WITHIN_S):
                    _, server = await loop.create_connection(_End, LOOPBACK, port)
            except (OSError, TimeoutError):
                self.mark(port, up=False)
                continue
            self._join(client, server, port)
            return
        client.transport.close()

    def _in_turn(self) -> list[int]:
        """The healthy servers, starting with the one whose turn it is."""
        up = self.healthy
        self._turn += 1
        return [up[(self._turn + offset) % len(up)] for offset in range(len(up))]

    def _join(self, client: _ClientEnd, server: _End, port: int) -> None:
        assert client.transport is not None  # noqa: S101 - connection_made has set it
        client.join(server)
        ends = self._ends[port]
        ends.difference_update([end for end in ends if end.transport is None or end.transport.is_closing()])
        ends.add(server)
        if client.transport.is_closing():
            assert server.transport is not None  # noqa: S101 - create_connection has set it
            server.transport.close()
        else:
            client.transport.resume_reading()

    def close(self) -> None:
        """Drop all connections."""
        for port in self._ends:
            self.mark(port, up=False)


@contextlib.asynccontextmanager
async def balance(spec: Balancer, *, prober: Prober, clock: Clock) -> AsyncIterator[Balancing]:
    """Serve `spec.port` for the duration of the block."""

    async def watch(balancing: Balancing, port: int) -> None:
        probe = Probe(url=f"https://{LOOPBACK}:{port}/readyz")
        while True:
            answer = await prober.ask(probe)
            balancing.mark(port, up=answer.healthy)
            await clock.sleep(_PROBE_EVERY_S)

    async with tasks.owning() as group:
        balancing = Balancing(spec, group)
        server = await asyncio.get_running_loop().create_server(lambda: _ClientEnd(balancing), LOOPBACK, spec.port)
        watchers = [group.create_task(watch(balancing, port), name=f"probe {port}") for port in spec.backends]
        try:
            yield balancing
        finally:
            for watcher in watchers:
                watcher.cancel()
            server.close()
            balancing.close()
            await server.wait_closed()
