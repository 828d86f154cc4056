"""Reading, setting and deleting at paths: lists of keys, indexes and slices (`{"start": 1, "end": null}`).

Values are never changed in place: what is set is a new value that shares what stayed the same.
"""

import math
from typing import Any, Final

from kubedyno.kube.jq.errors import EvaluationError, QueryLimit
from kubedyno.kube.jq.values import compare, described, is_number, not_applicable, preview, to_int

_LARGEST_INDEX: Final = 100_000
_GONE: Final = object()


def _expected(what: str, value: Any) -> EvaluationError:
    return EvaluationError(f"expected {what} but got: {described(value)}")


def at(value: Any, key: Any) -> Any:
    """`value[key]`: null has everything in it, and everything it has is null."""
    if type(key) is str:
        if type(value) is dict:
            return value.get(key)
        if value is None:
            return None
        raise _expected("an object", value)
    if is_number(key):
        return _item(value, to_int(key))
    if isinstance(key, list):
        return _positions(value, key)
    if isinstance(key, dict):
        return None if value is None else _slice_of(value, key)
    raise _bad_key(value, key)


def _item(value: Any, index: int) -> Any:
    if value is None:
        return None
    if not isinstance(value, list | str):
        raise _expected("an array", value)
    return value[index] if -len(value) <= index < len(value) else None


def _positions(value: Any, sought: list[Any]) -> list[int] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise _expected("an array", value)
    return positions(value, sought)


def positions(items: list[Any], sought: list[Any]) -> list[int]:
    """Where `sought` begins within `items`."""
    if not sought:
        return []
    width = len(sought)
    return [start for start in range(len(items) - width + 1) if compare(items[start : start + width], sought) == 0]


def _bad_key(value: Any, key: Any) -> EvaluationError:
    if isinstance(value, list | str):
        return _bad_bound(value, key)
    return _expected("a string for object key", key)


def _bad_bound(value: Any, key: Any) -> EvaluationError:
    return _expected(f"a number for indexing {'an array' if isinstance(value, list) else 'a string'}", key)


def _slice_of(value: Any, bounds: dict[str, Any]) -> Any:
    if "start" not in bounds or "end" not in bounds:
        raise _expected('"start" and "end" for slicing', bounds)
    return sliced(value, bounds["start"], bounds["end"])


def sliced(value: Any, start: Any, end: Any) -> Any:
    """`value[start:end]` of an array or a string."""
    if value is None:
        return None
    if not isinstance(value, list | str):
        raise _expected("an array", value)
    first, last = _bounds(value, start, end)
    return value[first:last]


def _bounds(value: list[Any] | str, start: Any, end: Any) -> tuple[int, int]:
    """A fraction at the end counts as one more."""
    size = len(value)
    for bound in (start, end):
        if bound is not None and not is_number(bound):
            raise _bad_bound(value, bound)
    first = 0 if start is None else _clamped(to_int(start), 0, size)
    if isinstance(end, float) and math.isfinite(end):
        end = math.ceil(end)
    return first, size if end is None else _clamped(to_int(end), first, size)


def _clamped(index: int, least: int, size: int) -> int:
    if index < 0:
        index += size
    return max(least, min(index, size))


def get(value: Any, path: Any) -> Any:
    """`getpath(path)`."""
    if not isinstance(path, list):
        raise not_applicable("getpath", value, path)
    found = value
    if isinstance(found, str) and path:
        raise not_applicable("getpath", value, path)
    for depth, key in enumerate(path, 1):
        try:
            found = at(found, key)
        except EvaluationError:
            raise not_applicable("getpath", value, path) from None
        if isinstance(found, str) and depth < len(path):  # a path leads through arrays and objects alone
            raise not_applicable("getpath", value, path)
    return found


def put(value: Any, path: Any, new: Any) -> Any:
    """`setpath(path; new)`."""
    if not isinstance(path, list):
        raise not_applicable("setpath", value, path)
    try:
        return _updated(value, path, 0, new)
    except EvaluationError as error:
        told = f"setpath({preview(path)}; {preview(new)}) cannot be applied to {preview(value)}: {error.message}"
        raise EvaluationError(told) from None


def delete(value: Any, paths: Any) -> Any:
    """`delpaths(paths)`: all at once, so that indexes mean what they meant before."""
    if not isinstance(paths, list):
        raise not_applicable("delpaths", value, paths)
    try:
        left = value
        for path in paths:
            if not isinstance(path, list):
                raise _expected("an array", path)
            left = _updated(left, path, 0, _GONE)
    except EvaluationError as error:
        told = f"delpaths({preview(paths)}) cannot be applied to {preview(value)}: {error.message}"
        raise EvaluationError(told) from None
    return _swept(left) if paths else value


def _updated(value: Any, path: list[Any], depth: int, new: Any) -> Any:
    if depth == len(path):
        return new
    if value is _GONE:
        return value
    key = path[depth]
    if isinstance(key, str):
        return _with_key(value, key, path, depth, new)
    if is_number(key):
        return _with_item(value, to_int(key), path, depth, new)
    if isinstance(key, dict):
        return _with_slice(value, key, path, depth, new)
    if isinstance(value, list):
        raise _bad_bound(value, key)
    raise _expected("a string for object key", key)


def _with_key(value: Any, key: str, path: list[Any], depth: int, new: Any) -> Any:
    if value is not None and not isinstance(value, dict):
        raise _expected("an object", value)
    old = value or {}
    if key not in old and new is _GONE:
        return value
    return {**old, key: _updated(old.get(key), path, depth + 1, new)}


def _with_item(value: Any, index: int, path: list[Any], depth: int, new: Any) -> Any:
    if value is not None and not isinstance(value, list):
        raise _expected("an array", value)
    items = list(value or ())
    place = index + len(items) if index < 0 else index
    if new is _GONE and not 0 <= place < len(items):
        return value
    if place < 0:
        raise EvaluationError(f"array index should not be negative: {index}")
    if place > _LARGEST_INDEX:
        raise QueryLimit(f"a jq query sets item {place} of an array; {_LARGEST_INDEX} is the last that it may set")
    items += [None] * (place + 1 - len(items))
    items[place] = _updated(items[place], path, depth + 1, new)
    return items


def _with_slice(value: Any, key: dict[str, Any], path: list[Any], depth: int, new: Any) -> Any:
    if value is not None and not isinstance(value, list):
        raise _expected("an array", value)
    if "start" not in key or "end" not in key:
        raise _expected('"start" and "end" for slicing', key)
    items = list(value or ())
    first, last = _bounds(items, key["start"], key["end"])
    if first == last and new is _GONE:
        return value
    put_in = _updated(items[first:last], path, depth + 1, new)
    if put_in is _GONE:
        put_in = [_GONE] * (last - first)
    if not isinstance(put_in, list):
        raise _expected("an array", put_in)
    return [*items[:first], *put_in, *items[last:]]


def _swept(value: Any) -> Any:
    if value is _GONE:
        return None
    if isinstance(value, dict):
        return {key: _swept(inner) for key, inner in value.items() if inner is not _GONE}
    if isinstance(value, list):
        return [_swept(inner) for inner in value if inner is not _GONE]
    return value
