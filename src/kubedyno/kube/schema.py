"""The types of Kubernetes' own kinds: fields, list and merge keys, enums, defaults, as the real API server tells them.

The table `schema.json` is made by `scripts/schema` from a real server's OpenAPI documents and its Go structs (`openapi`
and `gostructs` say how it is written); a test on the local engine fails when they drift apart. It is read when first
asked for.
"""

import functools
from pathlib import Path
from typing import Any, Literal

import msgspec

from kubedyno.kube.gostructs import Presence

_TABLE = Path(__file__).with_name("schema.json")

Shape = Literal["scalar", "object", "list", "map"]


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one field."""

    shape: Shape
    of: str
    """The scalar's name, or the type of the object, of the list's items, or of the map's values."""
    of_objects: bool
    """Whether `of` names a type of the table."""
    required: bool = False
    embedded: bool = False
    """Whether the server's own objects always have it, if empty: it is a struct without a pointer."""
    enum: tuple[str, ...] = ()
    default: Any = None
    list_type: str = ""
    """`map`, `set`, `atomic`; empty: nothing is said, which means atomic."""
    list_keys: tuple[str, ...] = ()
    """What identifies an item of a list of type `map`."""
    atomic_map: bool = False
    merge_key: str | None = None
    """For strategic merge patches: items are merged by this key; empty: plain values are united; None: replaced."""
    replace: bool = False
    """For strategic merge patches: an object is taken from the patch as a whole."""
    micro: bool = False
    """Whether a time is printed with microseconds."""
    presence: Presence = ""
    """When the server prints it; `gostructs` has the words."""


class Type(msgspec.Struct, frozen=True, kw_only=True):
    """An object type."""

    name: str
    fields: dict[str, Field]
    atomic: bool
    """Whether server-side apply owns its objects as a whole."""


class _Table(msgspec.Struct, frozen=True):
    kubernetes: str
    kinds: dict[str, str]
    atomic: dict[str, bool]
    types: dict[str, dict[str, str]]


@functools.cache
def _table() -> _Table:
    return msgspec.json.decode(_TABLE.read_bytes(), type=_Table)


def kubernetes_version() -> str:
    """The version of the server that the table was made from."""
    return _table().kubernetes


def kinds() -> tuple[str, ...]:
    """All kinds of the table, as `apiVersion/kind`."""
    return tuple(_table().kinds)


def type_of(api_version: str, kind: str) -> Type | None:
    """The type of a kind; None for a kind that is not Kubernetes' own."""
    name = _table().kinds.get(f"{api_version}/{kind}")
    return None if name is None else type_named(name)


@functools.cache
def type_named(name: str) -> Type:
    """The type of that name in the table (`core.v1.PodSpec`)."""
    fields = {field: _parsed(text) for field, text in _table().types[name].items()}
    return Type(name=name, fields=fields, atomic=_table().atomic.get(name, False))


def _parsed(text: str) -> Field:
    """A field from its line in the table."""
    type_text, *words = text.split(" ")
    shapes: dict[str, Shape] = {"[]": "list", "{}": "map"}
    shape = shapes.get(type_text[:2])
    of = type_text[2:] if shape else type_text
    of_objects = of.startswith("@")
    found: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        match name:
            case "required" | "embedded" | "replace" | "micro":
                found[name] = True
            case "given" | "always" | "null":
                found["presence"] = name
            case "enum":
                found["enum"] = tuple(value.split("|"))
            case "default":
                found["default"] = msgspec.json.decode(value)
            case "list":
                list_type, _, keys = value.partition(":")
                found["list_type"] = list_type
                found["list_keys"] = tuple(keys.split(",")) if keys else ()
            case "map":
                found["atomic_map"] = value == "atomic"
            case "merge":
                found["merge_key"] = value
    return Field(
        shape=shape or ("object" if of_objects else "scalar"), of=of.lstrip("@"), of_objects=of_objects, **found
    )
