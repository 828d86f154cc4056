"""Kubernetes' functions of lists, and lists as sets."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, Final

from kubedyno.kube.cel.errors import EvaluationError, no_such_overload
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.operators import add, order
from kubedyno.kube.cel.values import Duration, Timestamp, Uint, equal, is_list, type_name

_SUMMABLE: Final[dict[type, Any]] = {int: 0, Uint: Uint(0), float: 0.0, Duration: Duration(0)}
_ORDERED: Final = frozenset({int, Uint, float, bool, Duration, Timestamp, str, bytes})


def _of_ordered(name: str, values: Any) -> None:
    """Refuse lists of what has no order; only their first element is looked at, as in cel-go."""
    if values and type(values[0]) not in _ORDERED:
        raise no_such_overload(name, "list")


def _is_sorted(values: Any) -> bool:
    _of_ordered("isSorted", values)
    return all(_order_or_same(one, other) <= 0 for one, other in itertools.pairwise(values))


def _order_or_same(one: Any, other: Any) -> int:
    """Values that have no order among each other are taken as they come."""
    try:
        return order(one, other)
    except EvaluationError:
        return 0


def _sum(values: Any) -> Any:
    if not values:
        return 0
    if type(values[0]) not in _SUMMABLE:
        raise no_such_overload("sum", "list")
    return functools.reduce(add, values, _SUMMABLE[type(values[0])])


def _extreme(name: str, wanted: int) -> Callable[[Any], Any]:
    def found(values: Any) -> Any:
        _of_ordered(name, values)
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if _order_or_same(value, best) == wanted:
                best = value
        return best

    return found


def _index_of(values: Any, wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if equal(value, wanted)), -1)


def _last_index_of(values: Any, wanted: Any) -> int:
    return next((at for at in range(len(values) - 1, -1, -1) if equal(values[at], wanted)), -1)


def _slice(values: Any, start: int, end: int) -> list[Any]:
    said = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise EvaluationError(f"{said}, negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{said}, start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"{said}, list is length {len(values)}")
    return list(values[start:end])


def _flatten(values: Any, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for value in values:
        if is_list(value) and depth > 0:
            flat.extend(_flatten(value, depth - 1))
        else:
            flat.append(value)
    return flat


def sorted_by(values: Any, keys: Any) -> list[Any]:
    """The values in the order of their keys, which must be of one type."""
    if not values:
        return list(values)
    if type(keys[0]) not in _ORDERED:
        raise no_such_overload("@sortByAssociatedKeys", "list", "list")
    if len(keys) > 1 and any(type_name(key) != type_name(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    by_key = functools.cmp_to_key(lambda one, other: _order_or_same(keys[one], keys[other]))
    return [values[at] for at in sorted(range(len(values)), key=by_key)]


def _sort(values: Any) -> list[Any]:
    _of_ordered("sort", values)
    return sorted_by(values, values)


def _distinct(values: Any) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not any(equal(value, other) for other in kept):
            kept.append(value)
    return kept


def _contains_all(values: Any, wanted: Any) -> bool:
    return all(_index_of(values, value) >= 0 for value in wanted)


FUNCTIONS: Final[Library] = {
    "isSorted": (on("list", _is_sorted),),
    "sum": (on("list", _sum),),
    "min": (on("list", _extreme("min", -1)),),
    "max": (on("list", _extreme("max", 1)),),
    "indexOf": (on("list any", _index_of),),
    "lastIndexOf": (on("list any", _last_index_of),),
    "slice": (on("list int int", _slice),),
    "flatten": (on("list", _flatten), on("list int", _flatten)),
    "sort": (on("list", _sort),),
    "reverse": (on("list", lambda values: list(values)[::-1]),),
    "distinct": (on("list", _distinct),),
    "lists.range": (of("int", lambda length: list(range(length))),),
    "sets.contains": (of("list list", _contains_all),),
    "sets.equivalent": (of("list list", lambda one, other: _contains_all(one, other) and _contains_all(other, one)),),
    "sets.intersects": (of("list list", lambda one, other: any(_index_of(one, value) >= 0 for value in other)),),
}
