"""jq's binary operators on two values."""

import math
from collections.abc import Callable
from typing import Any, Final

from kubedyno.kube.jq.errors import EvaluationError, QueryLimit
from kubedyno.kube.jq.values import compare, described, is_number, preview, to_int, type_of

_MOST_ITEMS: Final = 1 << 20
_MOST_BITS: Final = 4096
_LARGEST_REPEAT: Final = 2**31 - 1


def _bounded(count: int) -> None:
    if count > _MOST_ITEMS:
        raise QueryLimit(
            f"a jq query builds a value of more than {_MOST_ITEMS} items or characters; let it build a smaller one"
        )


def _mistyped(verb: str, left: Any, right: Any) -> EvaluationError:
    return EvaluationError(f"cannot {verb}: {described(left)} and {described(right)}")


def add(left: Any, right: Any) -> Any:
    """Numbers are summed; strings, arrays and objects are joined; null adds nothing."""
    if left is None:
        return right
    if right is None:
        return left
    if is_number(left) and is_number(right):
        return left + right
    kind = type_of(left)
    if kind != type_of(right) or kind == "boolean":
        raise _mistyped("add", left, right)
    _bounded(len(left) + len(right))
    return {**left, **right} if kind == "object" else left + right


def subtract(left: Any, right: Any) -> Any:
    """Numbers, or an array without the items of another."""
    if is_number(left) and is_number(right):
        return left - right
    if isinstance(left, list) and isinstance(right, list):
        return [item for item in left if all(compare(item, other) for other in right)]
    raise _mistyped("subtract", left, right)


def multiply(left: Any, right: Any) -> Any:
    """Numbers; a string repeated; objects merged at every depth."""
    if is_number(left) and is_number(right):
        return _product(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return _merged(left, right)
    if isinstance(left, str) and is_number(right):
        return _repeated(left, right)
    if isinstance(right, str) and is_number(left):
        return _repeated(right, left)
    raise _mistyped("multiply", left, right)


def _product(left: float, right: float) -> float:
    product = left * right
    if isinstance(product, int) and product.bit_length() > _MOST_BITS:
        raise QueryLimit(f"a jq query multiplies to a number of more than {_MOST_BITS} bits")
    return product


def _merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    merged = dict(left)
    for key, value in right.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _repeated(text: str, times: float) -> str | None:
    if times < 0 or math.isnan(times):
        return None
    count = to_int(min(times, _LARGEST_REPEAT))
    if len(text.encode()) * count >= _LARGEST_REPEAT:
        raise EvaluationError(f"repeat string result too large: {preview(text)} * {preview(float(times))}")
    _bounded(len(text) * count)
    return text * count


def divide(left: Any, right: Any) -> Any:
    """Numbers, or a string split at another."""
    if is_number(left) and is_number(right):
        if right == 0:
            raise EvaluationError(f"cannot divide {described(left)} by: {described(right)}")
        if isinstance(left, int) and isinstance(right, int) and left % right == 0:
            return left // right
        return left / right
    if isinstance(left, str) and isinstance(right, str):
        return split(left, right) if left else []
    raise _mistyped("divide", left, right)


def split(text: str, separator: str) -> list[str]:
    """The parts between separators; an empty separator parts all characters."""
    return text.split(separator) if separator else list(text)


def modulo(left: Any, right: Any) -> Any:
    """The remainder of the whole parts, with the sign of the left one."""
    if not (is_number(left) and is_number(right)):
        raise _mistyped("modulo", left, right)
    if math.isnan(left) or math.isnan(right):
        return math.nan
    whole, divisor = to_int(left), to_int(right)
    if divisor == 0:
        raise EvaluationError(f"cannot modulo {described(left)} by: {described(right)}")
    remainder = abs(whole) % abs(divisor)
    return -remainder if whole < 0 else remainder


OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "//": lambda left, right: right if left is None or left is False else left,
    "==": lambda left, right: compare(left, right) == 0,
    "!=": lambda left, right: compare(left, right) != 0,
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
}
