"""JSON values as jq sees them: their types, their order, and how they are printed.

Booleans are no numbers here, although Python says so; `1` and `1.0` are the same number.
"""

import functools
import json
import math
from decimal import Decimal
from typing import Any, Final

from kubedyno.kube.jq.errors import EvaluationError

_PREVIEW_BYTES: Final = 30
_LARGEST_FLOAT: Final = 1.7976931348623157e308
_LARGEST_INT: Final = 2**63 - 1
_SMALLEST_INT: Final = -(2**63)
_PLAIN_FLOATS: Final = (1e-6, 1e21)
_ORDER: Final = {"null": 0, "boolean": 1, "number": 2, "string": 3, "array": 4, "object": 5}
_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def type_of(value: Any) -> str:
    """The name that jq's `type` gives it."""
    return _TYPES[type(value)]


def is_number(value: Any) -> bool:
    """Whether jq takes it for a number."""
    return type(value) in {int, float}


def is_true(value: Any) -> bool:
    """Everything but null and false counts as true."""
    return value is not None and value is not False


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1 in jq's order of all values: null, false, true, numbers, strings, arrays, objects."""
    kind = type_of(left)
    if (other := type_of(right)) != kind:
        return _sign(_ORDER[kind] - _ORDER[other])
    if kind == "array":
        return _compare_lists(left, right)
    if kind == "object":
        keys, other_keys = sorted(left), sorted(right)
        return _compare_lists(keys, other_keys) or _compare_lists(
            [left[key] for key in keys], [right[key] for key in keys]
        )
    if kind == "null" or left == right:
        return 0
    if kind == "number" and math.isnan(left):
        return -1  # as in jq, NaN is below every number, itself included
    return -1 if left < right else 1


def _compare_lists(left: list[Any], right: list[Any]) -> int:
    for one, other in zip(left, right, strict=False):
        if order := compare(one, other):
            return order
    return _sign(len(left) - len(right))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


sort_key = functools.cmp_to_key(compare)


def to_json(value: Any) -> str:
    """The value as one line of JSON with sorted keys, as `tojson` writes it."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value)
        case list():
            return f"[{','.join(map(to_json, value))}]"
        case dict():
            return f"{{{','.join(f'{to_json(key)}:{to_json(value[key])}' for key in sorted(value))}}}"
        case _:
            return "null" if value is None else str(value)


def _float_text(number: float) -> str:
    """As Go's encoder: no fraction where there is none, an exponent only for the very small and the very large."""
    if math.isnan(number):
        return "null"
    number = min(max(number, -_LARGEST_FLOAT), _LARGEST_FLOAT)
    if number == 0 or _PLAIN_FLOATS[0] <= abs(number) < _PLAIN_FLOATS[1]:
        text = f"{Decimal(repr(number)):f}"
        return text.removesuffix(".0")
    return repr(number).replace("e-0", "e-")


def to_text(value: Any) -> str:
    """Strings as they are, all else as JSON: what `tostring` and interpolation write."""
    return value if isinstance(value, str) else to_json(value)


def preview(value: Any) -> str:
    """The value in an error: JSON, cut to thirty bytes as gojq cuts it."""
    written = to_json(value).encode("utf-8", "replace")
    if len(written) <= _PREVIEW_BYTES:
        return written.decode()
    end = {"string": ' ..."', "array": " ...]", "object": " ...}"}.get(type_of(value), " ...")
    return written[: _PREVIEW_BYTES - len(end)].decode("utf-8", "ignore") + end


def described(value: Any) -> str:
    """`number (3)`: type and preview, as errors of a wrong type tell it."""
    return "null" if value is None else f"{type_of(value)} ({preview(value)})"


def to_int(number: int | float) -> int:  # noqa: PYI041  # whole ones may be larger than a float can say
    """A number as an index: cut to a whole one, and kept within 64 bits."""
    if not math.isfinite(number):
        return _LARGEST_INT if number > 0 else _SMALLEST_INT
    return min(max(int(number), _SMALLEST_INT), _LARGEST_INT)


def not_applicable(name: str, value: Any, *arguments: Any) -> EvaluationError:
    """`keys cannot be applied to: null`, or with arguments `has("a") cannot be applied to: ...`."""
    told = f"({'; '.join(map(preview, arguments))})" if arguments else ""
    return EvaluationError(f"{name}{told} cannot be applied to: {described(value)}")
