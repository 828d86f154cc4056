"""Values as the API server prints them in messages: Go's JSON, of its own types where it has such."""

import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.kinds.rules.internal_types import TYPES
from kubedyno.kube.problems import Problem

_ZEROS: Final = {"s": '""', "i": "0", "b": "false", "q": '"0"', "n": "null", "l": "null"}
_META_ORDER: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
# The internal pod has these in its security context.
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_encoder = msgspec.json.Encoder(order="sorted")


class _Field(msgspec.Struct, frozen=True):
    """One field of a row: `code` and `type` as in the table, `key` the JSON name in lower case."""

    name: str
    key: str
    code: str
    type: str


@functools.cache
def _rows() -> Mapping[str, tuple[_Field, ...]]:
    rows: dict[str, tuple[_Field, ...]] = {}
    for row in TYPES.replace("\n  ", " ").strip().splitlines():
        name, *fields = row.split()
        rows[name] = tuple(map(_field, fields))
    return rows


def _field(text: str) -> _Field:
    if text.startswith("+"):
        return _Field("", "", "+", text[1:])
    names, _, code = text.partition(":")
    name, _, key = names.partition("=")
    return _Field(name, (key or name).lower(), code[0], code[1:])


def go_json(value: Any) -> str:
    """JSON as Go writes it: keys sorted, and the signs that HTML is afraid of escaped."""
    text = _encoder.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def label_selector(selector: Mapping[str, Any]) -> str:
    """A label selector as Go prints it: labels before expressions."""
    parts = [
        f'"{name}":{go_json(selector[name])}' for name in ("matchLabels", "matchExpressions") if selector.get(name)
    ]
    return "{" + ",".join(parts) + "}"


def internal(type_name: str, value: Mapping[str, Any]) -> str:
    """A value, given as JSON of the public API, as Go prints the server's own type of it."""
    return "{" + ",".join(_fields(type_name, value)) + "}"


def _fields(type_name: str, value: Mapping[str, Any]) -> list[str]:
    if type_name == "meta":
        metadata = value.get("metadata") or {}
        return [f'"{name}":{go_json(metadata[name])}' for name in _META_ORDER if metadata.get(name)]
    given = {key.lower(): entry for key, entry in value.items()}
    if type_name == "PodSpec" and "securityContext" in value:
        host = {name: value[name] for name in _HOST_FIELDS if name in value}
        given["securitycontext"] = {**value["securityContext"], **host}
    parts: list[str] = []
    for field in _rows()[type_name]:
        if field.code == "+":
            parts += _fields(field.type, value)
        else:
            parts.append(f'"{field.name}":{_printed(field, given.get(field.key))}')
    return parts


def _printed(field: _Field, value: Any) -> str:
    if value is None:
        return internal(field.type, {}) if field.code == "." else _ZEROS.get(field.code, "null")
    match field.code:
        case "." | "*":
            return internal(field.type, value)
        case "[":
            return "[" + ",".join(internal(field.type, entry) for entry in value) + "]"
        case "{":
            return "{" + ",".join(f"{go_json(key)}:{internal(field.type, value[key])}" for key in sorted(value)) + "}"
        case "l":
            return label_selector(value)
        case _:
            return go_json(value)


def invalid_printed(path: str, printed: str, detail: str) -> Problem:
    """It cannot be this value, which is printed already."""
    said = f"Invalid value: {printed}"
    return Problem(path, "FieldValueInvalid", f"{said}: {detail}" if detail else said)


def not_supported_printed(path: str, printed: str, *supported: str) -> Problem:
    """It is none of the values that there are; it is printed already."""
    told = ", ".join(map(go_json, supported))
    return Problem(path, "FieldValueNotSupported", f"Unsupported value: {printed}: supported values: {told}")


def invalid_unnamed(path: str, detail: str) -> Problem:
    """It cannot be so; the server does not print the value."""
    return Problem(path, "FieldValueInvalid", f"Invalid value: {detail}")


def immutable(path: str, new: Any, old: Any, type_name: str = "") -> list[Problem]:
    """The problem of a field that may not change, if it has; `type_name` is the server's own type of a mapping."""
    if new == old or (_is_nothing(new) and _is_nothing(old)):
        return []
    if new is not None and type_name == "LabelSelector":
        printed = label_selector(new)
    elif new is not None and type_name:
        printed = internal(type_name, new)
    else:
        printed = go_json(new)
    return [invalid_printed(path, printed, "field is immutable")]


def _is_nothing(value: Any) -> bool:
    """Whether Go's semantic comparison takes it for absent: nil and empty lists and maps are the same to it."""
    return value is None or value in ([], {})
