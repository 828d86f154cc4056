"""One kubelet's pod-resources API: gRPC on a Unix socket, as exporters and monitoring agents ask it.

Errors are the kubelet's own: a pod that is not there has no code of its own, and whoever asks too often is refused.
"""

import contextlib
import re
import socket
import stat
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from grpclib.const import Cardinality, Handler, Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol
from grpclib.server import Server, Stream

from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kit.pacing import TokenBucket
from kubedyno.model.numa.podresources import View
from kubedyno.server.messages import Refused
from kubedyno.sim.exporters.views import ViewUnavailable
from kubedyno.sim.podresources import messages

Tell = Callable[[], Awaitable[View]]
"""What the kubelet says now; `ViewUnavailable` when it does not."""

_SERVICE: Final = "/v1.PodResourcesLister"
# The limits of a kubelet, which it has no settings for.
_RATE_PER_S: Final = 100
_BURST: Final = 10


@contextlib.asynccontextmanager
async def serving(path: Path, tell: Tell, *, clock: Clock) -> AsyncIterator[None]:
    """Answer at `path` (0600, in a folder that is made) for the duration of the block."""
    _clear(path)
    server = _Server([_Lister(tell, clock)], codec=_Plain())
    try:
        await server.start(path=str(path))
    except OSError as error:
        raise EngineError(f"the socket {path} cannot be made: {error.strerror or error}") from error
    try:
        path.chmod(0o600)
        yield
    finally:
        server.close()
        await server.wait_closed()
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # what others put there stays
            path.parent.rmdir()


def _clear(path: Path) -> None:
    """Make the folder, and take away a socket that nobody listens at any more."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise UsageError(f"{path} is there and is no socket: take it away, or name another folder")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"the socket {path} cannot be made: {error.strerror or error}; name another folder") from error
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:
            pass  # so many wait there that no more are let in
    raise UsageError(f"somebody answers at {path} already: end that simulator, or name another folder")


class _Plain(CodecBase):
    """Messages are bytes to the library: `messages` knows what is in them."""

    __content_subtype__ = "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:
        del message_type
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> bytes:
        del message_type
        return data


class _Server(Server):
    """A server that ends its connections when it closes; the library would leave them to the clients."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._made: weakref.WeakSet[H2Protocol] = weakref.WeakSet()

    def _protocol_factory(self) -> H2Protocol:
        made = super()._protocol_factory()
        self._made.add(made)
        return made

    def close(self) -> None:
        super().close()
        for protocol in tuple(self._made):
            if hasattr(protocol, "connection"):
                protocol.connection.close()


class _Lister:
    """The service; one token bucket for all that ask."""

    def __init__(self, tell: Tell, clock: Clock) -> None:
        self._tell = tell
        self._clock = clock
        self._bucket = TokenBucket(_RATE_PER_S, _BURST)

    def __mapping__(self) -> dict[str, Handler]:
        return {
            f"{_SERVICE}/{name}": Handler(self._handler(answer), Cardinality.UNARY_UNARY, bytes, bytes)
            for name, answer in _ANSWERS.items()
        }

    def _handler(self, answer: Callable[[View, bytes], bytes]) -> Callable[[Stream[bytes, bytes]], Awaitable[None]]:
        async def handle(stream: Stream[bytes, bytes]) -> None:
            request = await stream.recv_message()
            if not self._bucket.take(self._clock.monotonic_ns()):
                raise GRPCError(Status.RESOURCE_EXHAUSTED, "rejected by rate limit")
            try:
                view = await self._tell()
            except ViewUnavailable as error:
                raise GRPCError(_status(error.code), _message(error)) from error
            await stream.send_message(answer(view, request or b""))

        return handle


def _list(view: View, request: bytes) -> bytes:
    del request
    return messages.listed(view)


def _get_allocatable(view: View, request: bytes) -> bytes:
    del request
    return messages.allocatable(view)


def _get(view: View, request: bytes) -> bytes:
    try:
        namespace, name = messages.asked(request)
    except Refused as error:
        raise GRPCError(Status.INTERNAL, "the request is no protobuf message") from error
    for pod in view.pods:
        if (pod.namespace, pod.name) == (namespace, name):
            return messages.got(pod)
    raise GRPCError(Status.UNKNOWN, f"pod {name} in namespace {namespace} not found")


_ANSWERS: Final[dict[str, Callable[[View, bytes], bytes]]] = {
    "List": _list,
    "Get": _get,
    "GetAllocatableResources": _get_allocatable,
}


def _status(code: str) -> Status:
    """The status that Go spells `ResourceExhausted`."""
    return Status[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", code).upper()]


def _message(error: ViewUnavailable) -> str:
    """What a client is told beside the status: errors that are spelled as Go's clients print them lose the code."""
    found = str(error)
    return found.partition(" desc = ")[2] or found
