"""The API over HTTP/1.1: connections, the token, limits on what clients send and how slowly they read."""

import asyncio
import contextlib
import hmac
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

import msgspec
from aiohttp import hdrs, web
from aiohttp.http_exceptions import LineTooLong
from multidict import CIMultiDict

from kubedyno.kit.logs import Log
from kubedyno.kube import status
from kubedyno.server.api import Api
from kubedyno.server.bodies import MAX_BYTES
from kubedyno.server.inprocess import warning_header
from kubedyno.server.messages import JSON, TEXT, Answer, Refused, Request, bad_request, refusal
from kubedyno.server.watching import Watch

LOOPBACK: Final = "127.0.0.1"

_log = Log("server.http")

_END_WITHIN_S = 0.1
"""What requests under way get at the end. Zero would mean for ever: watches go on until their clients end them."""

_OPEN_PATHS = ("/healthz", "/livez", "/readyz")
"""Answered without a token: probes have none."""

_MAX_LINE_BYTES = 1024 * 1024
"""Of the request line, as in Go: selectors can be long."""
_MAX_HEADER_BYTES = 64 * 1024
_MAX_HEADERS = 256

_AT_ONCE_BYTES = 32 * 1024
"""Answers of this size never have to wait for their reader: what was sent before is gone when they are made."""
_PIECE_BYTES = 256 * 1024

_WARNINGS_MAX_CHARS = 4096
_WARNING_SHORT_CHARS = 256
"""Warnings are cut to this length when all together would be too long."""

_BROKEN_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_UNAUTHORIZED = Refused(status.failure(401, "Unauthorized"))
_TOO_LARGE = Refused(status.failure(413, f"Request entity too large: limit is {MAX_BYTES}"))
_TOO_SLOW = Refused(
    status.failure(504, "Timeout: request did not complete within the allotted timeout", empty_details=True)
)
_BAD_REQUEST = Answer(400, b"400 Bad Request", TEXT)
_HEADERS_TOO_LARGE = Answer(431, b"431 Request Header Fields Too Large", TEXT)
_VERSION_NOT_SUPPORTED = Answer(505, b"505 HTTP Version Not Supported: unsupported protocol version", TEXT)


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long the server waits for clients, in seconds."""

    idle_s: float = 180.0
    """For the next request of a connection, or the rest of its headers."""
    body_s: float = 60.0
    """For the whole body of a request."""
    linger_s: float = 2.0
    """For the rest of a body that was refused: a connection that ends at once could take the answer with it."""
    stuck_s: float = 30.0
    """For a reader to take more of a watch, or of a large answer; then it is cut off."""


PATIENCE: Final = Patience()


class Front:
    """Handles the requests of all connections."""

    def __init__(self, api: Api, *, token: str, patience: Patience) -> None:
        self._api = api
        self._token = token.encode()
        self._patience = patience

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; a watch is answered until it ends or its reader goes."""
        if not (1, 0) <= request.version < (2, 0):
            return _response(_VERSION_NOT_SUPPORTED, last=True)
        # An address with a host is that of a proxy's client; everybody else sends the path as it is.
        target = request.raw_path if request.raw_path.startswith("/") else request.rel_url.raw_path_qs
        raw_path, _, query = target.partition("?")
        if _BROKEN_ESCAPE.search(raw_path):
            return _response(_BAD_REQUEST, last=True)
        path = unquote(raw_path) if "%" in raw_path else raw_path
        try:
            self._authorize(request, path)
            body = await self._body(request)
        except Refused as refused:
            return _response(refusal(refused))
        headers = request.headers
        made = self._api.handle(
            Request(
                request.method,
                path,
                _query(query) if query else {},
                body,
                headers.get(hdrs.CONTENT_TYPE, JSON),
                headers.get(hdrs.ACCEPT, JSON),
                headers.get(hdrs.USER_AGENT, ""),
            )
        )
        if isinstance(made, Watch):
            return await self._stream(request, made)
        if len(made.body) > _AT_ONCE_BYTES:
            return await self._send_large(request, made)
        return _response(made)

    def _authorize(self, request: web.BaseRequest, path: str) -> None:
        scheme, _, said = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        known = scheme.lower() == "bearer" and hmac.compare_digest(_as_sent(said), self._token)
        if not known and not any(path == one or path.startswith(f"{one}/") for one in _OPEN_PATHS):
            raise _UNAUTHORIZED

    async def _body(self, request: web.BaseRequest) -> bytes:
        """The whole body, as long as it is allowed to be."""
        if (request.content_length or 0) > MAX_BYTES:
            raise _TOO_LARGE
        if not request.can_read_body:
            return b""
        try:
            if request.content.is_eof():
                return request.content.read_nowait()  # it came together with the headers, as small ones do
            async with asyncio.timeout(self._patience.body_s):
                if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
                    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    request.writer.output_size = 0  # the answer is still to come
                return await _read(request)
        except TimeoutError:
            raise _TOO_SLOW from None
        except web.RequestPayloadError as error:
            raise bad_request(f"the body of the request is broken: {' '.join(str(error).split())}") from error

    async def _send_large(self, request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
        """Send an answer piece by piece: its reader may be slow, or never take it."""
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        response.content_length = len(answer.body)
        view = memoryview(answer.body)
        try:
            await response.prepare(request)
            for at in range(0, len(view), _PIECE_BYTES):
                async with asyncio.timeout(self._patience.stuck_s):
                    await response.write(view[at : at + _PIECE_BYTES])
            await response.write_eof()
        except (TimeoutError, ConnectionError):
            _cut_off(request)
        return response

    async def _stream(self, request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
        if request.version >= (1, 1):
            response.enable_chunked_encoding()
        else:
            response.force_close()  # the stream ends with its connection
        self._api.metrics.watches += 1
        try:
            await response.prepare(request)
            async with contextlib.aclosing(watch.frames()) as frames:
                async for some in frames:
                    async with asyncio.timeout(self._patience.stuck_s):
                        await response.write(b"".join(some))
            await response.write_eof()
        except (TimeoutError, ConnectionError):
            _cut_off(request)
        finally:
            self._api.metrics.watches -= 1
        return response


async def _read(request: web.BaseRequest) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > MAX_BYTES:
            raise _TOO_LARGE
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _cut_off(request: web.BaseRequest) -> None:
    """End the connection of a reader that is too slow or gone: only that frees what waits to be sent to it."""
    if request.transport is not None:
        request.transport.abort()


def _as_sent(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _query(text: str) -> dict[str, str]:
    """The parameters as Go reads them: of a repeated one the first counts, and what is broken is not there."""
    found: dict[str, str] = {}
    for part in text.split("&"):
        if not part or ";" in part or _BROKEN_ESCAPE.search(part):
            continue
        name, _, value = part.partition("=")
        found.setdefault(unquote_plus(name), unquote_plus(value))
    return found


def _response(answer: Answer, *, last: bool = False) -> web.Response:
    """The answer; the connection ends with it if it is the last one."""
    response = web.Response(status=answer.status, body=answer.body, headers=_headers(answer))
    if last:
        response.force_close()
    return response


def _headers(answer: Answer) -> CIMultiDict[str]:
    headers = CIMultiDict({"Content-Type": answer.content_type})
    for name, value in answer.headers:
        headers[name] = value
    if answer.warnings:
        for text in _told(answer.warnings):
            headers.add("Warning", warning_header(text))
    return headers


def _told(warnings: Sequence[str]) -> list[str]:
    """Those warnings that headers have room for; what headers cannot hold is left out, as the real server does."""
    texts = [text for text in dict.fromkeys(warnings) if text and not any(map(_is_control, text))]
    if sum(map(len, texts)) <= _WARNINGS_MAX_CHARS:
        return texts
    short, size = [], 0
    for text in texts:
        if size >= _WARNINGS_MAX_CHARS:
            break
        short.append(text[:_WARNING_SHORT_CHARS])
        size += len(short[-1])
    return short


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"


class _Connection(web.RequestHandler):
    """A connection that tells its client of faults below HTTP's requests as Go does, and does not log them."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what is no request, or to a fault of ours."""
        del message
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun: another one cannot be sent")
        if status < 500:  # noqa: PLR2004 - the client's fault
            return _response(_HEADERS_TOO_LARGE if isinstance(exc, LineTooLong) else _BAD_REQUEST, last=True)
        _log.exception("a connection failed", error=repr(exc))
        return _response(refusal(_fault(exc)), last=True)

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """What ends a connection beside its requests comes from its client."""
        _log.debug("a connection ended", why=repr(kw.get("exc_info")), what=args[0] if args else "")


def _fault(exc: BaseException | None) -> Refused:
    return Refused(status.failure(500, f"Internal error occurred: {exc!r}"))


class _Server(web.Server):
    """Makes our connections."""

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class Address:
    """Where a server listens."""

    def __init__(self, host: str, port: int, *, tls: bool) -> None:
        self.host = host
        self.port = port
        self.url = f"{'https' if tls else 'http'}://{host}:{port}"


@contextlib.asynccontextmanager
async def serving(
    api: Api,
    *,
    token: str,
    tls: ssl.SSLContext | None,
    host: str = LOOPBACK,
    port: int = 0,
    patience: Patience = PATIENCE,
) -> AsyncIterator[Address]:
    """Serve the API for the duration of the block; port 0 takes a free one. Without `tls` it is plain HTTP."""
    front = Front(api, token=token, patience=patience)
    server = _Server(
        front.handle,
        handler_cancellation=True,  # a reader that goes ends its watch at once
        access_log=None,
        keepalive_timeout=patience.idle_s,
        lingering_time=patience.linger_s,
        max_line_size=_MAX_LINE_BYTES,
        max_field_size=_MAX_HEADER_BYTES,
        max_headers=_MAX_HEADERS,
        auto_decompress=False,  # the real server reads a compressed body as it is, and a small one could become large
    )
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(server, host, port, ssl=tls, backlog=4096)
    try:
        yield Address(host, listening.sockets[0].getsockname()[1], tls=tls is not None)
    finally:
        listening.close()
        await server.shutdown(_END_WITHIN_S)
