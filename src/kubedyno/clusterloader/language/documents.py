"""YAML of files, document by document, with the lines of what stands in it. Pure."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from kubedyno.kube import goyaml

_BEGIN = re.compile(r"^---(?=\s|$)", re.MULTILINE)


class Document(msgspec.Struct, frozen=True):
    """A part of a file."""

    text: str
    line: int = 1
    """Of its begin, in the file."""


class NoYaml(Exception):
    """What is wrong with a document, and at which line of the file."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def documents(text: str) -> Iterator[Document]:
    """The parts of a file from each `---` on; the one before the first of them may be empty."""
    begin, line = 0, 1
    for found in _BEGIN.finditer(text):
        yield Document(text[begin : found.start()], line)
        line += text.count("\n", begin, found.start())
        begin = found.start()
    yield Document(text[begin:], line)


def read(document: Document) -> Any:
    """Its value, with JSON's types; None where nothing stands. `NoYaml` when it cannot be read."""
    data = document.text.encode()
    try:
        return goyaml.read(data)[0]
    except ValueError as error:
        raise _located(document, data, error) from error


def _located(document: Document, data: bytes, error: ValueError) -> NoYaml:
    match error.__cause__:
        case yaml.MarkedYAMLError() as cause:
            mark = cause.problem_mark or cause.context_mark
            return NoYaml(document.line + (mark.line if mark else 0), cause.problem or "it cannot be read")
        case yaml.reader.ReaderError() as cause:
            return NoYaml(document.line + data.count(b"\n", 0, cause.position), str(cause.reason))
    return NoYaml(document.line, str(error).removeprefix("yaml: "))


def first_line(document: Document) -> int:
    """The line at which the value begins, of a document that can be read."""
    for event in yaml.parse(document.text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.NodeEvent):
            return document.line + _offset(event)
    return document.line


def key_lines(document: Document) -> dict[str, int]:
    """The lines of the keys of a document that can be read and is a mapping; of two alike the last."""
    lines: dict[str, int] = {}
    depth, is_key = 0, True
    for event in yaml.parse(document.text, Loader=yaml.CSafeLoader):
        match event:
            case yaml.DocumentEndEvent():
                break
            case yaml.CollectionStartEvent():
                depth += 1
            case yaml.CollectionEndEvent():
                depth -= 1
                is_key = True
            case yaml.NodeEvent() if depth == 1:
                if is_key and isinstance(event, yaml.ScalarEvent):
                    lines[event.value] = document.line + _offset(event)
                is_key = not is_key
    return lines


def _offset(event: yaml.Event) -> int:
    return event.start_mark.line if event.start_mark else 0
