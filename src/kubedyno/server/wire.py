"""Protobuf's wire format: a message as its numbered values."""

from collections.abc import Iterator
from typing import Any

from kubedyno.server.messages import Refused, bad_request

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}


def fields(raw: Any) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in their order: varints as ints without a sign, everything else as bytes."""
    if not isinstance(raw, bytes):
        raise broken()
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        if wire == _BYTES:
            length, at = _varint(raw, at)
        elif wire in _SIZES:
            length = _SIZES[wire]
        else:
            raise broken()
        if at + length > len(raw):
            raise broken()
        yield number, raw[at : at + length]
        at += length


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(raw) and shift <= 63:  # noqa: PLR2004 - ten groups of seven bits are the longest
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
            return value, at
        shift += 7
    raise broken()


def signed(value: Any) -> int:
    """A varint as a number of 64 bits with a sign."""
    if not isinstance(value, int):
        raise broken()
    bits: int = value & ((1 << 64) - 1)
    return bits - (1 << 64) if bits >> 63 else bits


def text(value: Any) -> str:
    """Bytes as text."""
    if not isinstance(value, bytes):
        raise broken()
    return value.decode("utf-8", "replace")


def broken() -> Refused:
    """400 of bytes that are no protobuf, or not that of their kind."""
    return bad_request("the protobuf body is broken")
