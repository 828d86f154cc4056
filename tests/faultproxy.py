"""A proxy before a real API server that fails in the ways a server can: for clients that must bear it."""

import asyncio
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from aiohttp import web
from tests.unit.client.api_stub import Authority, failing, reset, server_context

from kubedyno.client.access import Access
from kubedyno.client.errors import Unreachable
from kubedyno.client.http import HttpTransport
from kubedyno.kit import randomness

Way = Literal["409", "410", "429", "500", "reset", "lost answer"]
"""How a request fails: by an answer, by a connection that breaks before the server has it, or after."""

Verbs = Literal["reads", "watches", "writes"]

WAYS: tuple[Way, ...] = ("409", "429", "500", "reset", "lost answer")
"""Those that a write may meet."""

_ANSWERS = {
    "409": failing(409, "the object has been modified", reason="Conflict"),
    "410": failing(410, "too old resource version", reason="Expired"),
    "429": failing(429, "too many requests", reason="TooManyRequests", headers={"Retry-After": "1"}),
    "500": failing(500, "etcdserver: leader changed", reason="InternalError"),
}
_PASSED_ON = ("Content-Type", "Retry-After", "Warning")


class FaultProxy:
    """The running proxy. `access` leads to it; `counts` tells how many requests failed in which way."""

    def __init__(self, upstream: HttpTransport, context: ssl.SSLContext, authority: Authority, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.watch_delay_s = 0.0
        """News is held back for so long before it is passed on."""
        self._upstream = upstream
        self._context = context
        self._authority = authority
        self._rng: random.Random = randomness.stream(seed, "fault proxy")
        self._faults: dict[Verbs, tuple[Way | None, float]] = {}
        self._port = 0
        self._site: web.TCPSite | None = None
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self.runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)

    @property
    def access(self) -> Access:
        return Access(server=f"https://127.0.0.1:{self._port}", ca_data=self._authority.pem)

    def fail(self, way: Way | None, *, share: float = 0.2, of: tuple[Verbs, ...] = ("writes",)) -> None:
        """From now on a share of these requests fails that way; None: none. Watches are reads, unless named."""
        for verbs in of:
            self._faults[verbs] = (way, share)

    async def go_away(self) -> None:
        """Accept no connections, and break those that are open."""
        assert self._site is not None
        await self._site.stop()
        self._site = None
        assert self.runner.server is not None
        for connection in list(self.runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def come_back(self) -> None:
        """Listen, after `go_away` on the same port again."""
        self._site = web.TCPSite(self.runner, "127.0.0.1", self._port, ssl_context=self._context, reuse_address=True)
        await self._site.start()
        self._port = self.runner.addresses[0][1]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        is_watch = bool(request.query.get("watch"))
        proceed = self._watch if is_watch else self._forward
        way, share = self._faults.get("reads" if request.method == "GET" else "writes", (None, 0.0))
        if is_watch:
            way, share = self._faults.get("watches", (way, share))
        if way is None or self._rng.random() >= share:
            return await proceed(request)
        self.counts[way] += 1
        if way in _ANSWERS:
            await request.read()
            return await _ANSWERS[way](request)
        if way == "lost answer":
            await self._forward(request)
        return await reset(request)

    async def _forward(self, request: web.Request) -> web.Response:
        try:
            answer = await self._upstream.request(
                request.method,
                request.rel_url.raw_path,
                query=dict(request.query),
                body=await request.read(),
                content_type=request.headers.get("Content-Type", "application/json"),
                accept=request.headers.get("Accept", "application/json"),
            )
        except Unreachable as error:
            raise web.HTTPBadGateway(text=str(error)) from error
        headers = {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers}
        return web.Response(status=answer.status, headers=headers, body=answer.body)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path
        async with self._upstream.stream("GET", path, query=dict(request.query), timeout_s=3600) as stream:
            answer = web.StreamResponse(status=stream.status, headers={"Content-Type": "application/json"})
            await answer.prepare(request)
            async for chunk in stream.chunks:
                await asyncio.sleep(self.watch_delay_s)
                await answer.write(chunk)
            return answer


@asynccontextmanager
async def fault_proxy(access: Access, folder: Path, *, seed: int = 1) -> AsyncIterator[FaultProxy]:
    """A proxy before the server of `access`, with that one's identity there and a certificate of its own here."""
    authority = Authority("fault proxy")
    upstream = HttpTransport(access)
    proxy = FaultProxy(upstream, server_context(authority, folder), authority, seed)
    await proxy.runner.setup()
    try:
        await proxy.come_back()
        yield proxy
    finally:
        await proxy.runner.cleanup()
        await upstream.close()
