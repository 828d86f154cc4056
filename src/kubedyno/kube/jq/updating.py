"""Assignments: a new value with something else at the paths that the left side names."""

from collections.abc import Callable, Iterator
from typing import Any

from kubedyno.kube.jq import paths
from kubedyno.kube.jq.running import Code, Output, Path, Scope, all_paths, off, values
from kubedyno.kube.jq.syntax import Identity, Index, Literal, Node, Sign, Slice, Text


def fixed_path(node: Node) -> list[Any] | None:
    """The path of `.a[0].b`, which needs no value to be known; None for a query that must be run."""
    match node:
        case Identity():
            return []
        case Index(target, Literal(value=int() | float() as key)) if (path := fixed_path(target)) is not None:
            return [*path, key]
        case Index(target, Sign("-", Literal(value=int() | float() as key))) if (
            path := fixed_path(target)
        ) is not None:
            return [*path, -key]
        case Index(target, Text(pieces=pieces)) if (path := fixed_path(target)) is not None:
            texts = [piece for piece in pieces if isinstance(piece, str)]
            return [*path, "".join(texts)] if len(texts) == len(pieces) else None
        case Slice(target, Literal(value=start), Literal(value=end)) if (path := fixed_path(target)) is not None:
            return [*path, {"start": start, "end": end}]
        case _:
            return None


def assign(left: Code | list[Any], right: Code) -> Code:
    """`left = right`; a list is a path that is known beforehand."""

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for given in values(right, scope, value):
            result = value
            for target in [left] if isinstance(left, list) else all_paths(left, scope, value):
                result = paths.put(result, target, given)
            yield off(path), result

    return run


def modify(left: Code, right: Code) -> Code:
    """`left |= right`."""

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        yield off(path), _modified(left, scope, value, lambda old: values(right, scope, old))

    return run


def operate(left: Code, right: Code, operator: Callable[[Any, Any], Any]) -> Code:
    """`left += right` and the like; the right side sees the whole input."""

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for given in values(right, scope, value):
            yield off(path), _modified(left, scope, value, lambda old: iter((operator(old, given),)))  # noqa: B023  # used at once

    return run


def _modified(left: Code, scope: Scope, value: Any, changed: Callable[[Any], Iterator[Any]]) -> Any:
    """What is at each path becomes the first output; a path without an output is deleted, when all are done."""
    result, deleted = value, []
    for target in all_paths(left, scope, value):
        for new in changed(paths.get(result, target)):
            result = paths.put(result, target, new)
            break
        else:
            deleted.append(target)
    return paths.delete(result, deleted)
