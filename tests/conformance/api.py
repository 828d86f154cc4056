"""One server as a behaviour sees it: requests and watches, and a record of everything that came back.

Nothing raises on an error status: refusals are what most behaviours are about.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec

from kubedyno.client.options import PATCH_TYPES, PatchType
from kubedyno.client.transport import JSON, Response, Stream, Transport
from kubedyno.kube import codec
from kubedyno.kube.codec import LineSplitter, Object
from kubedyno.kube.resources import Resource, for_object

WITHIN_S = 20.0
"""How long the next frame of a watch, or a state that is waited for, may take on a loaded machine."""

HTTP_CREATED = 201

Entry = dict[str, Any]
Body = Mapping[str, Any] | list[Any] | bytes | None


class Answer(msgspec.Struct, frozen=True):
    """What a server said: a decoded JSON body, or text."""

    code: int
    body: Any
    content_type: str
    warnings: list[str]

    def __getitem__(self, key: str) -> Any:
        return self.body[key]

    @property
    def reason(self) -> str:
        """The reason of a Status."""
        return str(self.body.get("reason", ""))

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> list[str]:
        """The fields that a Status blames."""
        return [cause.get("field", "") for cause in self.body.get("details", {}).get("causes", ())]

    @property
    def meta(self) -> Object:
        """The metadata."""
        return dict(self.body["metadata"])

    @property
    def version(self) -> str:
        """The resourceVersion of the object or list."""
        return str(self.meta["resourceVersion"])

    @property
    def names(self) -> list[str]:
        """The names of the items of a list."""
        return [item["metadata"]["name"] for item in self.body["items"]]

    @property
    def token(self) -> str:
        """Where a list goes on; empty at its end."""
        return str(self.meta.get("continue", ""))


class Frame(msgspec.Struct, frozen=True):
    """One event of a watch."""

    type: str
    object: Any

    @property
    def name(self) -> str:
        """The name of its object."""
        return str(self.object["metadata"]["name"])


class Watch:
    """An open watch. Only frames that the behaviour asks for are in the record, at the moment it asks."""

    def __init__(self, stream: Stream, record: Callable[[Entry], None], label: str) -> None:
        self._frames = self._read(stream)
        self._record = record
        self._label = label

    async def next(self, count: int = 1, *, recorded: bool = True) -> list[Frame]:
        """The next frames; a stream that ends or stays silent before that fails the behaviour."""
        frames = []
        for _ in range(count):
            async with asyncio.timeout(WITHIN_S):
                frames.append(await anext(self._frames))
            if recorded:
                self._note(frames[-1])
        return frames

    async def change(self) -> Frame:
        """The next frame that tells of an object: a server may send bookmarks at any time."""
        while True:
            (frame,) = await self.next(recorded=False)
            if frame.type != "BOOKMARK":
                self._note(frame)
                return frame

    async def rest(self) -> list[Frame]:
        """All frames until the server ends the watch."""
        frames = []
        async with asyncio.timeout(WITHIN_S):
            async for frame in self._frames:
                frames.append(frame)
                self._note(frame)
        self._record({"request": f"{self._label} ends"})
        return frames

    def _note(self, frame: Frame) -> None:
        what = "bookmark" if frame.type == "BOOKMARK" else "object"
        self._record({"request": f"{self._label} brings", "type": frame.type, what: frame.object})

    @staticmethod
    async def _read(stream: Stream) -> AsyncIterator[Frame]:
        splitter = LineSplitter()
        async for chunk in stream.chunks:
            for line in splitter.feed(chunk):
                decoded = codec.decode(line)
                yield Frame(decoded["type"], decoded["object"])


class Api:
    """A server, a namespace of one's own, and the record.

    Names of cluster-wide objects must begin with `namespace` (see `own`), so that behaviours do not meet.
    Keyword arguments that a method does not name are query parameters.
    """

    def __init__(self, transport: Transport, stranger: Transport, namespace: str) -> None:
        self.namespace = namespace
        self.record: list[Entry] = []
        self._transport = transport
        self._stranger = stranger

    def own(self, name: str) -> str:
        """A cluster-wide name of this behaviour alone."""
        return f"{self.namespace}-{name}"

    def path(self, at: Resource, name: str | None = None, sub: str | None = None, namespace: str | None = None) -> str:
        """The URL path; `namespace` is the behaviour's own unless given, and `""` means all."""
        inside = (self.namespace if namespace is None else namespace) if at.namespaced else None
        return at.path(namespace=inside or None, name=name, subresource=sub)

    async def send(
        self,
        method: str,
        path: str,
        body: Body = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        recorded: bool = True,
        as_stranger: bool = False,
        **query: Any,
    ) -> Answer:
        """Any request. `as_stranger` presents a token that the server does not know."""
        transport = self._stranger if as_stranger else self._transport
        parameters = {name: str(value) for name, value in query.items()}
        response = await transport.request(
            method,
            path,
            query=parameters,
            body=body if body is None or isinstance(body, bytes) else msgspec.json.encode(body),
            content_type=content_type,
            accept=accept,
        )
        answer = _answer(response)
        if recorded:
            self.record.append(
                {
                    "request": _request_line(method, path, parameters),
                    "code": answer.code,
                    "content type": answer.content_type,
                    "warnings": answer.warnings,
                    "body": answer.body,
                }
            )
        return answer

    async def create(
        self, obj: Mapping[str, Any], *, at: Resource | None = None, namespace: str | None = None, **query: Any
    ) -> Answer:
        """POST to the collection."""
        return await self.send("POST", self.path(at or for_object(obj), namespace=namespace), obj, **query)

    async def post(self, at: Resource, name: str, sub: str, obj: Mapping[str, Any], **query: Any) -> Answer:
        """POST to a subresource."""
        return await self.send("POST", self.path(at, name, sub), obj, **query)

    async def get(self, at: Resource, name: str, sub: str | None = None, **query: Any) -> Answer:
        """GET one object or subresource."""
        return await self.send("GET", self.path(at, name, sub), **query)

    async def list(self, at: Resource, *, namespace: str | None = None, **query: Any) -> Answer:
        """GET the collection."""
        return await self.send("GET", self.path(at, namespace=namespace), **query)

    async def replace(
        self,
        obj: Mapping[str, Any],
        sub: str | None = None,
        *,
        at: Resource | None = None,
        name: str | None = None,
        **query: Any,
    ) -> Answer:
        """PUT; to the name of the object unless another is given."""
        path = self.path(at or for_object(obj), name or obj["metadata"]["name"], sub)
        return await self.send("PUT", path, obj, **query)

    async def patch(
        self, kind: PatchType, at: Resource, name: str, patch: Body, sub: str | None = None, **query: Any
    ) -> Answer:
        """PATCH of any kind."""
        return await self.send("PATCH", self.path(at, name, sub), patch, content_type=PATCH_TYPES[kind], **query)

    async def merge(self, at: Resource, name: str, patch: Body, sub: str | None = None, **query: Any) -> Answer:
        """PATCH: JSON merge."""
        return await self.patch("merge", at, name, patch, sub, **query)

    async def strategic(self, at: Resource, name: str, patch: Body, sub: str | None = None, **query: Any) -> Answer:
        """PATCH: strategic merge."""
        return await self.patch("strategic", at, name, patch, sub, **query)

    async def operate(
        self, at: Resource, name: str, *operations: Mapping[str, Any], sub: str | None = None, **query: Any
    ) -> Answer:
        """PATCH: a list of JSON operations."""
        return await self.patch("json", at, name, list(operations), sub, **query)

    async def apply(
        self,
        obj: Mapping[str, Any],
        manager: str = "alice",
        sub: str | None = None,
        *,
        at: Resource | None = None,
        **query: Any,
    ) -> Answer:
        """PATCH: server-side apply."""
        resource = at or for_object(obj)
        return await self.patch("apply", resource, obj["metadata"]["name"], obj, sub, fieldManager=manager, **query)

    async def delete(self, at: Resource, name: str, options: Mapping[str, Any] | None = None, **query: Any) -> Answer:
        """DELETE one object; `options` are the fields of DeleteOptions."""
        return await self.send("DELETE", self.path(at, name), _options(options), **query)

    async def delete_all(self, at: Resource, options: Mapping[str, Any] | None = None, **query: Any) -> Answer:
        """DELETE the collection in the namespace."""
        return await self.send("DELETE", self.path(at), _options(options), **query)

    @contextlib.asynccontextmanager
    async def watch(
        self, at: Resource, *, namespace: str | None = None, accept: str = JSON, **query: Any
    ) -> AsyncIterator[Watch]:
        """A watch that the server has accepted."""
        path = self.path(at, namespace=namespace)
        parameters = {"watch": "true", **{name: str(value) for name, value in query.items()}}
        label = f"the watch of {at.full_name}"
        async with self._transport.stream("GET", path, query=parameters, accept=accept) as stream:
            self.record.append(
                {
                    "request": _request_line("GET", path, parameters),
                    "code": stream.status,
                    "content type": stream.headers.get("Content-Type", ""),
                }
            )
            yield Watch(stream, self.record.append, label)

    async def until(self, look: Callable[[], Awaitable[object]]) -> None:
        """Wait until the server has come to a state; what `look` asks should not be recorded."""
        async with asyncio.timeout(WITHIN_S):
            while not await look():  # noqa: ASYNC110 - a server sets no events of ours
                await asyncio.sleep(0.03)

    async def admitted(self, obj: Mapping[str, Any]) -> None:
        """Wait until admission has heard of what an object refers to: a dry run of its creation succeeds."""

        async def accepted() -> bool:
            return (await self.create(obj, dryRun="All", recorded=False)).code == HTTP_CREATED

        await self.until(accepted)

    def note(self, what: str, value: Any) -> None:
        """Put a part of a larger answer, or something worked out from it, into the record."""
        self.record.append({"request": what, "body": value})


def _options(fields: Mapping[str, Any] | None) -> Object | None:
    return None if fields is None else {"apiVersion": "v1", "kind": "DeleteOptions", **fields}


def _answer(response: Response) -> Answer:
    content_type = response.headers.get("Content-Type", "")
    body: Any = response.body.decode(errors="replace")
    if "json" in content_type:
        with contextlib.suppress(msgspec.DecodeError):
            body = msgspec.json.decode(response.body)
    # A multidict gives a header that came several times as several items.
    warnings = [value for name, value in response.headers.items() if name.lower() == "warning"]
    return Answer(response.status, body, content_type, warnings)


def _request_line(method: str, path: str, query: Mapping[str, str]) -> str:
    parameters = "&".join(f"{name}={value}" for name, value in query.items())
    return f"{method} {path}{'?' if parameters else ''}{parameters}"
