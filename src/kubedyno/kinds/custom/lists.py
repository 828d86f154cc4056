"""Lists of type `set` and `map`: no item stands there twice."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kubedyno.kinds.custom.findings import as_go
from kubedyno.kinds.custom.structural import Schema
from kubedyno.kube import problems as words
from kubedyno.kube.problems import Problem

_encoder = msgspec.json.Encoder(order="sorted")


def problems(value: Any, schema: Schema, path: str = "") -> list[Problem]:
    """Items that are there for the second time, anywhere in a value; a third time is not told."""
    return list(_walk(value, schema, path)) if schema.has_lists else []


def _walk(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    if not schema.has_lists:
        return
    if isinstance(value, dict):
        for name, member in value.items():
            if name in schema.properties:
                yield from _walk(member, schema.properties[name], f"{path}.{name}" if path else name)
            elif isinstance(schema.additional, Schema):
                yield from _walk(member, schema.additional, f"{path}[{name}]")
    elif isinstance(value, list):
        yield from _list_problems(value, schema, path)
        if schema.items is not None:
            for index, item in enumerate(value):
                yield from _walk(item, schema.items, f"{path}[{index}]")


def _list_problems(value: list[Any], schema: Schema, path: str) -> Iterator[Problem]:
    if schema.list_type == "set":
        for index in _repeated(value):
            yield words.duplicate(f"{path}[{index}]", as_go(value[index]))
    elif schema.list_type == "map":
        yield from _map_problems(value, schema.list_keys, path)


def _map_problems(value: list[Any], keys: Sequence[str], path: str) -> Iterator[Problem]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            yield words.invalid(f"{path}[{index}]", as_go(item), "must be an object for an array of list-type map")
            return
    named = [{key: item[key] for key in keys if key in item} if item else {} for item in value]
    for index in _repeated(named):
        yield words.duplicate(f"{path}[{index}]", as_go(named[index]))


def _repeated(items: Sequence[Any]) -> list[int]:
    """Where something stands for the second time."""
    times: dict[bytes, int] = {}
    found = []
    for index, item in enumerate(items):
        key = _encoder.encode(item)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:  # noqa: PLR2004 - the second time, as the docstring says
            found.append(index)
    return found
