"""Binary data in JSON as Go reads it: which texts are base64, and what it says of those that are not."""

import base64
import binascii
from string import ascii_letters, digits

_LETTERS = frozenset(f"{ascii_letters}{digits}+/")
_LINE_ENDS = "\r\n"
_GROUP = 4


def bytes_problem(text: str) -> str:
    """What Go's decoder says of a text that is no base64; empty: it is."""
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        at = _corrupt_at(text)
        return "" if at is None else f"illegal base64 data at input byte {at}"
    return ""


def _corrupt_at(text: str) -> int | None:
    """Where Go gives up; None: it accepts more than Python does, line ends among it."""
    position = filled = 0
    for position, sign in enumerate(text):
        if sign in _LINE_ENDS:
            continue
        if sign == "=":
            return _corrupt_padding(text, position, filled)
        if sign not in _LETTERS:
            return position
        filled = (filled + 1) % _GROUP
    return len(text) - filled if filled else None


def _corrupt_padding(text: str, position: int, filled: int) -> int | None:
    """The same from the first `=` on: one or two end the last group, and nothing follows."""
    if filled < _GROUP // 2:
        return position
    rest = position + 1
    if filled == _GROUP // 2:
        rest = _skipped(text, rest)
        if rest == len(text):
            return rest
        if text[rest] != "=":
            return rest - 1
        rest += 1
    rest = _skipped(text, rest)
    return rest if rest < len(text) else None


def _skipped(text: str, position: int) -> int:
    while position < len(text) and text[position] in _LINE_ENDS:
        position += 1
    return position
