"""OpenAPI v2 as protocol buffers, which is the only form that client-go asks for.

The messages are those of gnostic's `OpenAPIv2.proto`; of each the fields are told that our documents use: name in
JSON, number, and how the value is written.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kube.codec import Object

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""What it is sent as."""

OLD_CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""What client-go asks for: no media type that Go's own library could read, so it is not answered with."""

_Writer = Callable[[int, Any], bytes]
"""The number of a field and its value to bytes."""


def encode(swagger: Object) -> bytes:
    """The document of `v2.swagger` as bytes."""
    return _fields(_DOCUMENT, swagger, extensions=16)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits in each byte
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _block(number: int, content: bytes) -> bytes:
    """A field that holds a text or a message: wire type 2, with its length."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _text(number: int, value: str) -> bytes:
    return _block(number, value.encode())


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3) + _varint(int(value))


def _number(number: int, value: float) -> bytes:
    """A field of type double: wire type 1."""
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_text(number, value) for value in values)


def _any(number: int, value: Any) -> bytes:
    """A free value: gnostic keeps its YAML, of which JSON is a part."""
    return _block(number, _text(2, msgspec.json.encode(value).decode()))


def _anys(number: int, values: Iterable[Any]) -> bytes:
    return b"".join(_any(number, value) for value in values)


def _named(number: int, values: Mapping[str, Any], inner: _Writer) -> bytes:
    """A map: repeated pairs of a name (1) and a value (2)."""
    return b"".join(_block(number, _text(1, name) + inner(2, value)) for name, value in values.items())


def _fields(table: Mapping[str, tuple[int, _Writer]], content: Mapping[str, Any], *, extensions: int) -> bytes:
    """The fields of a message in the order of the content; `extensions` is the field of all names with `x-`."""
    found = []
    for name, value in content.items():
        if name.startswith("x-"):
            found.append(_named(extensions, {name: value}, _any))
        elif name in table:
            number, write = table[name]
            found.append(write(number, value))
    return b"".join(found)


def _schema(number: int, value: Mapping[str, Any]) -> bytes:
    return _block(number, _fields(_SCHEMA, value, extensions=31))


def _schemas(number: int, value: Mapping[str, Any]) -> bytes:
    return _block(number, _named(1, value, _schema))


def _additional(number: int, value: Any) -> bytes:
    return _block(number, _flag(2, value) if isinstance(value, bool) else _schema(1, value))


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _parameters(number: int, values: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(_block(number, _block(1, _parameter(value))) for value in values)


def _parameter(value: Mapping[str, Any]) -> bytes:
    match value["in"]:
        case "body":
            return _block(1, _fields(_BODY, value, extensions=6))
        case "query":
            return _block(2, _block(3, _fields(_QUERY, value, extensions=23)))
    return _block(2, _block(4, _fields(_IN_PATH, value, extensions=22)))


def _responses(number: int, values: Mapping[str, Any]) -> bytes:
    def response(inner: int, value: Mapping[str, Any]) -> bytes:
        return _block(inner, _block(1, _fields(_RESPONSE, value, extensions=5)))

    return _block(number, _named(1, values, response))


def _operation(number: int, value: Mapping[str, Any]) -> bytes:
    return _block(number, _fields(_OPERATION, value, extensions=13))


def _paths(number: int, values: Mapping[str, Any]) -> bytes:
    def path(inner: int, value: Mapping[str, Any]) -> bytes:
        return _block(inner, _fields(_PATH, value, extensions=10))

    return _block(number, _named(2, values, path))


_SCHEMA: Mapping[str, tuple[int, _Writer]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "multipleOf": (6, _number),
    "maximum": (7, _number),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, _number),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _texts),
    "enum": (20, _anys),
    "additionalProperties": (21, _additional),
    "type": (22, lambda number, value: _block(number, _text(1, value))),
    "items": (23, lambda number, value: _block(number, _schema(1, value))),
    "properties": (25, _schemas),
}
_BODY: Mapping[str, tuple[int, _Writer]] = {
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, _schema),
}
_QUERY: Mapping[str, tuple[int, _Writer]] = {
    "in": (2, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _flag),
}
_IN_PATH: Mapping[str, tuple[int, _Writer]] = {
    "required": (1, _flag),
    "in": (2, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _flag),
}
_RESPONSE: Mapping[str, tuple[int, _Writer]] = {
    "description": (1, _text),
    "schema": (2, lambda number, value: _block(number, _schema(1, value))),
}
_OPERATION: Mapping[str, tuple[int, _Writer]] = {
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _responses),
}
_PATH: Mapping[str, tuple[int, _Writer]] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameters),
}
_DOCUMENT: Mapping[str, tuple[int, _Writer]] = {
    "swagger": (1, _text),
    "info": (2, lambda number, value: _block(number, _text(1, value["title"]) + _text(2, value["version"]))),
    "paths": (8, _paths),
    "definitions": (9, _schemas),
}
