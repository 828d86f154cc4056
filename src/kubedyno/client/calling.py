"""Requests to one API server, whatever their paths: paced, repeated where that is safe, failures as `ApiError`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import msgspec

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError, Malformed, Unreachable
from kubedyno.client.transport import DEFAULT_TIMEOUT_S, JSON, Response, Stream, Transport
from kubedyno.kit.clock import Clock, RealClock
from kubedyno.kit.pacing import TokenBucket
from kubedyno.kube import codec, status
from kubedyno.kube.codec import Object

HTTP_ERROR = 300


class Counts(msgspec.Struct):
    """What a client did: requests that left it, how many of them were repeats, seconds spent on waiting."""

    requests: int = 0
    retries: int = 0
    retry_wait_s: float = 0.0
    limiter_wait_s: float = 0.0


class Caller:
    """Sends requests over its transport: call `close` in the end.

    `limiter` paces all requests (client-go's QPS and burst); by default nothing does. `agent` is the user agent; by
    default that is kubedyno's.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock | None = None,
        limiter: TokenBucket | None = None,
        agent: str | None = None,
    ) -> None:
        self.transport = transport
        self.clock: Clock = clock or RealClock()
        self.counts = Counts()
        self._limiter = limiter
        self._agent = agent

    async def close(self) -> None:
        """Drop all connections."""
        await self.transport.close()

    async def request_raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = "*/*",
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Response:
        """One attempt at any path (`/metrics`, `/readyz`, `/version`): the answer whatever its status."""
        self.counts.requests += 1
        return await self.transport.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            accept=accept,
            timeout_s=timeout_s,
            user_agent=self._agent,
        )

    def stream(
        self, path: str, *, query: Mapping[str, str] | None = None, timeout_s: float
    ) -> AbstractAsyncContextManager[Stream]:
        """One GET whose answer is read as it comes: a watch, or the log of a pod. One attempt, any status."""
        self.counts.requests += 1
        return self.transport.stream("GET", path, query=query, timeout_s=timeout_s, user_agent=self._agent)

    async def _object(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Object:
        """The object that a request answers with, after as many retries as are safe."""
        response = await self._response(
            method, path, query=query, body=body, content_type=content_type, accept=accept, timeout_s=timeout_s
        )
        return self._decoded(response, method, path)

    async def _response(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Response:
        """The answer to a request that was not refused, after as many retries as are safe."""
        attempt = 0
        while True:
            if self._limiter is not None:
                await self._take_token(self._limiter)
            try:
                response = await self.request_raw(
                    method, path, query=query, body=body, content_type=content_type, accept=accept, timeout_s=timeout_s
                )
            except Unreachable as failure:
                delay_s = retrying.after_failure(failure, attempt=attempt)
                if delay_s is None:
                    raise
            else:
                if response.status < HTTP_ERROR:
                    return response
                error = ApiError(status.parse(response.body, code=response.status), method=method, path=path)
                delay_s = retrying.after_answer(error, response.headers, method=method, attempt=attempt)
                if delay_s is None:
                    raise error
            attempt += 1
            self.counts.retries += 1
            self.counts.retry_wait_s += delay_s
            await self.clock.sleep(delay_s)

    def _decoded(self, response: Response, method: str, path: str) -> Object:
        try:
            return codec.decode(response.body)
        except ValueError as error:
            raise Malformed(
                f"{method} {path} on {self.transport.server} answered {response.status} with something that is no "
                f"JSON object ({error}): is it an API server?"
            ) from error

    async def _take_token(self, limiter: TokenBucket) -> None:
        wait_s = limiter.reserve_s(self.clock.monotonic_ns())
        if wait_s > 0:
            self.counts.limiter_wait_s += wait_s
            await self.clock.sleep(wait_s)
