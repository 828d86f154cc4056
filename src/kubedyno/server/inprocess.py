"""A transport for clients in the same process: requests are calls, no sockets, no copies."""

import asyncio
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from types import MappingProxyType
from urllib.parse import unquote

import kubedyno
from kubedyno.client.transport import DEFAULT_TIMEOUT_S, JSON, Response, Stream
from kubedyno.kit.clock import Clock
from kubedyno.server.api import Api
from kubedyno.server.messages import Answer, Request

_USER_AGENT = f"kubedyno/{kubedyno.__version__}"


class InProcess:
    """Carries requests to an API of this process. Implements `client.transport.Transport`.

    Every request lets others run once. `cost_s` is what a request takes on `clock`: in virtual time nothing else does.
    """

    def __init__(self, api: Api, *, clock: Clock, cost_s: float = 0.0, user_agent: str = _USER_AGENT) -> None:
        self.api = api
        self._clock = clock
        self._cost_s = cost_s
        self._user_agent = user_agent

    @property
    def server(self) -> str:
        """The URL of the server, for messages."""
        return "embedded://this-process"

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        user_agent: str | None = None,
    ) -> Response:
        """One request and its whole answer, whatever its status."""
        await self._yield()
        agent = user_agent or self._user_agent
        made = self.api.handle(Request(method, _unquoted(path), query or {}, body or b"", content_type, accept, agent))
        if isinstance(made, Answer):
            return Response(made.status, _headers(made), made.body)
        async with asyncio.timeout(timeout_s), aclosing(made.frames()) as frames:
            return Response(200, {"Content-Type": JSON}, b"".join([frame async for some in frames for frame in some]))

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = JSON,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        user_agent: str | None = None,
    ) -> AbstractAsyncContextManager[Stream]:
        """One request whose answer is read piece by piece; the server itself ends it in time."""
        del timeout_s
        agent = user_agent or self._user_agent
        request = Request(method, _unquoted(path), query or {}, accept=accept, user_agent=agent)
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        await self._yield()
        made = self.api.handle(request)
        if isinstance(made, Answer):
            yield Stream(made.status, _headers(made), _once(made.body))
            return
        self.api.metrics.watches += 1
        try:
            async with aclosing(made.frames()) as frames:
                yield Stream(200, {"Content-Type": JSON}, _joined(frames), frames)
        finally:
            self.api.metrics.watches -= 1

    async def close(self) -> None:
        """Nothing to drop: watches end with the blocks that read them."""

    async def _yield(self) -> None:
        if self._cost_s:
            await self._clock.sleep(self._cost_s)
        else:
            await _LET_OTHERS_RUN


class _Turn:
    """One turn of the event loop for all others: `asyncio.sleep(0)` without the two calls that make it."""

    def __await__(self) -> Generator[None, None, None]:
        yield


_LET_OTHERS_RUN = _Turn()
_PLAIN = {JSON: MappingProxyType({"Content-Type": JSON})}


def _unquoted(path: str) -> str:
    return unquote(path) if "%" in path else path


def _headers(answer: Answer) -> Mapping[str, str]:
    if not answer.headers and not answer.warnings and answer.content_type in _PLAIN:
        return _PLAIN[answer.content_type]
    headers = {"Content-Type": answer.content_type, **dict(answer.headers)}
    if answer.warnings:
        headers["Warning"] = ", ".join(map(warning_header, answer.warnings))
    return headers


def warning_header(text: str) -> str:
    """A warning as its header writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


async def _joined(frames: AsyncIterator[Sequence[bytes]]) -> AsyncIterator[bytes]:
    async for some in frames:
        yield b"".join(some)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
