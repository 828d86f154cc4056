"""Watch: what happens to a selection of objects, from a revision on, as a stream of frames.

A watch is a position in the log, nothing is queued for it: a reader that is slow reads later, and one that falls
behind what the log keeps is cut off. It then lists anew, as every client must.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import Final

from kubedyno.kinds.tables.table import table
from kubedyno.kube import codec, status
from kubedyno.kube.codec import Object
from kubedyno.server import reading
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import Request
from kubedyno.server.negotiation import Representation, representation
from kubedyno.server.options import ListOptions
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.store.errors import Expired
from kubedyno.store.log import Event, EventType
from kubedyno.store.records import Record
from kubedyno.store.selecting import Selection

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

_AT_A_TIME_BYTES = 256 * 1024
"""Frames are handed over together up to this size: enough to make writing cheap, little enough to bound memory."""

_BOOKMARK_EVERY_S = 60.0
_BOOKMARK_BEFORE_END_S = 2.0
_DEFAULT_TIMEOUT_S = 1800
"""After that the real server ends a watch at the earliest; then up to twice as long, at random."""


class Watch:
    """One watch: iterate `frames`. It ends at its timeout, or when it is cut off."""

    def __init__(
        self, state: State, kind: Kind, selection: Selection, options: ListOptions, shown: Representation
    ) -> None:
        self._state = state
        self._kind = kind
        self._selection = selection
        self._options = options
        self._shown = shown
        self._resource = kind.stored.full_name
        self._columns_sent = False
        self._position = 0

    async def frames(self) -> AsyncGenerator[list[bytes], None]:
        """Frames, some at a time; each ends with a newline."""
        deadline_s = self._options.timeout_s or _DEFAULT_TIMEOUT_S * (1 + self._state.rng.random())
        loop = asyncio.get_running_loop()
        end_s = loop.time() + deadline_s
        # The last one comes shortly before the end: who begins anew begins there.
        bookmark_s = min(loop.time() + _BOOKMARK_EVERY_S, end_s - _BOOKMARK_BEFORE_END_S)
        try:
            for some in self._begin():
                yield some
            while True:
                for some in self._news():
                    yield some
                if self._position < self._state.store.revision:
                    continue  # written while some were on their way: nobody would wake us for it
                now_s = loop.time()
                if now_s >= end_s:
                    return
                if self._options.bookmarks and now_s >= bookmark_s:
                    last_s = end_s - _BOOKMARK_BEFORE_END_S
                    bookmark_s = min(now_s + _BOOKMARK_EVERY_S, last_s) if now_s < last_s else end_s + 1
                    yield [self._bookmark(initial=False)]
                until_s = min(end_s, bookmark_s) if self._options.bookmarks else end_s
                await self._state.changes.wait(self._resource, until_s=until_s)
        except Expired:
            return

    def _begin(self) -> Iterator[list[bytes]]:
        """Where the watch starts: after a revision, or with all objects that there are."""
        options, store = self._options, self._state.store
        asked = options.send_initial_events
        wanted = int(options.version or 0)
        if asked or (asked is None and not wanted):
            page = store.page(self._resource, self._selection)
            self._position = page.revision
            yield from _gathered(map(self._added, page.items))
            if asked and options.bookmarks:
                yield [self._bookmark(initial=True)]
            return
        self._position = wanted or store.revision
        if self._position < store.revision:
            try:
                store.events(self._resource, self._position)
            except Expired as error:
                yield [_error(error, store.revision)]
                raise

    def _news(self) -> Iterator[list[bytes]]:
        """All that happened since."""
        store = self._state.store
        if self._position >= store.revision:
            return
        events = store.events(self._resource, self._position)
        self._position = store.revision
        yield from _gathered(map(self._frame, events))

    def _added(self, record: Record) -> bytes:
        return b'{"type":"ADDED","object":' + self._object(record) + b"}\n"

    def _frame(self, event: Event) -> bytes | None:
        seen = self._selection.translated(event)
        if seen is None:
            return None
        return b'{"type":"%s","object":%s}\n' % (_TYPES[seen.type], self._object(seen.record))

    def _object(self, record: Record) -> bytes:
        if self._shown.form == "object":
            return reading.object_bytes(self._kind, record)
        obj = self._kind.from_stored(codec.decode(record.data))
        if self._shown.form == "metadata":
            return codec.encode(reading.partial_metadata(obj))
        return codec.encode(self._table([obj], obj["metadata"]["resourceVersion"]))

    def _table(self, objects: Sequence[Object], version: str) -> Object:
        """A table of one row; only the first of a watch defines the columns."""
        made = table(
            self._kind.printer,
            objects,
            now_ns=self._state.clock.wall_ns(),
            metadata={"resourceVersion": version},
            with_columns=not self._columns_sent,
        )
        self._columns_sent = True
        return made

    def _bookmark(self, *, initial: bool) -> bytes:
        version = str(self._position)
        metadata: Object = {"resourceVersion": version}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj: Object = {**self._kind.empty(), "metadata": metadata}
        if self._shown.form == "metadata":
            obj = reading.partial_metadata(obj)
        elif self._shown.form == "table":
            obj = self._table([], version)
            if initial:
                obj["rows"] = [{"cells": [], "object": {"metadata": metadata}}]
        return codec.encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def _gathered(frames: Iterable[bytes | None]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    size = 0
    for frame in filter(None, frames):
        some.append(frame)
        size += len(frame)
        if size >= _AT_A_TIME_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


_TYPES = {kind: kind.value.encode() for kind in EventType}


def _error(error: Expired, current: int) -> bytes:
    said = f"too old resource version: {error.revision} ({current})"
    why = status.body(status.failure(410, said, reason="Expired"))
    return b'{"type":"ERROR","object":' + why + b"}\n"


def watch(state: State, route: Route, request: Request, options: ListOptions) -> Watch:
    """The watch that a GET asks for."""
    shown = representation(request.accept.replace(";stream=watch", ""))
    reading.exact_version(options.version)
    return Watch(state, route.kind, reading.selection(state, route, options), options, shown)
