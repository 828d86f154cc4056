"""Whether a configuration that is applied to a custom kind has the types of its schema.

A server-side apply looks at types before anything else, in its own words: fields that the schema does not have are
refused here, where other writes drop them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from kubedyno.kinds.custom.scaling import GO_TYPES, go_text
from kubedyno.kinds.custom.structural import Schema
from kubedyno.kube import schema as built_in
from kubedyno.kube.codec import Object
from kubedyno.kube.schema import Field

_SCALARS = {"string": "string", "int64": "integer", "bool": "boolean"}
_encoder = msgspec.json.Encoder(order="sorted")


def misfit(config: Object, schema: Schema) -> str:
    """What does not fit, as told after `failed to create typed patch object (...): `; empty: everything does."""
    found = list(_members(config, _as_resource(schema), "", preserves=schema.preserve_unknown))
    if len(found) > 1:
        return "\n  ".join(["errors:", *found])
    return found[0] if found else ""


def _as_resource(schema: Schema) -> Schema:
    """The schema with what all Kubernetes objects have."""
    text = Schema(type="string")
    extra = {"apiVersion": text, "kind": text, "metadata": _of_type("meta.v1.ObjectMeta")}
    return msgspec.structs.replace(schema, properties={**schema.properties, **extra})


def _of_type(name: str) -> Schema:
    """The schema of one of Kubernetes' own types."""
    fields = built_in.type_named(name).fields
    return Schema(type="object", properties={name: _of_field(field) for name, field in fields.items()})


def _of_field(field: Field) -> Schema:
    one = _of_type(field.of) if field.of_objects else Schema(type=_SCALARS.get(field.of, ""))
    if field.shape == "map":
        return Schema(type="object", additional=one)
    if field.shape == "list":
        return Schema(type="array", items=one, list_type=field.list_type, list_keys=field.list_keys)
    return one


def _walk(value: Any, schema: Schema | None, path: str, *, inherited: bool) -> Iterator[str]:
    """`inherited`: something above preserves what it does not know."""
    if value is None or schema is None:
        return
    preserves = inherited or schema.preserve_unknown
    match schema.type or GO_TYPES[type(value)]:
        case "object" | "map[string]interface {}":
            if isinstance(value, dict):
                known = _as_resource(schema) if schema.embedded else schema
                yield from _members(value, known, path, preserves=preserves)
            else:
                yield f"{path}: expected map, got &{{{go_text(value)}}}"
        case "array" | "[]interface {}":
            if isinstance(value, list):
                yield from _items(value, schema, path, preserves=preserves)
            else:
                yield f"{path}: expected list, got &{{{go_text(value)}}}"
        case type_:
            if told := _scalar_misfit(value, type_, schema):
                yield f"{path}: {told}"


def _scalar_misfit(value: Any, type_: str, schema: Schema) -> str:
    kind = type(value)
    match type_:
        case "integer" | "number" if kind not in {int, float}:
            return f"expected numeric (int or float), got {GO_TYPES[kind]}"
        case "boolean" if kind is not bool:
            return f"expected boolean, got &{{{go_text(value)}}}"
        case "string" if schema.raw_format not in {"", "byte"}:
            return f"expected any scalar, got &{{{go_text(value)}}}" if kind in {list, dict} else ""
        case "string" if kind is not str:
            return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
        case _:
            return ""


def _members(value: Object, schema: Schema, path: str, *, preserves: bool) -> Iterator[str]:
    is_open = preserves or schema.additional is True or (schema.additional is None and not schema.properties)
    for name, member in value.items():
        below = schema.member(name)
        if below is None and (schema.additional is False or not is_open):
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from _walk(member, below, f"{path}.{name}", inherited=preserves)


def _items(value: list[Any], schema: Schema, path: str, *, preserves: bool) -> Iterator[str]:
    seen = set[str]()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if schema.list_type in {"map", "set"}:
            place, told = _key(item, schema)
            if told:
                yield f"{path}: element {index}: {told}"
                return
            if place in seen:
                yield f"{path}: duplicate entries for key {place}"
            seen.add(place)
        yield from _walk(item, schema.items, f"{path}{place}", inherited=preserves)


def _key(item: Any, schema: Schema) -> tuple[str, str]:
    """The key of an item in a path, or why it has none."""
    return _set_key(item) if schema.list_type == "set" else _map_key(item, schema)


def _set_key(item: Any) -> tuple[str, str]:
    if item is None:
        return "", "associative list without keys has an element that's an explicit null"
    if isinstance(item, dict):
        return "", "associative list without keys has an element that's a map type"
    if isinstance(item, list):
        return "", "not supported: associative list with lists as elements"
    return f"[={_json(item)}]", ""


def _map_key(item: Any, schema: Schema) -> tuple[str, str]:
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        return "", f"associative list with keys may not have {what}"
    members = schema.items.properties if schema.items is not None else {}
    defaults = {key: members[key].default for key in schema.list_keys if key in members}
    found = {key: item.get(key, defaults.get(key)) for key in sorted(schema.list_keys)}
    told = ",".join(f"{key}={_json(value)}" for key, value in found.items() if value is not None or key in item)
    if told:
        return f"[{told}]", ""
    keys = " ".join(_json(key) for key in schema.list_keys)
    return "", (
        f"associative list with keys has an element that omits all key fields [{keys}] "
        "(and doesn't have default values for any key fields)"
    )


def _json(value: Any) -> str:
    return _encoder.encode(value).decode()


def _go_syntax(value: Any) -> str:
    """A JSON value as Go's `%#v` writes it."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_json(name)}:{_go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    return _json(value) if isinstance(value, str) else "interface {}(nil)" if value is None else go_text(value)
