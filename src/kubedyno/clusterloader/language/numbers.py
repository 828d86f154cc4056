"""Numbers as ClusterLoader2 takes and makes them: floats on the way, whatever comes in and goes out. Pure."""

import math
import re
from typing import Any, Final

from kubedyno.kube.gotemplate.floats import float_text
from kubedyno.kube.gotemplate.quoting import quoted

MOST: Final = 1_000_000
"""Items or characters that one call in a template may make."""
_DECIMAL = re.compile(r"[+-]?[0-9_.]+(?:[eE][+-]?[0-9_]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F_.]+[pP][+-]?[0-9_]+")
_NAMED: Final = {
    "nan": math.nan,
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
}
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_CITED: Final = 60  # characters of a text in an error


def parse_float(text: str) -> float | None:
    """What Go's `ParseFloat` reads; None: it is no number, or too large for one."""
    try:
        if _DECIMAL.fullmatch(text):
            value = float(text)
            return value if math.isfinite(value) else None
        if _HEXADECIMAL.fullmatch(text):
            return float.fromhex(text.replace("_", ""))
    except (ValueError, OverflowError):
        return None
    return _NAMED.get(text.lower())


def number(value: Any) -> float:
    """A number, or a text that is one. `ValueError` for all else: nothing is taken for 0 in silence."""
    found: float | None = None
    match value:
        case bool():
            pass
        case int() | float():
            found = float(value)
        case str():
            found = parse_float(value)
    if found is None or math.isnan(found):
        raise ValueError(_no_number(value))
    return found


def _no_number(value: Any) -> str:
    match value:
        case None:
            return "a value is missing where a number is needed; give it one with DefaultParam"
        case bool():
            shown = str(value).lower()
        case str():
            shown = quoted(value[:_CITED])
        case float():
            shown = "NaN"
        case _:
            shown = "a list" if isinstance(value, list) else "a mapping"
    return f"{shown} is no number"


def whole(value: float) -> int:
    """The part before the point; `ValueError` where it has more than Go's 64 bits."""
    if not (math.isfinite(value) and _INT_MIN <= int(value) <= _INT_MAX):
        sign = "-" if value < 0 else ""
        raise ValueError(f"{sign}{float_text(abs(value), 'g', None)} is too large for a whole number")
    return int(value)


def size(value: Any) -> int:
    """How many items or characters are asked for; `ValueError` when they are fewer than none or too many."""
    count = whole(number(value))
    if count < 0:
        raise ValueError(f"{count} is no size; it must be 0 or more")
    if count > MOST:
        raise ValueError(f"{count} is too large a size; at most {MOST} are made at once")
    return count
