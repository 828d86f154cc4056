"""From one type to another, and the few functions of the language itself."""

import math
import re
from typing import Any, Final

from kubedyno.kube.cel.errors import EvaluationError
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.operators import int_of, timestamp_of, uint_of
from kubedyno.kube.cel.regexes import BadPattern, compiled
from kubedyno.kube.cel.times import duration_text, read_duration, read_timestamp, timestamp_text
from kubedyno.kube.cel.values import MOST_INT, NANOS, Duration, Timestamp, TypeValue, Uint, go_float, type_name

_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_NATURAL: Final = re.compile(r"[0-9]+")
_FLOAT: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan"
    r"|0x(?:[0-9a-f]+(?:\.[0-9a-f]*)?|\.[0-9a-f]+)p[+-]?[0-9]+)",
    re.IGNORECASE,
)
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_LARGEST_EXACT: Final = 2.0**63


def _unreadable(target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{target}'")


def _int_of_double(value: float) -> int:
    # The largest double below 2^63 is refused with those beyond it, as in cel-go.
    if math.isnan(value) or math.isinf(value) or not -_LARGEST_EXACT < value < _LARGEST_EXACT:
        raise EvaluationError("integer overflow")
    return int(value)


def _uint_of_double(value: float) -> Uint:
    if math.isnan(value) or math.isinf(value) or value < 0 or value >= 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(value))


def _int_of_text(text: str) -> int:
    if _WHOLE.fullmatch(text) and -MOST_INT - 1 <= int(text) <= MOST_INT:
        return int(text)
    raise _unreadable("int")


def _uint_of_text(text: str) -> Uint:
    if _NATURAL.fullmatch(text) and int(text) < 2**64:
        return Uint(int(text))
    raise _unreadable("uint")


def _double_of_text(text: str) -> float:
    text = re.sub(r"(?<=[0-9])_(?=[0-9])", "", text)
    if not _FLOAT.fullmatch(text):
        raise _unreadable("double")
    number = float.fromhex(text) if "x" in text.lower() else float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise _unreadable("double")
    return number


def _bool_of_text(text: str) -> bool:
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    raise _unreadable("bool")


def _text_of_bytes(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _timestamp_of_text(text: str) -> Timestamp:
    moment = read_timestamp(text)
    if moment is None:
        raise _unreadable("google.protobuf.Timestamp")
    return moment


def _duration_of_text(text: str) -> Duration:
    length = read_duration(text)
    if length is None:
        raise _unreadable("google.protobuf.Duration")
    return length


def same(value: Any) -> Any:
    """The value itself."""
    return value


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    try:
        return compiled(pattern).search(text) is not None
    except BadPattern as error:
        raise EvaluationError(str(error)) from None


def _with_size(make: Any) -> tuple[Any, ...]:
    return tuple(make(kind, len) for kind in ("string", "list", "map", "bytes"))


FUNCTIONS: Final[Library] = {
    "size": (*_with_size(of), *_with_size(on)),
    "type": (of("any", lambda value: TypeValue(type_name(value))),),
    "dyn": (of("any", same),),
    "int": (
        of("int", same),
        of("uint", lambda value: int_of(int(value))),
        of("double", _int_of_double),
        of("string", _int_of_text),
        of("timestamp", lambda moment: moment.nanos // NANOS),
        of("duration", lambda length: length.nanos),
    ),
    "uint": (
        of("uint", same),
        of("int", uint_of),
        of("double", _uint_of_double),
        of("string", _uint_of_text),
    ),
    "double": (
        of("double", same),
        of("int", float),
        of("uint", float),
        of("string", _double_of_text),
    ),
    "bool": (of("bool", same), of("string", _bool_of_text)),
    "bytes": (of("bytes", same), of("string", str.encode)),
    "string": (
        of("string", same),
        of("bool", lambda value: "true" if value else "false"),
        of("int", str),
        of("uint", lambda value: str(int(value))),
        of("double", go_float),
        of("bytes", _text_of_bytes),
        of("timestamp", timestamp_text),
        of("duration", duration_text),
    ),
    "timestamp": (
        of("timestamp", same),
        of("string", _timestamp_of_text),
        of("int", lambda seconds: timestamp_of(seconds * NANOS)),
    ),
    "duration": (of("duration", same), of("string", _duration_of_text), of("int", Duration)),
    "contains": (on("string string", lambda text, part: part in text),),
    "startsWith": (on("string string", str.startswith),),
    "endsWith": (on("string string", str.endswith),),
    "matches": (on("string string", matches), of("string string", matches)),
}
