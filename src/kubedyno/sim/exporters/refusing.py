"""An API server that refuses what an exporter asks: the answer comes from here, and the server is not asked."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final

from kubedyno.client.errors import HTTP_CONFLICT, HTTP_TOO_MANY
from kubedyno.client.transport import DEFAULT_TIMEOUT_S, JSON, Response, Stream, Transport
from kubedyno.kube import status

Refusal = Callable[[], int | None]
"""The HTTP status that requests are answered with now; None: they are not refused."""

_SAID: Final = "refused on purpose"
_RETRY_AFTER_S: Final = "1"
"""As API priority and fairness asks for."""


class Refusing:
    """Carries requests, but for those that are refused. Implements `client.transport.Transport`.

    It looks at every request anew, so one that is repeated gets through as soon as nothing is refused any more. A
    conflict is an answer to writes alone.
    """

    def __init__(self, below: Transport, refusal: Refusal) -> None:
        self._below = below
        self._refusal = refusal

    @property
    def server(self) -> str:
        """The URL of the server, for messages."""
        return self._below.server

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
        """One request and its whole answer."""
        code = self._refusal()
        if code is not None and (code != HTTP_CONFLICT or method != "GET"):
            return _refused(code)
        return await self._below.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            accept=accept,
            timeout_s=timeout_s,
            user_agent=user_agent,
        )

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
        """Exporters write with requests: streams are never refused."""
        return self._below.stream(method, path, query=query, accept=accept, timeout_s=timeout_s, user_agent=user_agent)

    async def close(self) -> None:
        """The transport below belongs to another."""


def _refused(code: int) -> Response:
    headers = {"Retry-After": _RETRY_AFTER_S} if code == HTTP_TOO_MANY else {}
    return Response(code, {"Content-Type": JSON, **headers}, status.body(status.failure(code, _SAID)))
