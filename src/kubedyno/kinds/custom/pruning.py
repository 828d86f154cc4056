"""Fields that the schema does not know are dropped from objects, and told."""

from typing import Any

from kubedyno.kinds.custom.structural import Schema
from kubedyno.kube.codec import Object

_META = frozenset(["apiVersion", "kind", "metadata"])


def pruned(obj: Object, schema: Schema) -> tuple[Object, list[str]]:
    """The object without unknown fields and without nulls that nothing allows; the unknown ones in order of name.

    `apiVersion`, `kind` and `metadata` stay, at the root and in embedded resources: what is unknown inside of metadata
    is found by `embedded.read`. A null stays where the schema says nullable, or has a default to put there.
    """
    unknown: list[str] = []
    kept = _object(obj, schema, "", unknown, is_resource=True)
    return kept, sorted(unknown)


def _value(value: Any, schema: Schema | None, path: str, unknown: list[str], *, keeps: bool = False) -> Any:
    """The value pruned; `keeps`: it is an item of a list that preserves what it does not know."""
    if isinstance(value, dict):
        if schema is None and keeps:
            return value
        is_resource = schema is not None and schema.embedded
        return _object(value, schema, path, unknown, keeps=keeps, is_resource=is_resource)
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        keeps_items = keeps or (schema is not None and schema.preserve_unknown)
        return [_value(item, items, f"{path}[{index}]", unknown, keeps=keeps_items) for index, item in enumerate(value)]
    return value


def _object(
    value: Object, schema: Schema | None, path: str, unknown: list[str], *, keeps: bool = False, is_resource: bool
) -> Object:
    found: Object = {}
    for name, member in value.items():
        if is_resource and name in _META:
            found[name] = member
            continue
        place = f"{path}.{name}" if path else name
        below = schema.member(name) if schema is not None else None
        if below is not None:
            if member is not None or below.nullable or below.default is not None:
                found[name] = _value(member, below, place, unknown)
        elif schema is not None and schema.additional is not None:
            found[name] = _value(member, None, place, unknown)
        elif keeps or (schema is not None and schema.preserve_unknown):
            found[name] = member
        else:
            unknown.append(place)
    return found


def unknown_in(value: Any, schema: Schema) -> list[str]:
    """The fields of a value, which need not be a whole object, that the schema does not know."""
    unknown: list[str] = []
    _value(value, schema, "", unknown)
    return unknown
