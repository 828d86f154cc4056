"""What validation finds, before it is told: the sentences of the OpenAPI library that the API server asks."""

from decimal import Decimal
from typing import Any

import msgspec

from kubedyno.kube import problems
from kubedyno.kube.problems import Problem

NOWHERE = "<nil>"
"""What the server calls the place of an error that has no path."""

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_JSON_EXPONENT_FROM = 1e21
_SMALLEST_PLAIN_POWER, _EXPONENT_FROM_POWER = -4, 6


class Finding(msgspec.Struct, frozen=True):
    """One error of the library: `place` is empty where it knows none."""

    reason: str
    place: str
    text: str
    value: Any = ""


Findings = dict[str, Finding]
"""By their sentence: the library tells the same one once."""


def add(found: Findings, reason: str, place: str, text: str, value: Any = "") -> None:
    """Note an error, unless it was noted."""
    found.setdefault(text, Finding(reason, place, text, value))


def merge(found: Findings, more: Findings) -> None:
    """Note errors that were found elsewhere."""
    for text, finding in more.items():
        found.setdefault(text, finding)


def told(finding: Finding, above: str) -> Problem:
    """The problem that the server makes of it, for an object whose own place is `above`."""
    field = ".".join(part for part in (above, finding.place.removeprefix(".")) if part) or NOWHERE
    value = finding.value
    match finding.reason:
        case "FieldValueRequired":
            return problems.required(field)
        case "FieldValueNotSupported":
            actual, allowed = value
            return problems.not_supported(field, as_go(actual), allowed)
        case "FieldValueTooLong":
            return problems.too_long(field, value)
        case "FieldValueTooMany":
            actual, at_most = value
            return problems.too_many(field, actual, at_most)
        case "FieldValueTypeInvalid":
            return problems.wrong_type(field, as_go(value), finding.text)
        case _:
            return problems.invalid(field, as_go(value), finding.text)


def as_go(value: Any) -> Any:
    """A value whose JSON is what Go prints in a message: a number by itself is written in another way than inside."""
    if isinstance(value, int) and not isinstance(value, bool) and not is_int64(value):
        value = float(value)
    return msgspec.Raw(go_number(value).encode()) if isinstance(value, float) else as_go_json(value)


def as_go_json(value: Any) -> Any:
    """A value whose JSON is that of Go's encoder: keys in order, floats without a fraction as integers."""
    if isinstance(value, dict):
        return {name: as_go_json(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [as_go_json(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not is_int64(value):
        value = float(value)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _JSON_EXPONENT_FROM
    return int(Decimal(repr(value))) if is_whole else value


def is_int64(value: int) -> bool:
    """Whether Go reads the number as an integer; larger ones are floats."""
    return _SMALLEST <= value <= _LARGEST


def go_number(value: float) -> str:
    """A number as Go prints it in a sentence: floats of a million or more, and very small ones, with an exponent."""
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int) or value == 0:
        return str(value).removesuffix(".0")
    power = len(digits) + exponent - 1
    if _SMALLEST_PLAIN_POWER <= power < _EXPONENT_FROM_POWER:
        return format(Decimal(repr(value)).normalize(), "f")
    written = "".join(map(str, digits))
    mantissa = f"{written[0]}.{written[1:]}" if len(written) > 1 else written
    return f"{'-' if sign else ''}{mantissa}e{power:+03d}"
