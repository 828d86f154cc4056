"""A Prometheus server that answers queries, by its HTTP API."""

import contextlib
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlsplit

from kubedyno.client.access import Access
from kubedyno.client.errors import Unreachable, shortened
from kubedyno.client.http import HttpTransport
from kubedyno.client.transport import Response
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.measure.promql.answers import Answer, NoAnswer, Refused, decoded

FLAG: Final = "--prometheus-url"
_QUERY: Final = "/api/v1/query"
_TIMEOUT_S: Final = 130.0
"""Longer than the server's own 2 min, so that its words arrive and not our impatience."""
_HTTP_DENIED: Final = frozenset({401, 403})


class Prometheus:
    """One server, for the duration of `reached`."""

    def __init__(self, url: str, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._transport = HttpTransport(Access(server=address(url), origin=FLAG))
        self._timeout_s = timeout_s

    def __str__(self) -> str:
        return f"the Prometheus server at {self._transport.server}"

    async def ask(self, query: str, at_ns: int) -> Answer:
        """What the query gives at a moment (ns since the epoch); EngineError: why there is no answer."""
        asked = {"query": query, "time": f"{at_ns / NS_PER_S:.3f}"}
        try:
            response = await self._transport.request("GET", _QUERY, query=asked, timeout_s=self._timeout_s)
        except Unreachable as error:
            raise EngineError(f"{self} {error.cause}: check {FLAG}, and that the server is up") from error
        try:
            return decoded(response.body)
        except Refused as refused:
            raise EngineError(f"{self} has no answer to {query!r}: {shortened(str(refused))}") from None
        except NoAnswer as error:
            raise EngineError(f"{self} {_unlike(response, error)}") from None

    async def close(self) -> None:
        """Drop its connections."""
        await self._transport.close()


def address(url: str) -> str:
    """What stands before `/api/v1`; UsageError for what cannot be the address of a server."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is none
        is_good = False
    if not is_good:
        raise UsageError(f"{FLAG} {url!r}: write it like http://localhost:9090")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            f"{FLAG} takes an address without user, query and fragment, such as http://localhost:9090; where the "
            "server asks for a password, reach it through something like kubectl port-forward"
        )
    return url.rstrip("/")


@contextlib.asynccontextmanager
async def reached(url: str) -> AsyncIterator[Prometheus | None]:
    """The server at an address; None: there is no address."""
    if not url:
        yield None
        return
    server = Prometheus(url)
    try:
        yield server
    finally:
        await server.close()


def _unlike(response: Response, error: NoAnswer) -> str:
    if response.status in _HTTP_DENIED:
        return (
            f"answers {response.status}: it asks for a credential; reach it through something like kubectl port-forward"
        )
    return (
        f"answers {response.status} and not as Prometheus does ({shortened(str(error))}): is {FLAG} the address that "
        f"stands before {_QUERY}?"
    )
