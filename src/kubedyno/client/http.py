"""The HTTP transport: aiohttp with verified TLS, a pool as large as the load, and errors in our own words."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote, urlencode

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import kubedyno
from kubedyno.client.access import Access
from kubedyno.client.credentials import Credential, source_of, tls_context
from kubedyno.client.deadlines import Deadlines
from kubedyno.client.errors import Unreachable
from kubedyno.client.transport import DEFAULT_CONNECTIONS, DEFAULT_TIMEOUT_S, JSON, Response, Stream
from kubedyno.kit.clock import Clock, RealClock

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_S = 60.0
"""Shorter than the API server's idle timeout (90 s): we drop an idle connection before it does."""

EXACT_BELOW_S = 10.0
"""Shorter timeouts get a timer of their own; longer ones are kept to the second."""

STREAM_BUFFER_BYTES = 1 << 18
HTTP_UNAUTHORIZED = 401


class _Broken(Exception):
    """Carries a connection failure past aiohttp's own retry."""

    def __init__(self, error: aiohttp.ClientError) -> None:
        super().__init__()
        self.error = error


async def _without_replay(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from repeating a PUT or DELETE on a broken connection by itself.

    To HTTP they are idempotent; to Kubernetes a second DELETE may answer 404, or hit the object's successor.
    """
    try:
        return await handler(request)
    except aiohttp.ClientError as error:
        raise _Broken(error) from error


_GUARDED: Mapping[str, tuple[aiohttp.ClientMiddlewareType, ...]] = {
    "PUT": (_without_replay,),
    "DELETE": (_without_replay,),
}

_DEFAULT_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)


class _Wire:
    """The sessions for one TLS identity: a bounded pool for requests, fresh connections for streams.

    A watch holds its connection for minutes: it must not take a place among the requests in flight.
    """

    def __init__(self, credential: Credential, context: ssl.SSLContext | None, connections: int) -> None:
        self.credential = credential
        headers = CIMultiDict(
            {
                "Accept": JSON,
                "Content-Type": JSON,
                # Compression would cost the server under test CPU that nobody asked for.
                "Accept-Encoding": "identity",
                "User-Agent": f"kubedyno/{kubedyno.__version__}",
            }
        )
        tls = context if context is not None else False
        # The headers are session defaults because aiohttp copies those in one step of C.
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=KEEPALIVE_S, ssl=tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=_DEFAULT_TIMEOUT,
        )
        self.streams = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True, ssl=tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            read_bufsize=STREAM_BUFFER_BYTES,
        )
        self.set_token(credential.token)

    def has_identity(self, credential: Credential) -> bool:
        """Whether the TLS side of `credential` is the one that these connections were made with."""
        return (credential.certificate, credential.key) == (self.credential.certificate, self.credential.key)

    def set_token(self, token: str | None) -> None:
        """Present `token` from the next request on."""
        if token:
            for session in (self.session, self.streams):
                session.headers["Authorization"] = f"Bearer {token}"

    async def close(self) -> None:
        """Close all its connections."""
        await self.session.close()
        await self.streams.close()


class _Chunks:
    """The pieces of a body as they arrive."""

    def __init__(self, content: aiohttp.StreamReader, server: str, timeout_s: float) -> None:
        self._content = content
        self._server = server
        self._timeout_s = timeout_s

    def __aiter__(self) -> "_Chunks":
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._content.readany()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(error, server=self._server, timeout_s=self._timeout_s) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk


class HttpTransport:
    """Requests to one API server; at most `connections` in flight, further ones wait for a place."""

    def __init__(self, access: Access, *, connections: int = DEFAULT_CONNECTIONS, clock: Clock | None = None) -> None:
        self._access = access
        self._connections = connections
        self._source = source_of(access, clock or RealClock())
        self._wire: _Wire | None = None
        self._retired: list[_Wire] = []
        self._generation = 0
        self._renewing = asyncio.Lock()
        self._deadlines = Deadlines()

    @property
    def server(self) -> str:
        """The URL of the server."""
        return self._access.server

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
        """One request and its whole answer; after a 401 once more with a renewed credential."""
        wire = self._wire
        if wire is None or self._source.is_due():
            wire = await self._renewed(self._generation)
        generation: int | None = self._generation
        url = self._url(path, query)
        headers = None
        if content_type != JSON or accept != JSON:
            headers = {"Content-Type": content_type, "Accept": accept}
        if user_agent is not None:
            headers = {**(headers or {}), "User-Agent": user_agent}
        timeout = _DEFAULT_TIMEOUT
        if timeout_s < EXACT_BELOW_S:
            timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_TIMEOUT_S)
        while True:
            try:
                with self._deadlines.within(timeout_s):
                    answer = await wire.session.request(
                        method,
                        url,
                        data=body,
                        headers=headers,
                        timeout=timeout,
                        allow_redirects=False,
                        server_hostname=self._access.tls_server_name,
                        middlewares=_GUARDED.get(method),
                    )
                    content = await answer.read()
            except _Broken as broken:
                raise self._failed(broken.error, timeout_s) from broken.error
            except (aiohttp.ClientError, TimeoutError, OSError, RuntimeError) as error:
                raise self._failed(error, timeout_s) from error
            if answer.status == HTTP_UNAUTHORIZED and generation is not None:
                # The request was not carried out: it may be repeated whatever its verb, but once only.
                renewed = await self._after_refusal(generation)
                if renewed is not None:
                    wire, generation = renewed, None
                    continue
            return Response(answer.status, answer.headers, content)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = JSON,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        user_agent: str | None = None,
    ) -> AsyncIterator[Stream]:
        """One request on a connection of its own, whose answer is read piece by piece."""
        wire = self._wire
        if wire is None or self._source.is_due():
            wire = await self._renewed(self._generation)
        generation = self._generation
        url, headers = self._url(path, query), {"Accept": accept}
        if user_agent is not None:
            headers["User-Agent"] = user_agent
        answer = await self._open(wire, method, url, headers=headers, timeout_s=timeout_s)
        try:
            if answer.status == HTTP_UNAUTHORIZED:
                renewed = await self._after_refusal(generation)
                if renewed is not None:
                    answer.close()
                    answer = await self._open(renewed, method, url, headers=headers, timeout_s=timeout_s)
            yield Stream(answer.status, answer.headers, _Chunks(answer.content, self.server, timeout_s))
        finally:
            answer.close()

    async def close(self) -> None:
        """Close all connections, those in use too."""
        self._deadlines.close()
        wires = [*self._retired, self._wire] if self._wire is not None else self._retired
        self._wire, self._retired = None, []
        for wire in wires:
            await wire.close()

    async def _open(
        self,
        wire: _Wire,
        method: str,
        url: URL,
        *,
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> aiohttp.ClientResponse:
        try:
            return await wire.streams.request(
                method,
                url,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_TIMEOUT_S),
                allow_redirects=False,
                server_hostname=self._access.tls_server_name,
            )
        except (aiohttp.ClientError, TimeoutError, OSError, RuntimeError) as error:
            raise self._failed(error, timeout_s) from error

    def _url(self, path: str, query: Mapping[str, str] | None) -> URL:
        text = f"{self._access.server}{path}"
        if query:
            text = f"{text}?{urlencode(query, quote_via=quote)}"
        # Encoded already: yarl would parse and quote every part again.
        return URL(text, encoded=True)

    def _failed(self, error: Exception, timeout_s: float) -> Unreachable:
        """The failure in our words; an error that is our own is raised as it is."""
        if isinstance(error, RuntimeError):
            if not _is_of_reused_socket(error):
                raise error
            error = aiohttp.ClientConnectionResetError(str(error))
        return _unreachable(error, server=self._access.server, timeout_s=timeout_s)

    async def _after_refusal(self, generation: int) -> _Wire | None:
        """The wire to try once more after a 401; None when nothing else can be presented."""
        if generation == self._generation and not self._source.expire():
            return None
        # Of many requests refused at once, the first renews; for the others the generation has moved on.
        return await self._renewed(generation)

    async def _renewed(self, generation: int) -> _Wire:
        """A wire with a newer credential than `generation` had; one caller fetches it, the others wait."""
        async with self._renewing:
            wire = self._wire
            if wire is not None and generation != self._generation and not self._source.is_due():
                return wire
            credential = await self._source.fetch()
            self._generation += 1
            if wire is not None and wire.has_identity(credential):
                wire.set_token(credential.token)
                return wire
            if wire is not None:
                # Requests may still be running on it: it is closed with the transport.
                self._retired.append(wire)
            self._wire = wire = _Wire(credential, tls_context(self._access, credential), self._connections)
            return wire


def _unreachable(error: Exception, *, server: str, timeout_s: float) -> Unreachable:
    """A failure of the connection in our words: what happened, what to do, and whether the request was sent."""
    cause, remedy, sent, permanent = "broke the connection", "it may have been restarted", True, False
    match error:
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error)
            cause = f"presented a certificate that cannot be trusted ({reason})"
            remedy = "check certificate-authority, server and tls-server-name of the cluster in the kubeconfig"
            sent, permanent = False, True
        case aiohttp.ClientConnectorDNSError():
            cause, remedy = "has a name that does not resolve", "check the server of the cluster in the kubeconfig"
            sent, permanent = False, True
        case aiohttp.ClientConnectorSSLError():
            cause = f"did not complete the TLS handshake ({error.os_error})"
            remedy = "check that it speaks https and accepts the client certificate"
            sent, permanent = False, True
        case aiohttp.ClientConnectorError():
            cause = f"cannot be connected to ({_os_reason(error.os_error)})"
            remedy, sent = "check that it is running and that the address is right", False
        case aiohttp.ConnectionTimeoutError():
            cause = f"did not accept a connection within {min(timeout_s, CONNECT_TIMEOUT_S):g} s"
            remedy, sent = "check that it is running and not overloaded", False
        case TimeoutError():
            cause = f"did not answer within {timeout_s:g} s"
            remedy = "check its load and its log"
        case _:
            cause = f"broke the connection ({str(error) or type(error).__name__})"
            sent = not _unsent(error)
    return Unreachable(server=server, cause=cause, remedy=remedy, sent=sent, permanent=permanent)


def _is_of_reused_socket(error: RuntimeError) -> bool:
    """When many connections break at once, uvloop may take a new socket for one that it has not let go of yet.

    Then there is no connection, and the next attempt makes one. Other errors of this type are ours.
    """
    return "is used by transport" in str(error)


def _os_reason(error: OSError) -> str:
    """The system's words for the error: event loops put their own instead."""
    return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__


def _unsent(error: BaseException) -> bool:
    """Whether writing failed because the connection was closed already: the server has not got the whole body."""
    return isinstance(error, aiohttp.ClientConnectionResetError) or isinstance(
        error.__cause__, aiohttp.ClientConnectionResetError
    )
