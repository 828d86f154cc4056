"""Numbers held against a schema: their range, bounds and multiples."""

import math

import msgspec

from kubedyno.kinds.custom.findings import Findings, add, go_number
from kubedyno.kinds.custom.structural import Schema

_NEARLY_INTEGER = 1e-9
_LARGEST_JSON_INTEGER = 2**53 - 1
_LARGEST_FLOAT32 = 3.4028234663852886e38


class _Place(msgspec.Struct, frozen=True):
    """Where numbers are looked at, and of what type and format they must be."""

    path: str
    type: str
    format: str
    found: Findings


def is_integer(value: float) -> bool:
    """Whether a float counts as an integer, with the library's tolerance."""
    if not abs(value) <= _LARGEST_JSON_INTEGER:  # not-a-number is not either
        return False
    whole = math.trunc(value)
    return whole == value or (value > 0 and whole > 0 and abs(value - whole) / (value + whole) < _NEARLY_INTEGER)


def check(value: float, schema: Schema, path: str, found: Findings) -> None:
    """Note what is wrong with a number."""
    type_ = schema.types[0] if len(schema.types) == 1 and schema.types[0] in {"integer", "number"} else ""
    place = _Place(path, type_, schema.format if type_ else "", found)
    _fits(value, "Checked", place)
    if schema.multiple_of is not None:
        _check_multiple(value, schema.multiple_of, place)
    if schema.minimum is not None:
        bound = _bound(schema.minimum, value, "Minimum boundary", place)
        if value < bound or (schema.exclusive_minimum and value == bound):
            words = "greater than" if schema.exclusive_minimum else "greater than or equal to"
            _tell(place, f"should be {words} {go_number(bound)}", value)
    if schema.maximum is not None:
        bound = _bound(schema.maximum, value, "Maximum boundary", place)
        if value > bound or (schema.exclusive_maximum and value == bound):
            words = "less than" if schema.exclusive_maximum else "less than or equal to"
            _tell(place, f"should be {words} {go_number(bound)}", value)


def _tell(place: _Place, text: str, value: float) -> None:
    add(place.found, "FieldValueInvalid", place.path, f"{place.path} in body {text}", value)


def _bound(bound: float, value: float, what: str, place: _Place) -> float:
    """The bound as it is compared: an integer's bound loses its fraction."""
    return int(bound) if _fits(bound, what, place) and isinstance(value, int) else bound


def _check_multiple(value: float, factor: float, place: _Place) -> None:
    is_whole = _fits(factor, "MultipleOf", place) and isinstance(value, int)
    divisor = int(factor) if is_whole else factor
    if divisor <= 0:
        text = f"factor MultipleOf declared for {place.path} must be positive: {go_number(divisor)}"
        add(place.found, "FieldValueInvalid", place.path, text, divisor)
        return
    quotient = 1 / divisor * value if divisor < 1 else value / divisor
    if not (value % divisor == 0 if is_whole else is_integer(quotient)):
        _tell(place, f"should be a multiple of {go_number(divisor)}", value)


def _fits(value: float, what: str, place: _Place) -> bool:
    """Whether a number can be one of the type and format at all."""
    if place.type == "integer":
        bits = 31 if place.format == "int32" else 63
        fits = float(value).is_integer() and -(2**bits) <= value < 2**bits
    else:
        fits = place.format != "float" or abs(value) <= _LARGEST_FLOAT32
    if not fits:
        said = f"with format {place.format}" if place.format else "(default format)"
        add(place.found, "FieldValueInvalid", "", f"{what} value must be of type {place.type} {said} in {place.path}")
    return fits
