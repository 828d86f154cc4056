"""Rows of custom resources: the columns that their definition asks for, each a JSONPath into the object."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from kubedyno.kinds.custom import paths
from kubedyno.kinds.tables.ages import since
from kubedyno.kinds.tables.printing import NAME, Cell, Column, Printer, columns
from kubedyno.kube.codec import Object

_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_SORTED = msgspec.json.Encoder(order="deterministic")
# Go's JSON escapes these for the sake of browsers.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_EXPONENT_FROM = 6
_INT64 = range(-(2**63), 2**63)
_EXPONENT_BELOW = -4


def custom_printer(definitions: Sequence[Mapping[str, Any]]) -> Printer:
    """The printer of `additionalPrinterColumns`; a definition without any has the age alone."""
    chosen = definitions or [_AGE]
    told = tuple(
        Column(
            name=entry["name"],
            type=entry["type"],
            format=entry.get("format") or "",
            priority=entry.get("priority") or 0,
            description=entry.get("description")
            or f"Custom resource definition column (in JSONPath format): {entry['jsonPath']}",
        )
        for entry in chosen
    )
    getters = tuple(_cell(entry["type"], entry["jsonPath"]) for entry in chosen)

    def cells(obj: Object, now_ns: int) -> list[Any]:
        return [NAME[1](obj, now_ns), *(getter(obj, now_ns) for getter in getters)]

    return Printer(columns=(*columns("Name"), *told), cells=cells)


def scale_printer() -> Printer:
    """The printer of a custom resource's `scale`."""
    return custom_printer(
        [
            {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas"},
            {"name": "Available", "type": "integer", "jsonPath": ".status.replicas"},
            _AGE,
        ]
    )


def _cell(type_: str, path: str) -> Cell:
    def cell(obj: Object, now_ns: int) -> Any:
        found = paths.read(path, obj)
        # Of several values the first is shown.
        return _shown(type_, found[0], now_ns) if found else None

    return cell


def _shown(type_: str, value: Any, now_ns: int) -> Any:
    """A value in a column of that type; None where it does not fit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "string":
            return _text(value)
        case "integer" if is_number:
            return int(value)
        case "number" if is_number:
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return _date(value, now_ns)
    return None


def _date(written: str, now_ns: int) -> str:
    try:
        return since(None if written == "null" else written, now_ns)
    except ValueError:
        return "<invalid>"


def _text(value: Any) -> str:  # noqa: PLR0911 - one branch per JSON type
    """Any value as text: scalars as Go prints them, lists and maps as JSON."""
    match value:
        case None:
            return "<no value>"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value)
        case int() if value not in _INT64:
            return _float_text(float(value))
        case dict() | list():
            return _SORTED.encode(value).decode().translate(_ESCAPES)
    return str(value)


def _float_text(value: float) -> str:
    """A number with a fraction as Go's `%v`: the shortest digits, with an exponent of two digits where it is large."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - JSON has no infinities
    power = len(digits) + exponent - 1
    if value and (power < _EXPONENT_BELOW or power >= _EXPONENT_FROM):
        whole, rest = str(digits[0]), "".join(map(str, digits[1:]))
        mantissa = f"{whole}.{rest}" if rest else whole
        return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return f"{Decimal(repr(value)).normalize():f}"
