"""Numbers and characters as they are written in a template, with Go's readings of them."""

import math
import re
from typing import Final

from kubedyno.kube.gotemplate.nodes import NumberLiteral
from kubedyno.kube.gotemplate.quoting import quoted, read_char

_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_FLOAT_SIGNS: Final = frozenset(".eEpP")
_LEGACY_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_HEX_FLOAT = re.compile(r"[-+]?0[xX][0-9a-fA-F_.]+[pP][-+]?[0-9_]+")


def read_char_constant(at: int, source: str) -> NumberLiteral:
    """`'a'` is the number of the character."""
    code, _, end = read_char(source[1:], 0, "'")
    if source[1 + end :] != "'":
        raise ValueError(f"malformed character constant: {source}")
    return NumberLiteral(at, source, code, code, float(code))


def read_number(at: int, source: str) -> NumberLiteral:
    """A whole number or a float; `ValueError` with Go's words when it is neither."""
    integer = _integer(source)
    signless = integer is not None and source[0] not in "+-"
    if integer is not None and _INT_MIN <= integer <= _INT_MAX:
        floating: float | None = float(integer)
    elif integer is not None and signless and integer <= _UINT_MAX:
        return NumberLiteral(at, source, None, None, float(integer))
    else:
        floating = _float(source)
        if floating is None:
            raise ValueError(f"illegal number syntax: {quoted(source)}")
        if not _FLOAT_SIGNS & set(source):
            raise ValueError(f"integer overflow: {quoted(source)}")
        whole = floating.is_integer() and _INT_MIN <= floating <= _INT_MAX
        integer = int(floating) if whole else None
    value = floating if _FLOAT_SIGNS & set(source) and not _is_hex(source) else integer
    return NumberLiteral(at, source, value, integer, floating)


def _is_hex(source: str) -> bool:
    """Whether the letters in it are digits; with a sign before it, Go takes it for a float."""
    return source[:2] in {"0x", "0X"} and not {"p", "P"} & set(source)


def _integer(source: str) -> int | None:
    try:
        return int(source, 8 if _LEGACY_OCTAL.fullmatch(source) else 0)
    except ValueError:
        return None


def _float(source: str) -> float | None:
    try:
        value = float.fromhex(source.replace("_", "")) if _HEX_FLOAT.fullmatch(source) else float(source)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None
