"""The control socket of a lab's owner: one JSON request a connection, one JSON answer.

A Unix socket's path may have 107 bytes only, and state folders can be deep: both sides reach it through the
descriptor of its folder in /proc, which is always short.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.kit.errors import EngineError

Answer = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]

_ANSWER_WITHIN_S = 10.0


@contextlib.asynccontextmanager
async def serve(path: Path, answer: Answer) -> AsyncIterator[None]:
    """Answer requests at `path` (0600) for the duration of the block."""
    handlers: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handler = asyncio.create_task(handle(reader, writer))
        handlers.add(handler)
        handler.add_done_callback(handlers.discard)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = msgspec.json.decode(await reader.readline(), type=dict[str, Any])
            writer.write(msgspec.json.encode(await answer(request)) + b"\n")
            await writer.drain()
        except (msgspec.DecodeError, ValueError, ConnectionError):
            pass  # a client that speaks nonsense or left: nobody to tell
        finally:
            writer.close()

    path.unlink(missing_ok=True)
    with _short(path) as short:
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(connected, short)
        finally:
            os.umask(before)
        try:
            yield
        finally:
            server.close()
            for handler in handlers:
                handler.cancel()  # a client that says nothing keeps nobody
            await asyncio.gather(*handlers, return_exceptions=True)
            await server.wait_closed()
            path.unlink(missing_ok=True)


async def ask(path: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send one request to the owner that listens at `path`."""
    try:
        async with asyncio.timeout(_ANSWER_WITHIN_S):
            with _short(path) as short:
                reader, writer = await asyncio.open_unix_connection(short)
            try:
                writer.write(msgspec.json.encode(request) + b"\n")
                answer = await reader.read()  # to its end: a status is longer than the longest line that streams allow
            finally:
                writer.close()
        return msgspec.json.decode(answer, type=dict[str, Any])
    except (OSError, TimeoutError, msgspec.DecodeError) as error:
        raise EngineError(
            f"the owner of the lab at {path.parent} does not answer: {str(error) or type(error).__name__}"
        ) from error


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)
