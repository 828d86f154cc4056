"""List, then watch: all that happens to a resource, in order, across broken streams and expired versions."""

import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError, Malformed, Unreachable
from kubedyno.client.rest import Client, Objects, Page
from kubedyno.client.shaping import Shape
from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import codec, status
from kubedyno.kube.codec import LineSplitter, Object
from kubedyno.kube.resources import Resource

MIN_TIMEOUT_S = 300
"""The server is asked to end a watch after five to ten minutes, at random, so that not all return at once."""

GRACE_S = 30.0
"""How much longer than the server's own timeout a stream may live before it counts as dead."""

HTTP_OK = 200
HTTP_SERVER_ERROR = 500

_PASSING = frozenset({408, 410, 429})
"""Codes below 500 after which a watch goes on: timeout, too old a version (a list follows), come later."""

ChangeType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]
_CHANGE_TYPES = frozenset(get_args(ChangeType))


class Listed(msgspec.Struct, frozen=True):
    """All objects at one version: the first event, and again after each relist. Replaces what was known.

    `wall_ns` and `monotonic_ns` are when the list was complete here.
    """

    items: Objects
    resource_version: str
    wall_ns: int
    monotonic_ns: int


class Changed(msgspec.Struct, frozen=True):
    """One object was added, modified or deleted (then `object` is its last state).

    `wall_ns` and `monotonic_ns` are when the bytes arrived, before they were decoded.
    """

    type: ChangeType
    object: Object
    wall_ns: int
    monotonic_ns: int


Event: TypeAlias = Listed | Changed

Pages: TypeAlias = Callable[[Page, int], None]
"""Takes the pages of a list as they come, with their arrival in ns since the epoch."""


class Metadata(msgspec.Struct, gc=False):
    """What is read of every object, cheaply."""

    resourceVersion: str  # noqa: N815 - as the API spells it
    name: str = ""
    namespace: str = ""
    uid: str = ""


class Glance(msgspec.Struct, gc=False):
    """An object of which only the most needed was read."""

    metadata: Metadata


Heed: TypeAlias = Literal["whole", "metadata", "not"]
"""How much of a change is wanted: all, no more than a `Glance` has of it, or nothing."""

Heeds: TypeAlias = Callable[[ChangeType, Glance, bytes], Heed]
"""Decides by the type, a glance at the object and its JSON; most of a watch's cost is in decoding objects."""

_GLANCES = msgspec.json.Decoder(Glance)


class WatchCounts(msgspec.Struct):
    """What a watch went through: numbers from a stream that was cut or relisted are to be read with care.

    `resumes` are streams after the first one since a list, `cuts` those of them that did not end in order,
    `relists` lists after the first, `errors` failures that were waited out. `early` are streams that ended in order but
    before the time that they were asked for: so the server gets rid of readers that are too slow for it.
    """

    lists: int = 0
    relists: int = 0
    streams: int = 0
    resumes: int = 0
    cuts: int = 0
    errors: int = 0
    bookmarks: int = 0
    changes: int = 0
    early: int = 0


class _Cut(Exception):
    """The stream ended in the middle of something."""


class Watch:
    """A resource followed from a list on. `events` may be iterated once; `counts` is live.

    Failures of the first list are raised. Later the server may be away or restarted: that is waited out with
    backoff, and only what cannot get better (403, 404) is raised. With a `shape` only that of each object is read. With
    `pages` a list is handed over page by page, and `Listed` has no items.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        rng: random.Random | None = None,
        heeds: Heeds | None = None,
        shape: Shape | None = None,
        pages: Pages | None = None,
    ) -> None:
        self.counts = WatchCounts()
        self._heeds = heeds
        self._shape = shape
        self._pages = pages
        self._client = client
        self._clock = client.clock
        self._resource = resource
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._path = resource.path(namespace=namespace)
        self._rng = rng or randomness.stream(0, f"watch {self._path}")
        self._version: str | None = None
        self._failures = 0

    async def events(self) -> AsyncGenerator[Event, None]:
        """`Listed`, then `Changed` without end; close it (`contextlib.aclosing`) to stop."""
        while True:
            progress = False
            try:
                if self._version is None:
                    yield await self._list()
                async for change in self._stream():
                    progress = True
                    yield change
            except (ApiError, Unreachable) as error:
                if self._is_final(error):
                    raise
                self.counts.errors += 1
                if self._must_relist(error):
                    self._version = None
            except _Cut:
                self.counts.cuts += 1
            # A stream that brought something is resumed at once; one that ends again and again is not.
            self._failures = 0 if progress else self._failures + 1
            if self._failures:
                await self._clock.sleep(retrying.backoff_s(self._failures - 1) * self._rng.uniform(0.5, 1.0))

    async def _list(self) -> Listed:
        items: Objects = []
        version = ""
        pages = self._client.list_pages(
            self._resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            shape=self._shape,
        )
        async for page in pages:
            version = page.resource_version
            if self._pages is not None:
                self._pages(page, self._clock.wall_ns())
                continue
            if page.is_first:
                items = []
            items += page.items
        if self.counts.lists:
            self.counts.relists += 1
        self.counts.lists += 1
        self._version = version
        return Listed(items, version, self._clock.wall_ns(), self._clock.monotonic_ns())

    async def _stream(self) -> AsyncIterator[Changed]:
        """The changes of one stream, until the server ends it."""
        timeout_s = self._rng.randint(MIN_TIMEOUT_S, 2 * MIN_TIMEOUT_S)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version or "",
            "timeoutSeconds": str(timeout_s),
        }
        if self._label_selector is not None:
            query["labelSelector"] = self._label_selector
        if self._field_selector is not None:
            query["fieldSelector"] = self._field_selector
        self.counts.streams += 1
        self.counts.resumes = self.counts.streams - self.counts.lists
        splitter = LineSplitter()
        begun_ns = self._clock.monotonic_ns()
        async with self._client.stream(self._path, query=query, timeout_s=timeout_s + GRACE_S) as stream:
            if stream.status != HTTP_OK:
                body = b"".join([chunk async for chunk in stream.chunks])
                raise ApiError(status.parse(body, code=stream.status), method="WATCH", path=self._path)
            try:
                async for lines in stream.lines or _Lines(stream.chunks, splitter):
                    wall_ns, monotonic_ns = self._clock.wall_ns(), self._clock.monotonic_ns()
                    for line in lines:
                        change = self._read(line, wall_ns, monotonic_ns)
                        if change is not None:
                            yield change
            except Unreachable as failure:
                raise _Cut from failure
        if splitter.rest:
            raise _Cut
        if self._clock.monotonic_ns() - begun_ns < timeout_s * NS_PER_S:
            self.counts.early += 1

    def _read(self, line: bytes, wall_ns: int, monotonic_ns: int) -> Changed | None:
        """The change in a line; None for a bookmark, which only moves the version, and for what nobody heeds."""
        try:
            kind, obj = self._decoded(line)
            if obj is None:
                return None
            self._version = obj["metadata"]["resourceVersion"]
        except (ValueError, KeyError, TypeError) as error:
            raise _Cut from error
        if kind == "BOOKMARK":
            self.counts.bookmarks += 1
            return None
        if kind not in _CHANGE_TYPES:
            raise Malformed(f"the watch of {self._path} sent an event of the unknown type {kind!r}")
        self.counts.changes += 1
        return Changed(kind, obj, wall_ns, monotonic_ns)  # type: ignore[arg-type] # checked above

    def _decoded(self, line: bytes) -> tuple[str, Object | None]:
        """The type of an event, and as much of its object as is wanted; None for nothing."""
        if self._shape is not None:
            # What does not fit the shape, an error among others, is read whole.
            with contextlib.suppress(msgspec.ValidationError):
                shaped = self._shape.frame(line)
                if shaped.type != "ERROR":
                    return shaped.type, shaped.object
        frame = codec.decode_frame(line)
        if frame.type == "ERROR":
            failure = status.parse(bytes(frame.object), code=HTTP_SERVER_ERROR)
            raise ApiError(failure, method="WATCH", path=self._path)
        return frame.type, self._heeded(frame) if self._heeds is not None else codec.decode(frame.object)

    def _heeded(self, frame: codec.WatchFrame) -> Object | None:
        """As much of the object as is wanted; None for nothing."""
        if frame.type not in _CHANGE_TYPES or self._heeds is None:
            return codec.decode(frame.object)
        raw = bytes(frame.object)
        glance = _GLANCES.decode(raw)
        match self._heeds(frame.type, glance, raw):  # type: ignore[arg-type] # checked above
            case "whole":
                return codec.decode(raw)
            case "metadata":
                return {"metadata": msgspec.structs.asdict(glance.metadata)}
        self._version = glance.metadata.resourceVersion
        self.counts.changes += 1
        return None

    @staticmethod
    def _must_relist(error: ApiError | Unreachable) -> bool:
        """The version is too old (compacted), or newer than all the server has (its store was put back)."""
        return isinstance(error, ApiError) and (
            error.is_gone or any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)
        )

    def _is_final(self, error: ApiError | Unreachable) -> bool:
        """Whether waiting cannot help: refusals, and any failure before the first list."""
        if self.counts.lists == 0:
            return True
        return isinstance(error, ApiError) and error.code < HTTP_SERVER_ERROR and error.code not in _PASSING


class _Lines:
    """The lines of chunks. No generator: it has nothing to be closed."""

    def __init__(self, chunks: AsyncIterator[bytes], splitter: LineSplitter) -> None:
        self._chunks = chunks
        self._splitter = splitter

    def __aiter__(self) -> AsyncIterator[Sequence[bytes]]:
        return self

    async def __anext__(self) -> Sequence[bytes]:
        return self._splitter.feed(await anext(self._chunks))
