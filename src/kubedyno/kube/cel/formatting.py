"""`"%s and %.2f".format([...])`."""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from kubedyno.kube.cel.errors import EvaluationError
from kubedyno.kube.cel.times import duration_text, timestamp_text
from kubedyno.kube.cel.values import Duration, Timestamp, TypeValue, Uint, entries, go_float, is_list, is_map, type_name

_CLAUSE: Final = re.compile(r"%(?:\.([0-9]+))?([\s\S]?)")
_PRECISION: Final = 6
_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def formatted(text: str, values: Any) -> str:
    """The text with its clauses filled in, one value after the other."""
    parts: list[str] = []
    last = used = 0
    for clause in _CLAUSE.finditer(text):
        parts.append(text[last : clause.start()])
        last = clause.end()
        precision, kind = clause[1], clause[2]
        if kind == "%" and precision is None:
            parts.append("%")
            continue
        if not kind:
            raise EvaluationError("could not parse formatting clause: unexpected end of string")
        if kind not in "sdfebxXo":
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{kind}"')
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        parts.append(_filled(kind, values[used], int(precision) if precision else _PRECISION))
        used += 1
    parts.append(text[last:])
    return "".join(parts)


def _wrong(problem: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {problem}, was given {type_name(value)}")


def _filled(kind: str, value: Any, precision: int) -> str:  # noqa: PLR0911 - one line per clause
    if kind == "s":
        return _shown(value)
    if kind == "d":
        return _whole(value, "d", "decimal clause can only be used on integers")
    if kind == "o":
        return _whole(value, "o", "octal clause can only be used on integers")
    if kind == "b":
        if type(value) is bool:
            return str(int(value))
        return _whole(value, "b", "only integers and bools can be formatted as binary")
    if kind in "xX":
        if type(value) in {str, bytes}:
            digits = (value.encode() if type(value) is str else value).hex()
            return digits.upper() if kind == "X" else digits
        return _whole(value, kind, "only integers, byte buffers, and strings can be formatted as hex")
    return _fraction(kind, value, precision)


def _whole(value: Any, kind: str, problem: str) -> str:
    if type(value) is int or type(value) is Uint:
        return format(int(value), kind)
    raise _wrong(problem, value)


def _fraction(kind: str, value: Any, precision: int) -> str:
    if type(value) is str and value in _SPECIAL:
        value = _SPECIAL[value]
    if type(value) is not float:
        name = "fixed-point" if kind == "f" else "scientific"
        raise _wrong(f"{name} clause can only be used on doubles", value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if kind == "f":
        return f"{value:,.{precision}f}"
    # The precision is not heeded here: cel-go takes it for a width.
    mantissa, _, power = f"{value:.{_PRECISION}e}".partition("e")
    # Printed as people write it, as cel-go's printer of American English does.
    return f"{mantissa}\u00d710{'⁻' if power[0] == '-' else ''}{power[1:].translate(_RAISED)}"


_SHOWN: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    float: go_float,
    bytes: lambda value: value.decode(errors="replace"),
    Timestamp: timestamp_text,
    Duration: duration_text,
    TypeValue: lambda value: value.name,
    str: str,
    int: str,
    Uint: lambda value: str(int(value)),
}
_SHOWABLE: Final = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"


def _shown(value: Any) -> str:
    """Lists and maps as literals; all else as `string()` says it."""
    if is_list(value):
        return f"[{', '.join(map(_literal, value))}]"
    if is_map(value):
        return f"{{{', '.join(sorted(f'{_key(key)}:{_literal(held)}' for key, held in entries(value)))}}}"
    show = _SHOWN.get(type(value))
    if show is None:
        raise _wrong(f"string clause can only be used on {_SHOWABLE}", value)
    return show(value)


def _key(key: Any) -> str:
    if type(key) in {str, bool, int, Uint}:
        return _literal(key)
    raise EvaluationError(f"error during formatting: no formatting function for map key of type {type_name(key)}")


def _literal(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return json.dumps(value, ensure_ascii=False)
    if kind is bytes:
        return f"b{json.dumps(_shown(value), ensure_ascii=False)}"
    if kind is float:
        return f'"{go_float(value)}"' if math.isinf(value) or math.isnan(value) else f"{value:.{_PRECISION}f}"
    if kind is Timestamp:
        return f'timestamp("{timestamp_text(value)}")'
    if kind is Duration:
        return f'duration("{duration_text(value)}")'
    if type_name(value) in {"int", "uint", "bool", "null_type", "type", "list", "map"}:
        return _shown(value)
    raise EvaluationError(f"error during formatting: no formatting function for {type_name(value)}")
