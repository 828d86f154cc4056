"""Reading less of each object: what nobody asks for is skipped while the bytes are decoded, and never built."""

from typing import Any, Generic, TypedDict, TypeVar

import msgspec

from kubedyno.kube.codec import Object

T = TypeVar("T")


class Metadata(TypedDict, total=False):
    """A shape for metadata: all but the field managers, the largest part of many objects."""

    name: Any
    generateName: Any
    namespace: Any
    uid: Any
    resourceVersion: Any
    generation: Any
    creationTimestamp: Any
    deletionTimestamp: Any
    deletionGracePeriodSeconds: Any
    labels: Any
    annotations: Any
    ownerReferences: Any
    finalizers: Any


class Container(TypedDict, total=False):
    """A shape for containers: what of them counts when room is made."""

    name: Any
    resources: Any
    restartPolicy: Any


class ShapedFrame(msgspec.Struct, Generic[T]):
    """One line of a watch stream."""

    type: str
    object: T


class _ListMetadata(msgspec.Struct):
    version: str = msgspec.field(name="resourceVersion", default="")
    token: str = msgspec.field(name="continue", default="")


class _ShapedPage(msgspec.Struct, Generic[T]):
    metadata: _ListMetadata
    items: list[T] | None = None


class Shape:
    """The part of objects that is read, as a `TypedDict` (not total): the rest is skipped.

    What comes out is a plain dict of the fields that the type names. Objects that contradict it raise
    `msgspec.ValidationError`; so its leaves should be `Any`.
    """

    def __init__(self, form: Any) -> None:
        self._frames: msgspec.json.Decoder[ShapedFrame[Object]] = msgspec.json.Decoder(ShapedFrame[form])
        self._pages: msgspec.json.Decoder[_ShapedPage[Object]] = msgspec.json.Decoder(_ShapedPage[form])

    def frame(self, line: bytes) -> ShapedFrame[Object]:
        """One line of a watch stream; `ValueError` when it is not whole."""
        return self._frames.decode(line)

    def page(self, body: bytes) -> tuple[list[Object], str, str]:
        """Items, version and continue token of a list."""
        page = self._pages.decode(body)
        return page.items or [], page.metadata.version, page.metadata.token
