"""The audit log of a real API server, line by line: who asked for what, the answer, and how long it took. Pure."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

_WATCH: Final = "watch"
_BEGUN: Final = "ResponseStarted"
_ENDED: Final = ("ResponseComplete", "Panic")
_REFUSED_FROM: Final = 400


class Served(msgspec.Struct, frozen=True, gc=False):
    """A request that was answered."""

    user: str
    agent: str
    """The user agent as the client sent it."""
    resource: str
    """Its plural name; empty: the request is for no resource."""
    code: int
    took_s: float
    """From its arrival at the server to the end of the answer; of a watch to the beginning of it."""
    is_watch: bool = False


class _User(msgspec.Struct, frozen=True, gc=False):
    username: str = ""


class _Answer(msgspec.Struct, frozen=True, gc=False):
    code: int = 0


class _Object(msgspec.Struct, frozen=True, gc=False):
    resource: str = ""


class _Event(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    stage: str
    verb: str
    request_received_timestamp: datetime
    stage_timestamp: datetime
    user: _User = _User()
    user_agent: str = ""
    object_ref: _Object = _Object()
    response_status: _Answer = _Answer()


_DECODER: Final = msgspec.json.Decoder(_Event)


class Lines:
    """Takes the log in pieces as they come, and gives the requests that were answered.

    A watch is told of when it begins, once; one that was refused never begins, and is told of when it ends.
    """

    def __init__(self) -> None:
        self.unread = 0
        """Lines that are no events."""
        self._rest = b""

    def take(self, piece: bytes) -> Iterator[Served]:
        """The requests of a piece; a line that is not whole yet is kept for the next one."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if not line:
                continue
            try:
                event = _DECODER.decode(line)
            except msgspec.MsgspecError:
                self.unread += 1
                continue
            served = _served(event)
            if served is not None:
                yield served

    def end(self) -> None:
        """A file has ended, and another goes on: what was left of the last line is none."""
        self.unread += bool(self._rest)
        self._rest = b""


def _served(event: _Event) -> Served | None:
    is_watch, code = event.verb == _WATCH, event.response_status.code
    if event.stage != _BEGUN and event.stage not in _ENDED:
        return None
    if is_watch != (event.stage == _BEGUN) and not (is_watch and code >= _REFUSED_FROM):
        return None  # a watch that ends in good order, or a long answer that begins
    return Served(
        user=event.user.username,
        agent=event.user_agent,
        resource=event.object_ref.resource,
        code=code,
        took_s=(event.stage_timestamp - event.request_received_timestamp).total_seconds(),
        is_watch=is_watch,
    )
