"""A short folder for sockets, and a client of them."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.encoding.base import CodecBase


class Plain(CodecBase):
    """Bytes as they are."""

    __content_subtype__ = "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:
        del message_type
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> bytes:
        del message_type
        return data


class Asking:
    """One who asks at a socket, on one connection."""

    def __init__(self, path: Path) -> None:
        self.channel = Channel(path=str(path), codec=Plain())

    async def __call__(self, method: str, request: bytes = b"", *, timeout_s: float = 10.0) -> bytes:
        call = UnaryUnaryMethod[bytes, bytes](self.channel, f"/v1.PodResourcesLister/{method}", bytes, bytes)
        return await call(request, timeout=timeout_s)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kd-") as made:
        yield Path(made)


@pytest.fixture
def asking() -> Iterator[Callable[[Path], Asking]]:
    with contextlib.ExitStack() as stack:

        def ask(path: Path) -> Asking:
            made = Asking(path)
            stack.callback(made.channel.close)
            return made

        yield ask
