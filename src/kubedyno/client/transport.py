"""The seam under the client: bytes to a server and back. HTTP is one transport, a server in this process another."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

JSON = "application/json"

DEFAULT_CONNECTIONS = 64
"""Requests of one client in flight, watches aside."""

DEFAULT_TIMEOUT_S = 65.0
"""Longer than the API server's own 60 s, so that its Timeout status arrives and not our impatience."""


class Response(msgspec.Struct, frozen=True, gc=False):
    """A whole answer. Header names are looked up without regard to case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(msgspec.Struct, frozen=True):
    """An answer whose body is still coming: iterate `chunks` inside the context that gave it."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    lines: AsyncIterator[Sequence[bytes]] | None = None
    """The same as whole lines, where the transport knows them; of the two only one may be iterated."""


class Transport(Protocol):
    """Carries requests. Raises `Unreachable` and nothing of the library that it uses."""

    @property
    def server(self) -> str:
        """The URL of the server, for messages."""
        ...

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
        """One request and its whole answer, whatever its status. `path` is quoted already.

        Without a `user_agent` it is the transport's own.
        """
        ...

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
        """One request whose answer is read piece by piece; `timeout_s` limits its whole life."""
        ...

    async def close(self) -> None:
        """Drop all connections; no request may follow."""
        ...
