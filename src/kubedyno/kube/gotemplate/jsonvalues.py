"""JSON as Go's encoder writes it, and decoded JSON with the number types that Go's decoder would give."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from kubedyno.kube.gotemplate.values import Number

_ESCAPES: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_encode = json.JSONEncoder(ensure_ascii=False).encode
_NO_UTF8 = re.compile("[\ud800-\udfff]")
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def with_numbers(data: Any) -> Any:
    """Decoded JSON with every number as a `Number`, as Go's decoder gives it under `UseNumber`."""
    return _converted(data, _number)


def with_floats(data: Any) -> Any:
    """Decoded JSON with every number as a float, as Go's decoder gives it when not told otherwise."""
    return _converted(data, float)


def _converted(data: Any, number: Callable[[Any], Any]) -> Any:
    kind = type(data)
    if kind is dict:
        return {key: _converted(value, number) for key, value in data.items()}
    if kind is list:
        return [_converted(value, number) for value in data]
    return number(data) if kind is int or kind is float else data


def _number(value: Any) -> Number:
    return Number(json_text(value))


def json_text(value: Any) -> str:  # noqa: PLR0911 - one case for each type
    """The value as Go's encoder writes it: keys sorted, nothing between, and what HTML would mind escaped."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Number():
            return str(value) or "0"
        case str():
            # Go's encoder puts the replacement character for what is no UTF-8.
            text = _encode(_NO_UTF8.sub("\ufffd", value))
            return _UNSAFE.sub(lambda found: _ESCAPES[found[0]], text)
        case int():
            return int.__repr__(value)
        case float():
            return _json_float(value)
        case list():
            return f"[{','.join(map(json_text, value))}]"
        case _:
            return "{" + ",".join(f"{json_text(key)}:{json_text(value[key])}" for key in sorted(value)) + "}"


def _json_float(value: float) -> str:
    """As JavaScript writes it: plain from 1e-6 to 1e21, with an exponent without leading zeros beyond."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:  # noqa: PLR2004 - the bounds named above
        digits = format(value, ".0f") if value == int(value) else _plain(repr(value))
        return "-0" if value == 0 and repr(value).startswith("-") else digits
    return re.sub(r"e([-+])0(\d)$", r"e\1\2", repr(value)).replace("e-0", "e-")


def _plain(text: str) -> str:
    """Digits with an exponent written out."""
    if "e-" not in text:
        return text
    digits, exponent = text.split("e-")
    sign = "-" if digits.startswith("-") else ""
    digits = digits.lstrip("-").replace(".", "")
    return f"{sign}0.{'0' * (int(exponent) - 1)}{digits}"
