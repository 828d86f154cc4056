"""What the signs do: arithmetic with its overflows, order across numeric types, membership, look-ups."""

import math
from collections.abc import Callable
from typing import Any, Final

from kubedyno.kube.cel.errors import EvaluationError, no_such_overload
from kubedyno.kube.cel.values import (
    LEAST_INT,
    MOST_INT,
    MOST_UINT,
    NANOS,
    NONE,
    Cidr,
    Duration,
    Ip,
    Maybe,
    Semver,
    Timestamp,
    Uint,
    Url,
    contains_key,
    equal,
    found_in,
    go_type,
    is_list,
    is_map,
    is_number,
    number_order,
    some,
    type_name,
)
from kubedyno.kube.quantities import Quantity

LEAST_MOMENT: Final = -62135596800 * NANOS
MOST_MOMENT: Final = 253402300800 * NANOS - 1
Operator = Callable[[Any, Any], Any]


def int_of(number: int) -> int:
    """A number of 64 bits, or an overflow."""
    if LEAST_INT <= number <= MOST_INT:
        return number
    raise EvaluationError("integer overflow")


def uint_of(number: int) -> Uint:
    """An unsigned number of 64 bits, or an overflow."""
    if 0 <= number <= MOST_UINT:
        return Uint(number)
    raise EvaluationError("unsigned integer overflow")


def duration_of(nanos: int) -> Duration:
    """A length of time that fits in 64 bits of nanoseconds."""
    if LEAST_INT <= nanos <= MOST_INT:
        return Duration(nanos)
    raise EvaluationError("integer overflow")


def timestamp_of(nanos: int, offset: int = 0) -> Timestamp:
    """A moment of the years 1 to 9999."""
    if LEAST_MOMENT <= nanos <= MOST_MOMENT:
        return Timestamp(nanos, offset)
    raise EvaluationError("timestamp overflow")


_NUMBERS: Final = frozenset({int, Uint, float})
_ORDERED: Final = frozenset({int, Uint, float, bool, str, bytes, Timestamp, Duration})
_RECEIVERS: Final = frozenset({str, Timestamp, Duration})
_ABLE: Final[dict[str, frozenset[type]]] = {
    "_+_": _NUMBERS | {str, bytes, list, tuple, Timestamp, Duration},
    "_-_": _NUMBERS | {Timestamp, Duration},
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset({int, Uint}),
}


def _refused(function: str, one: Any) -> EvaluationError:
    """cel-go names the sign only when the first operand never takes part in it, and has no member functions either."""
    able = type(one) in _ABLE[function] or type(one) in _RECEIVERS
    return EvaluationError("no such overload" if able else f"no such overload: {function}")


def _divided(one: int, other: int) -> int:
    """Towards zero, as Go divides."""
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def add(one: Any, other: Any) -> Any:
    """`one + other`."""
    kind = type(one)
    if kind is type(other):
        if kind is int:
            return int_of(one + other)
        if kind in {str, float, bytes}:
            return one + other
        if kind is Uint:
            return uint_of(int(one) + int(other))
        if kind is Duration:
            return duration_of(one.nanos + other.nanos)
    if is_list(one) and is_list(other):
        return [*one, *other]
    if {kind, type(other)} == {Timestamp, Duration}:
        return timestamp_of(one.nanos + other.nanos, (one if kind is Timestamp else other).offset)
    raise _refused("_+_", one)


def subtract(one: Any, other: Any) -> Any:
    """`one - other`."""
    kind = type(one)
    if kind is type(other):
        if kind is int:
            return int_of(one - other)
        if kind is float:
            return one - other
        if kind is Uint:
            return uint_of(int(one) - int(other))
        if kind is Duration:
            return duration_of(one.nanos - other.nanos)
        if kind is Timestamp:
            return Duration(int_of(one.nanos - other.nanos))
    if kind is Timestamp and type(other) is Duration:
        return timestamp_of(one.nanos - other.nanos, one.offset)
    raise _refused("_-_", one)


def multiply(one: Any, other: Any) -> Any:
    """`one * other`."""
    kind = type(one)
    if kind is type(other):
        if kind is int:
            return int_of(one * other)
        if kind is float:
            return one * other
        if kind is Uint:
            return uint_of(int(one) * int(other))
    raise _refused("_*_", one)


def divide(one: Any, other: Any) -> Any:
    """`one / other`."""
    kind = type(one)
    if kind is not type(other) or kind not in {int, Uint, float}:
        raise _refused("_/_", one)
    if kind is float:
        return _float_quotient(one, other)
    if other == 0:
        raise EvaluationError("division by zero")
    return int_of(_divided(one, other)) if kind is int else Uint(int(one) // int(other))


def _float_quotient(one: float, other: float) -> float:
    if other:
        return one / other
    if one == 0 or math.isnan(one):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1, other)


def modulo(one: Any, other: Any) -> Any:
    """`one % other`, with the sign of `one`."""
    kind = type(one)
    if kind is not type(other) or kind not in {int, Uint}:
        raise _refused("_%_", one)
    if other == 0:
        raise EvaluationError("modulus by zero")
    if kind is Uint:
        return Uint(int(one) % int(other))
    if one == LEAST_INT and other == -1:
        raise EvaluationError("integer overflow")
    rest: int = one - _divided(one, other) * other
    return rest


def negate(value: Any) -> Any:
    """`-value`."""
    if type(value) is int:
        return int_of(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return duration_of(-value.nanos)
    raise no_such_overload()


def order(one: Any, other: Any) -> int:
    """-1, 0 or 1: numbers of all types among each other, all else within its type."""
    if is_number(one) and is_number(other):
        found = number_order(one, other)
        if found is None:
            raise EvaluationError("NaN values cannot be ordered")
        return found
    if type(one) is not type(other) or type(one) not in _ORDERED:
        raise no_such_overload()
    if type(one) in {Timestamp, Duration}:
        one, other = one.nanos, other.nanos
    return int(one > other) - int(one < other)


def _ordered(function: str, wanted: frozenset[int]) -> Operator:
    def compare(one: Any, other: Any) -> bool:
        if type(one) not in _ORDERED:
            raise EvaluationError(f"no such overload: {function}")
        return order(one, other) in wanted

    return compare


def _equals(one: Any, other: Any) -> bool:
    # The types that Kubernetes adds refuse to be compared with others; those of the language are just different.
    if type(one) in _STRICT and other is not None and type(one) is not type(other):
        raise no_such_overload()
    return equal(one, other)


_STRICT: Final = frozenset({Quantity, Semver, Ip, Cidr, Url})


def _differs(one: Any, other: Any) -> bool:
    return not equal(one, other)


def member(value: Any, held: Any) -> bool:
    """`value in held`: an element of a list, a key of a map."""
    if is_list(held):
        return any(equal(value, element) for element in held)
    if is_map(held):
        return contains_key(held, value)
    raise no_such_overload()


BINARY: Final[dict[str, Operator]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "_==_": _equals,
    "_!=_": _differs,
    "_<_": _ordered("_<_", frozenset({-1})),
    "_<=_": _ordered("_<=_", frozenset({-1, 0})),
    "_>_": _ordered("_>_", frozenset({1})),
    "_>=_": _ordered("_>=_", frozenset({0, 1})),
    "@in": member,
}


_KEYS: Final = frozenset({str, int, Uint, float, bool})


def looked_up(held: Any, key: Any) -> Any:
    """`held[key]` and `held.key`. Within an optional value the look-up is optional too."""
    if type(held) is dict and type(key) is str:
        try:
            return held[key]
        except KeyError:
            raise EvaluationError(f"no such key: {key}") from None
    if type(key) not in _KEYS:
        raise EvaluationError(f"invalid qualifier type: {go_type(key)}")
    if is_map(held):
        there, value = found_in(held, key)
        if there:
            return value
        raise EvaluationError(f"no such key: {shown_key(key)}")
    if is_list(held):
        return _element(held, key)
    if type(held) is Maybe:
        return looked_up_optionally(held, key)
    raise EvaluationError(f"no such key: {shown_key(key)}")


def looked_up_optionally(held: Any, key: Any) -> Maybe:
    """`held[?key]` and `held.?key`: none when it is not there."""
    if type(held) is Maybe:
        return looked_up_optionally(held.value, key) if held.has else held
    if is_map(held):
        return Maybe(*found_in(held, key))
    if is_list(held):
        at = _place(held, key)
        return some(held[at]) if 0 <= at < len(held) else NONE
    return NONE


def is_there(held: Any, key: str) -> bool:
    """`has(held.key)`."""
    if type(held) is Maybe:
        return held.has and is_there(held.value, key)
    if is_list(held):
        raise EvaluationError("unsupported index type 'string' in list")
    return is_map(held) and found_in(held, key)[0]


def _element(held: Any, key: Any) -> Any:
    at = _place(held, key)
    if 0 <= at < len(held):
        return held[at]
    raise EvaluationError(f"index out of bounds: {at}")


def _place(_held: Any, key: Any) -> int:
    if not is_number(key):
        raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")
    if type(key) is float and not key.is_integer():
        raise EvaluationError(f"unsupported index value {key:g} in list")
    return int(key)


def shown_key(key: Any) -> str:
    """A key as messages tell it."""
    if type(key) is bool:
        return "true" if key else "false"
    return f"{key:g}" if type(key) is float else str(key)
