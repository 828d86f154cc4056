"""What expressions cost, about in cel-go's units."""

from collections.abc import Callable
from typing import Any, Final

from kubedyno.kube.cel.syntax import Bind, Call, Index, ListOf, Literal, Loop, MapOf, Name, Node, Select

_PARTS_OF_TEXT: Final = 10
_LIST_COST: Final = 10
_MAP_COST: Final = 30


def weight(node: Node | None) -> int:  # noqa: PLR0911 - one line per kind of node
    """About what one evaluation of the node costs in cel-go's units, not counting what loops repeat."""
    match node:
        case None | Literal():
            return 0
        case Name():
            return 1
        case Select(operand=operand):
            return 1 + weight(operand)
        case Index(operand=operand, key=key):
            return 1 + weight(operand) + weight(key)
        case Call(target=target, arguments=arguments):
            return 1 + weight(target) + sum(map(weight, arguments))
        case ListOf(elements=elements):
            return _LIST_COST + sum(map(weight, elements))
        case MapOf(entries=entries):
            return _MAP_COST + sum(weight(key) + weight(value) for key, value, _ in entries)
        case Loop(over=over):
            return 1 + weight(over)
        case Bind(value=value, body=body):
            return 1 + weight(value) + weight(body)


def _product(one: Any, other: Any) -> int:
    return len(one) * len(other)


def _of_text(text: Any, *_rest: Any) -> int:
    return len(text) // _PARTS_OF_TEXT


def _of_list(values: Any, *_rest: Any) -> int:
    return len(values)


def _of_replacement(text: Any, old: Any, new: Any, *_most: Any) -> int:
    return (len(text) + (len(text) // max(len(old), 1) + 1) * len(new)) // _PARTS_OF_TEXT


CALLS: Final[dict[str, Callable[..., int]]] = {
    "lists.range": lambda length: max(length, 0),
    "distinct": lambda values: len(values) ** 2,
    "sets.contains": _product,
    "sets.equivalent": _product,
    "sets.intersects": _product,
    "replace": _of_replacement,
    **dict.fromkeys(("split", "find", "findAll", "matches", "contains", "format", "trim"), _of_text),
    **dict.fromkeys(("join", "flatten", "sort", "slice", "reverse", "isSorted", "sum", "min", "max"), _of_list),
}
"""What a call costs besides one step, for functions whose work or result grows with what they are given."""
