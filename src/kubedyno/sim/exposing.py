"""Pages over HTTP: metrics in the text format of Prometheus, and what else is asked for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Final

from aiohttp import web

from kubedyno.kit.errors import EngineError
from kubedyno.plane.ports import LOOPBACK

Page = Callable[[], Awaitable[Iterable[str]]]
"""A page in pieces of any size. Between pieces others may work, so it is no one moment's picture."""
Question = Callable[[Mapping[str, str]], Awaitable[bytes]]
"""A page of JSON that depends on what stands after the question mark; it may raise `Refused`."""

METRICS: Final = "/metrics"
_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_STUCK_S: Final = 30.0
_END_WITHIN_S: Final = 0.1


class Refused(Exception):
    """A question that is not answered: the HTTP status and the body, JSON, that say why."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body = body
        super().__init__(body.decode(errors="replace"))


@contextlib.asynccontextmanager
async def serving(
    pages: Mapping[str, Page],
    *,
    questions: Mapping[str, Question] | None = None,
    address: str = LOOPBACK,
    port: int = 0,
) -> AsyncIterator[str]:
    """Answer these paths for the duration of the block; yields the URL. Port 0 takes a free one."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        path = request.rel_url.path
        question = questions.get(path) if questions else None
        if question is not None:
            return await _answered(question, request)
        page = pages.get(path)
        if page is None:
            return web.Response(status=404, text=f"the pages are {', '.join((*pages, *(questions or ())))}\n")
        response = web.StreamResponse(headers={"Content-Type": _TYPE})
        try:
            pieces = await page()
            await response.prepare(request)
            for piece in pieces:
                async with asyncio.timeout(_STUCK_S):
                    await response.write(piece.encode())
                await asyncio.sleep(0)
            await response.write_eof()
        except (TimeoutError, ConnectionError):
            # A reader that is gone or too slow: ending the connection frees what waits for it.
            if request.transport is not None:
                request.transport.abort()
        return response

    server = web.Server(answer, handler_cancellation=True, access_log=None)
    try:
        listening = await asyncio.get_running_loop().create_server(server, address, port)
    except OSError as error:
        raise EngineError(
            f"metrics cannot be served on {address}:{port}: {error.strerror or error}; name another port, or 0 for any"
        ) from error
    try:
        yield f"http://{address}:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()
        await server.shutdown(_END_WITHIN_S)


async def _answered(question: Question, request: web.BaseRequest) -> web.Response:
    try:
        status, body = 200, await question(request.rel_url.query)
    except Refused as refused:
        status, body = refused.status, refused.body
    return web.Response(status=status, body=body, content_type="application/json")
