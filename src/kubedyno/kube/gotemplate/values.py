"""Go's values in Python: what the evaluator holds, of which Go type it is, and whether it counts as true.

A value is `MISSING` (Go's invalid value: a key that is not there), `Boxed` (what a list or a map holds, whose static
type is `interface {}`; `Boxed(None)` is nil), or bare: bool, int, float, str, `Number`, `Byte`, list, dict. A text is
Go's sequence of bytes: those that are no UTF-8 stand in it as Python's surrogate escapes.
"""

from typing import Any, Final

INTERFACE: Final = "interface {}"


class _Missing:
    """The only one of its kind."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


class Number(str):
    """A number as its JSON text: Go's `json.Number`, whose kind is a string, so that 0 is true and compares as text."""

    __slots__ = ()


class Byte(int):
    """One byte of a text, Go's `uint8`."""

    __slots__ = ()


class Boxed:
    """A value that a list or a map holds."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


NIL: Final = Boxed(None)

_TYPES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    float: "float64",
    str: "string",
    Number: "json.Number",
    Byte: "uint8",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    Boxed: INTERFACE,
}
_KINDS: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "string",
    Number: "string",
    Byte: "uint",
}


def type_name(value: Any) -> str:
    """Its Go type (`map[string]interface {}`); not for `MISSING` and None, which have none."""
    return _TYPES[type(value)]


def basic_kind(value: Any) -> str:
    """The kind by which Go compares it (bool, int, uint, float, string); empty: it is none of these."""
    return _KINDS.get(type(value), "")


def unboxed(value: Any) -> Any:
    """What an interface holds; nil becomes `MISSING`."""
    if type(value) is Boxed:
        return MISSING if value.value is None else value.value
    return value


def plain(value: Any) -> Any:
    """The value as a function's `any` parameter gets it: None where there is none."""
    if type(value) is Boxed:
        return value.value
    return None if value is MISSING else value


def truth(value: Any) -> bool:
    """Whether it is neither zero nor empty nor missing."""
    value = plain(value)
    return bool(value)


def go_bytes(text: str) -> bytes:
    """The bytes of a text."""
    return text.encode("utf-8", "surrogateescape")


def go_text(data: bytes) -> str:
    """The text of bytes, UTF-8 or not."""
    return data.decode("utf-8", "surrogateescape")
