"""`--field path=value`: any field of the objects that a template makes, set from the command line. Pure."""

import re
from typing import Any

import msgspec
import yaml

from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec
from kubedyno.kube.codec import Object

_PART = re.compile(r"(?:^|\.)([^.\[\]]+)|\[([^\]]+)\]")
_EXAMPLE = "spec.template.spec.priorityClassName=train"


class Field(msgspec.Struct, frozen=True):
    """A value and where it goes."""

    text: str
    """As it was written."""
    kind: str | None
    """Objects of this kind get it; None: the main object."""
    path: tuple[str | int, ...]
    value: Any


def parse(text: str) -> Field:
    """`spec.a.b[0].c=value`, the value as YAML.

    A key with dots stands in brackets: `metadata.labels[kai.scheduler/queue]=q`. A kind before the path, `Pod:spec...`,
    means all objects of that kind instead of the main one.
    """
    place, equals, value = text.partition("=")
    if text.count("[") and "=" in place.rpartition("[")[2] and "]" not in place.rpartition("[")[2]:
        raise UsageError(f"--field {text}: a bracket is not closed before the =")
    kind, colon, path_text = place.partition(":")
    if not colon or "[" in kind or "." in kind:
        kind, path_text = "", place
    path = _path(path_text)
    if not equals or not path:
        raise UsageError(f"--field {text}: write it as path=value, for example {_EXAMPLE}")
    try:
        (wrapped,) = codec.read_yaml(f"value: {value}" if value else "value: ''", source=f"--field {text}")
    except (UsageError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"--field {text}: the value cannot be read as YAML; put it in quotes") from error
    return Field(text, kind or None, path, wrapped.get("value"))


def _path(text: str) -> tuple[str | int, ...]:
    parts: list[str | int] = []
    position = 0
    for part in _PART.finditer(text):
        if part.start() != position:
            return ()
        position = part.end()
        if part[2] is None:
            parts.append(part[1])
        else:
            key = part[2].strip("\"'")
            parts.append(int(key) if part[2].isdecimal() else key)
    return tuple(parts) if position == len(text) and parts and isinstance(parts[0], str) else ()


def assign(obj: Object, field: Field) -> None:
    """Set the field in the object; what is missing on the way is made."""
    below: Any = obj
    for position, (step, after) in enumerate(zip(field.path, (*field.path[1:], None), strict=True)):
        fresh: Any = field.value if after is None else [] if isinstance(after, int) else {}
        if isinstance(step, int):
            if not isinstance(below, list) or step > len(below):
                size = f"a list of {len(below)}" if isinstance(below, list) else "no list"
                raise UsageError(
                    f"--field {field.text}: {_written(field.path[:position])} is {size}, it has no [{step}]"
                )
            if step == len(below):
                below.append(fresh)
        elif not isinstance(below, dict):
            what = "a list: name an index in brackets" if isinstance(below, list) else "a value, it has no fields"
            raise UsageError(f"--field {field.text}: {_written(field.path[:position])} is {what}")
        elif below.get(step) is None:
            below[step] = fresh
        if after is None:
            below[step] = field.value
        else:
            below = below[step]


def _written(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
