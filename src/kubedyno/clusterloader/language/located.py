"""YAML with places: the values that Kubernetes' reader gives, and the line of every key and of every value.

The values are `kube.goyaml`'s. A pass of its own over the parser's events tells the lines: it keeps a stack, makes no
values, and shares what an alias repeats, so that no document costs more than its length.
"""

import functools
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from kubedyno.clusterloader.config import Place
from kubedyno.kit.errors import UsageError
from kubedyno.kube import goyaml
from kubedyno.kube.nesting import MAX_DEPTH

_NO_NUMBERS: Final = frozenset({".nan", ".inf"})


class _Lines:
    """Where a value begins, and the same of what is in it: of a mapping by its keys, each with the line of the key."""

    __slots__ = ("below", "line")

    def __init__(self, line: int, below: "dict[str, tuple[int, _Lines]] | list[_Lines] | None" = None) -> None:
        self.line = line
        self.below = below


class Node(msgspec.Struct, frozen=True):
    """A value of a document, and where it stands."""

    value: Any
    """JSON's types."""
    file: str
    path: str
    """Of the keys that lead to it: `steps[0].phases`; empty: the whole document."""
    lines: _Lines

    @property
    def place(self) -> Place:
        """Where the value begins."""
        return Place(self.file, self.lines.line)

    def entries(self) -> Iterator[tuple[str, Place, "Node"]]:
        """Of a mapping: each key, where the key stands, and its value."""
        known = self.lines.below if isinstance(self.lines.below, dict) else {}
        for key, value in self.value.items():
            line, lines = known.get(key) or (self.lines.line, _Lines(self.lines.line))
            path = f"{self.path}.{key}" if self.path else key
            yield key, Place(self.file, line), Node(value, self.file, path, lines)

    def items(self) -> Iterator["Node"]:
        """Of a list: each value."""
        known = self.lines.below if isinstance(self.lines.below, list) else []
        for index, value in enumerate(self.value):
            lines = known[index] if index < len(known) else _Lines(self.lines.line)
            yield Node(value, self.file, f"{self.path}[{index}]", lines)


class Document(msgspec.Struct, frozen=True):
    """The first document of a text."""

    root: Node
    repeated: tuple[tuple[Place, str], ...]
    """Keys that stand a second time in their mapping: the last one counts."""


def read(text: str, file: str) -> Document:
    """The document; a usage error names file and line when it is no YAML, or none that JSON can say."""
    data = text.encode("utf-8", "replace")
    builder = _Builder(file)
    try:
        loader = yaml.CSafeLoader(data)
        try:
            while loader.check_event():
                event = loader.get_event()
                if event is None or isinstance(event, yaml.DocumentEndEvent):
                    break
                builder.take(event)
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        line = data[: error.position].count(b"\n") + 1
        raise UsageError(f"{Place(file, line)}: this is no YAML: {error.reason}") from error
    except yaml.MarkedYAMLError as error:
        raise UsageError(_problem(error, file)) from error
    try:
        value, _ = goyaml.read(data)
    except ValueError as error:
        raise UsageError(f"{file}: this cannot be read: {str(error).removeprefix('yaml: ')}") from error
    return Document(Node(value, file, "", builder.lines), tuple(builder.repeated))


def _problem(error: yaml.MarkedYAMLError, file: str) -> str:
    line = error.problem_mark.line + 1 if error.problem_mark else 1
    begin = error.context_mark.line + 1 if error.context_mark else line
    context = f", {error.context} from line {begin} on" if begin != line else ""
    return f"{Place(file, line)}: this is no YAML: {error.problem}{context}"


class _Open:
    """A collection that is being read."""

    def __init__(self, lines: _Lines, anchor: str | None) -> None:
        self.lines = lines
        self.anchor = anchor
        self.key: tuple[str, int] | None = None
        self.merges = False
        self.merged: list[_Lines] = []


class _Builder:
    """Makes the lines of a document from its events."""

    def __init__(self, file: str) -> None:
        self.lines = _Lines(1)
        self.repeated: list[tuple[Place, str]] = []
        self._file = file
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Lines] = {}

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        match event:
            case yaml.ScalarEvent():
                if not event.style and event.value.lower().lstrip("+-") in _NO_NUMBERS:
                    raise self._error(line, f"{event.value} is no number that JSON knows; put a text in quotes")
                lines = _Lines(line)
                if event.anchor:
                    self._anchors[event.anchor] = lines
                self._put(lines, event)
            case yaml.AliasEvent():
                anchor = event.anchor or ""
                if anchor not in self._anchors:
                    raise self._error(line, f"there is no anchor &{anchor} before *{anchor}")
                self._put(self._anchors[anchor], event)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if len(self._stack) >= MAX_DEPTH:
                    raise self._error(line, f"more than {MAX_DEPTH} levels of lists and mappings")
                made = _Lines(line, [] if isinstance(event, yaml.SequenceStartEvent) else {})
                self._stack.append(_Open(made, event.anchor))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._close(event)

    def _close(self, event: yaml.Event) -> None:
        done = self._stack.pop()
        if isinstance(done.lines.below, dict):
            for source in done.merged:
                for key, entry in source.below.items() if isinstance(source.below, dict) else ():
                    done.lines.below.setdefault(key, entry)
        if done.anchor:
            self._anchors[done.anchor] = done.lines
        self._put(done.lines, event)

    def _put(self, lines: _Lines, event: yaml.Event) -> None:
        """Enter what is read where the document is."""
        if not self._stack:
            self.lines = lines
            return
        top = self._stack[-1]
        if isinstance(top.lines.below, list):
            top.lines.below.append(lines)
        elif top.key is None:
            top.key = self._key(event, lines.line)
            top.merges = _is_merge(event)
        elif isinstance(top.lines.below, dict):
            (name, line), top.key = top.key, None
            if top.merges:
                top.merged += lines.below if isinstance(lines.below, list) else [lines]
                return
            if name in top.lines.below:
                self.repeated.append((Place(self._file, line), name))
            top.lines.below[name] = (line, lines)

    def _key(self, event: yaml.Event, line: int) -> tuple[str, int]:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._error(line, "a key is a word, no list, mapping or alias")
        if event.style or event.tag or _is_merge(event):
            return event.value, line
        try:
            return _key_name(event.value), line
        except ValueError as error:
            raise self._error(line, f"{event.value!r} cannot be a key: {error}") from error

    def _error(self, line: int, text: str) -> UsageError:
        return UsageError(f"{Place(self._file, line)}: {text}")


@functools.lru_cache(maxsize=1024)
def _key_name(text: str) -> str:
    """The name that a key without quotes gets in JSON: `yes` is `true`, `0x10` is `16`."""
    value, _ = goyaml.read(f"{text}: 0".encode())
    return next(iter(value), text) if isinstance(value, dict) else text


def _is_merge(event: yaml.Event) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and not event.style and not event.tag
