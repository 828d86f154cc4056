"""Defaults of a schema, written into an object."""

from typing import Any

from kubedyno.kinds.custom.structural import Schema
from kubedyno.kube.meta import copied


def apply(value: Any, schema: Schema | None) -> None:
    """Give members that are missing their default, and also those that are null where null is not allowed.

    An object that is missing and has no default itself stays missing, whatever defaults its members have.
    """
    if schema is None or not schema.has_defaults:
        return
    if isinstance(value, dict):
        for name, below in schema.properties.items():
            if below.default is not None and (name not in value or _misses(value[name], below)):
                value[name] = copied(below.default)
        for name, member in value.items():
            below_or_none = schema.member(name)
            if name not in schema.properties and _misses(member, below_or_none):
                value[name] = copied(below_or_none.default) if below_or_none else None
            apply(value[name], below_or_none)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            if _misses(item, schema.items):
                value[index] = copied(schema.items.default)
            apply(value[index], schema.items)


def _misses(value: Any, schema: Schema | None) -> bool:
    """Whether a null stands where none may."""
    return value is None and schema is not None and not schema.nullable
