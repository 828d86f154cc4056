r"""JSONPath as far as custom resource definitions use it: columns, scale paths, selectable fields.

Understood: `.spec.replicas`, `['a.b']`, `\.` in names, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*`, and filters such as
`[?(@.type=="Ready")]`. Missing keys give no result, as for the columns of the API server's tables; what its reader
calls an error (an index out of range, a filter on no list) gives none either.
"""

import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kit.errors import UsageError

_NAME = re.compile(r"\.((?:\\.|[^.\[\]\s(){}'\"@?=!<>|,\\])+)")
_QUOTED = re.compile(r"\['((?:\\.|[^'\\])*)'\]")
_RANGE = re.compile(r"\[(-?\d*)(?::(-?\d*))?(?::(\d+))?\]")
_FILTER = re.compile(r"\[\?\(")
_COMPARISON = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*")
_ESCAPED = re.compile(r"\\(.)")

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class BadPath(UsageError):
    """The text is no JSONPath that is understood here."""


class _Key(msgspec.Struct, frozen=True):
    name: str


class _All(msgspec.Struct, frozen=True):
    pass


class _Items(msgspec.Struct, frozen=True):
    """One item (`end` None and `is_range` false) or a range of them."""

    start: int | None
    end: int | None
    step: int
    is_range: bool


class _Filter(msgspec.Struct, frozen=True):
    left: "tuple[_Step, ...]"
    compare: str
    """Empty: the left side has to be there."""
    right: Any = None


_Step = _Key | _All | _Items | _Filter


@functools.lru_cache(maxsize=1024)
def parsed(path: str) -> tuple[_Step, ...]:
    """The steps of a path; `BadPath` when it cannot be read."""
    steps, end = _steps(path, 0)
    if end != len(path):
        raise BadPath(f"the JSONPath {path!r} cannot be read at character {end + 1}: {path[end:]!r}")
    return steps


def _steps(path: str, at: int) -> tuple[tuple[_Step, ...], int]:
    steps: list[_Step] = []
    while at < len(path):
        if path.startswith((".*", "[*]"), at):
            steps.append(_All())
            at += 2 if path[at] == "." else 3
        elif (found := _NAME.match(path, at)) or (found := _QUOTED.match(path, at)):
            steps.append(_Key(_ESCAPED.sub(r"\1", found[1])))
            at = found.end()
        elif found := _FILTER.match(path, at):
            step, at = _filter(path, found.end())
            steps.append(step)
        elif (found := _RANGE.match(path, at)) and found[0] != "[]":
            steps.append(_items(found))
            at = found.end()
        elif path[at] == "." and at == len(path) - 1:
            at += 1  # a dot alone is the object itself
        else:
            break
    return tuple(steps), at


def _items(found: re.Match[str]) -> _Items:
    start, end, step = found[1], found[2], found[3]
    return _Items(
        start=int(start) if start else None,
        end=int(end) if end else None,
        step=int(step) if step else 1,
        is_range=end is not None,
    )


def _filter(path: str, at: int) -> tuple[_Filter, int]:
    if not path.startswith("@", at):
        raise BadPath(f"the filter in the JSONPath {path!r} must begin with '@'")
    left, at = _steps(path, at + 1)
    compare, right = "", None
    if found := _COMPARISON.match(path, at):
        compare = found[1]
        end = path.find(")]", found.end())
        right, at = _literal(path, path[found.end() : end].strip()), end
    if not path.startswith(")]", at):
        raise BadPath(f"the filter in the JSONPath {path!r} does not end with ')]'")
    return _Filter(left, compare, right), at + 2


def _literal(path: str, text: str) -> Any:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    if quoted:
        return _ESCAPED.sub(r"\1", text[1:-1])
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise BadPath(f"the filter in the JSONPath {path!r} compares with {text!r}, which is no value") from None


def read(path: str, obj: Any) -> list[Any]:
    """The values at the path in an object, in their order; none when something on the way is missing."""
    found = [obj]
    for step in parsed(path):
        try:
            found = [below for value in found if value is not None for below in _below(value, step)]
        except (IndexError, TypeError):
            return []
    return found


def _below(value: Any, step: _Step) -> Sequence[Any]:
    match step:
        case _Key(name):
            return [value[name]] if isinstance(value, Mapping) and name in value else []
        case _All():
            if isinstance(value, Mapping):
                return list(value.values())
            return value if isinstance(value, list) else []
        case _Items():
            if not isinstance(value, list):
                raise TypeError
            if not step.is_range:
                return [value[step.start or 0]]
            return value[step.start : step.end : step.step]
        case _Filter():
            if not isinstance(value, list):
                raise TypeError
            return [item for item in value if _passes(item, step)]


def _passes(item: Any, step: _Filter) -> bool:
    left: list[Any] = [item]
    for inner in step.left:
        left = [below for value in left if value is not None for below in _below(value, inner)]
    if not step.compare or not left:
        return bool(left)
    return _OPERATORS[step.compare](left[0], step.right)
