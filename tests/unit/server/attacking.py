"""A server on loopback, and clients that do not keep to the rules."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from kubedyno.kit.clock import RealClock
from kubedyno.server.api import Api
from kubedyno.server.embedding import new_api
from kubedyno.server.http import PATIENCE, Address, Patience, serving
from kubedyno.server.messages import Answer, Request
from kubedyno.store import invariants

TOKEN = "the-token"
WITHIN_S = 20.0

PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def api_with_account(*, keep_events: int = 100_000) -> Api:
    """A new API in which pods can be created."""
    api = new_api(clock=RealClock(), seed=1, keep_events=keep_events)
    ask(api, "POST", "/api/v1/namespaces/default/serviceaccounts", b'{"metadata":{"name":"default"}}')
    return api


def ask(api: Api, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Answer:
    """Without a connection."""
    made = api.handle(Request(method, path, {}, body, content_type))
    assert isinstance(made, Answer)
    return made


def config_map(name: str, **data: str) -> bytes:
    return msgspec.json.encode({"metadata": {"name": name}, "data": data})


class Reply:
    """One answer from the wire."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        self.line, *lines = head.decode("latin-1").split("\r\n")
        self.headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        found = re.match(r"HTTP/1\.[01] (\d{3})", self.line)
        self.code = int(found[1]) if found else 0

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    @property
    def status(self) -> dict[str, Any]:
        """The Status in the body."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        assert decoded["kind"] == "Status"
        assert decoded["code"] == self.code
        return decoded


class Served:
    """A server that runs, and ways to speak to it."""

    def __init__(self, api: Api, address: Address) -> None:
        self.api = api
        self.address = address

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.address.host, self.address.port, limit=2**24)

    async def send(self, raw: bytes, *, half_close: bool = False) -> bytes:
        """All that comes back until the server closes the connection."""
        reader, writer = await self.connect()
        try:
            async with asyncio.timeout(WITHIN_S):
                with contextlib.suppress(ConnectionError):
                    writer.write(raw)
                    await writer.drain()
                    if half_close:
                        writer.write_eof()
                found = b""
                with contextlib.suppress(ConnectionError):
                    while part := await reader.read(65536):
                        found += part
                return found
        finally:
            writer.close()

    async def ask(self, method: str, target: str, body: bytes = b"", *headers: str, **more: Any) -> Reply:
        return Reply(await self.send(request(method, target, body, *headers, **more)))

    async def is_well(self) -> bool:
        """Whether others are still served, and what they are served is whole."""
        invariants.validate(self.api.state.store)
        return (await self.ask("GET", "/api/v1/namespaces/default")).code == 200


def request(
    method: str,
    target: str,
    body: bytes = b"",
    *headers: str,
    token: str | None = TOKEN,
    content_type: str | None = "application/json",
    keep: bool = False,
    length: int | None = None,
) -> bytes:
    """A request as bytes. `length` is what it says of its body; -1: nothing."""
    lines = [f"{method} {target} HTTP/1.1", "Host: x", *headers]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if not keep:
        lines.append("Connection: close")
    if body and content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    said = len(body) if length is None else length
    if said > 0:
        lines.append(f"Content-Length: {said}")
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def a_server(*, patience: Patience = PATIENCE, keep_events: int = 100_000) -> AsyncIterator[Served]:
    api = api_with_account(keep_events=keep_events)
    async with serving(api, token=TOKEN, tls=None, patience=patience) as address:
        yield Served(api, address)


async def settled(api: Api, watches: int = 0) -> None:
    """Wait until so many watches are open."""
    async with asyncio.timeout(WITHIN_S):
        while api.metrics.watches != watches:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
