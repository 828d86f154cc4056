"""The API over HTTP/1.1: connections, the token, limits on what clients send and how slowly they read."""

import asyncio
import contextlib
import hmac
import ssl
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

from kubedyno.kube import status
from kubedyno.server.api import Api
from kubedyno.server.bodies import MAX_BYTES
from kubedyno.server.inprocess import warning_header
from kubedyno.server.messages import JSON, Answer, Refused, Request, refusal
from kubedyno.server.watching import Watch

LOOPBACK: Final = "127.0.0.1"

_KEEPALIVE_S = 180.0
_STUCK_AFTER_S = 30.0
"""A reader that takes nothing of a watch for so long is cut off."""

_OPEN_PATHS = ("/healthz", "/livez", "/readyz")
"""Answered without a token: probes have none."""

_UNAUTHORIZED = Refused(status.failure(401, "Unauthorized"))
_TOO_LARGE = Refused(status.failure(413, f"Request entity too large: limit is {MAX_BYTES}"))


class Front:
    """Handles the requests of all connections."""

    def __init__(self, api: Api, *, token: str) -> None:
        self._api = api
        self._authorization = f"Bearer {token}".encode()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; a watch is answered until it ends or its reader goes."""
        try:
            self._authorize(request)
            body = await _body(request)
        except Refused as refused:
            return _response(refusal(refused))
        headers = request.headers
        made = self._api.handle(
            Request(
                request.method,
                request.path,
                request.query if request.query_string else {},
                body,
                headers.get("Content-Type", JSON),
                headers.get("Accept", JSON),
                headers.get("User-Agent", ""),
            )
        )
        return _response(made) if isinstance(made, Answer) else await self._stream(request, made)

    def _authorize(self, request: web.BaseRequest) -> None:
        said = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(said, self._authorization) and not request.path.startswith(_OPEN_PATHS):
            raise _UNAUTHORIZED

    async def _stream(self, request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        self._api.metrics.watches += 1
        try:
            async with contextlib.aclosing(watch.chunks()) as chunks:
                async for chunk in chunks:
                    async with asyncio.timeout(_STUCK_AFTER_S):
                        await response.write(chunk)
            await response.write_eof()
        except (TimeoutError, ConnectionError):
            # It reads too slowly or is gone. Only an abort frees what waits to be sent to it.
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._api.metrics.watches -= 1
        return response


async def _body(request: web.BaseRequest) -> bytes:
    """The whole body, as long as it is allowed to be."""
    if (request.content_length or 0) > MAX_BYTES:
        raise _TOO_LARGE
    if not request.can_read_body:
        return b""
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > MAX_BYTES:
            raise _TOO_LARGE
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _response(answer: Answer) -> web.Response:
    headers = CIMultiDict({"Content-Type": answer.content_type} if answer.content_type else {})
    for name, value in answer.headers:
        headers[name] = value
    for text in answer.warnings:
        headers.add("Warning", warning_header(text))
    return web.Response(status=answer.status, body=answer.body, headers=headers)


class Address:
    """Where a server listens."""

    def __init__(self, host: str, port: int, *, tls: bool) -> None:
        self.host = host
        self.port = port
        self.url = f"{'https' if tls else 'http'}://{host}:{port}"


@contextlib.asynccontextmanager
async def serving(
    api: Api, *, token: str, tls: ssl.SSLContext | None, host: str = LOOPBACK, port: int = 0
) -> AsyncIterator[Address]:
    """Serve the API for the duration of the block; port 0 takes a free one. Without `tls` it is plain HTTP."""
    front = Front(api, token=token)
    server = web.Server(
        front.handle,
        handler_cancellation=True,  # a reader that goes ends its watch at once
        access_log=None,
        keepalive_timeout=_KEEPALIVE_S,
    )
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(server, host, port, ssl=tls, backlog=4096)
    try:
        yield Address(host, listening.sockets[0].getsockname()[1], tls=tls is not None)
    finally:
        listening.close()
        await server.shutdown(0)
