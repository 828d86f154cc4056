"""Defaults of a schema must themselves be allowed by it."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kubedyno.kinds.custom import embedded, pruning, structural, validating
from kubedyno.kinds.custom.findings import as_go
from kubedyno.kinds.custom.structural import Schema
from kubedyno.kube.meta import copied
from kubedyno.kube.problems import Problem, invalid


def default_problems(raw: Mapping[str, Any], path: str) -> list[Problem]:
    """What is wrong with defaults anywhere in a structural schema that stands at `path`."""
    root = msgspec.structs.replace(structural.parse(raw), embedded=True, has_embedded=True)
    return list(_walk(root, path))


def _walk(schema: Schema, path: str) -> Iterator[Problem]:
    if not schema.has_defaults:
        return
    if schema.default is not None:
        yield from _problems(schema, f"{path}.default")
    if schema.items is not None:
        yield from _walk(schema.items, f"{path}.items")
    for name, below in schema.properties.items():
        yield from _walk(below, f"{path}.properties[{name}]")


def _problems(schema: Schema, path: str) -> Iterator[Problem]:
    value = copied(schema.default)
    if pruning.unknown_in(value, schema):
        yield invalid(path, as_go(value), "must not have unknown fields")
    reading = embedded.inner(value, schema)
    if reading.error:
        field, _, message = reading.error.partition(": ")
        yield Problem(f"{path}{field}", "FieldValueInvalid", message)
        return
    inside = embedded.embedded_problems(value, schema)
    # A default is held against the schema as it is written: nothing is known of integers that may be strings.
    written = msgspec.structs.replace(schema, types=(schema.type,) if schema.type else (), format=schema.raw_format)
    yield from (Problem(f"{path}{one.field}", one.reason, one.message) for one in inside)
    if not inside:
        yield from validating.value_problems(value, written, path)
