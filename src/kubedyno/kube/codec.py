"""Bytes to objects and back: JSON bodies, watch frames, and YAML files of several documents."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from kubedyno.kit.errors import UsageError

Object = dict[str, Any]
"""A Kubernetes object: open JSON."""


class WatchFrame(msgspec.Struct):
    """One line of a watch stream; the object stays encoded until somebody needs it."""

    type: str
    object: msgspec.Raw


_encoder = msgspec.json.Encoder()
_object_decoder: msgspec.json.Decoder[Object] = msgspec.json.Decoder(dict[str, Any])
_frame_decoder = msgspec.json.Decoder(WatchFrame)


def encode(obj: Mapping[str, Any] | msgspec.Struct) -> bytes:
    """JSON of an object, without spaces."""
    return _encoder.encode(obj)


def decode(data: bytes | msgspec.Raw) -> Object:
    """The object in a JSON body; `ValueError` when it is no JSON object (`msgspec.DecodeError` is one)."""
    return _object_decoder.decode(data)


def decode_frame(line: bytes) -> WatchFrame:
    """One line of a watch stream; `ValueError` when it is not whole."""
    return _frame_decoder.decode(line)


class LineSplitter:
    """Cuts a stream of chunks into lines; what follows the last newline waits for the next chunk."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their newlines and without empty ones."""
        if b"\n" not in chunk:
            # Collected, not concatenated: a 1 MB object in 4 KB chunks must not be copied 250 times.
            if chunk:
                self._parts.append(chunk)
            return []
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
        if rest:
            self._parts.append(rest)
        return [line for line in lines if line]

    @property
    def rest(self) -> bytes:
        """The begun line: not empty at the end of a stream means that the stream was cut."""
        return b"".join(self._parts)


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: JSON's types only, and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping; a key that is no text or stands twice is an error at its place."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag not in {"tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"}:
                raise yaml.constructor.ConstructorError(None, None, "a key must be text: quote it", key.start_mark)
            if key.value in seen:
                problem = f"the key {key.value!r} stands twice in one mapping"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


# A date stays text, as in JSON: `2026-01-02` in an annotation is no object of Python's.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(text: str | bytes, *, source: str) -> list[Object]:
    """The objects of a YAML (or JSON) file with any number of documents; empty documents are skipped.

    `source` names the file in errors. A `List` object is returned as it is.
    """
    try:
        loader = _Loader(text)
        try:
            return list(_documents(loader, source))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise UsageError(f"{place}: {error.problem or error.context or 'the YAML cannot be read'}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{source}: the YAML cannot be read: {' '.join(str(error).split())}") from error


def _documents(loader: _Loader, source: str) -> Iterator[Object]:
    while loader.check_node():
        node = loader.get_node()
        assert node is not None  # noqa: S101 - `check_node` has seen it
        document = loader.construct_document(node)
        if isinstance(document, dict):
            yield document
        elif document is not None:
            raise UsageError(
                f"{source}:{node.start_mark.line + 1}: a document must be a mapping with apiVersion and kind, "
                f"not a {type(document).__name__}"
            )
