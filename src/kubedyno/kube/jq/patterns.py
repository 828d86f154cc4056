"""Destructuring: the names that a pattern binds, and the scopes it makes of a value."""

from collections.abc import Callable, Iterator
from typing import Any

from kubedyno.kube.jq import paths
from kubedyno.kube.jq.errors import EvaluationError
from kubedyno.kube.jq.running import Code, Scope, values
from kubedyno.kube.jq.syntax import ArrayPattern, NamePattern, Node, ObjectPattern, Pattern
from kubedyno.kube.jq.values import described


def bound_names(pattern: Pattern) -> list[str]:
    """All variables of the pattern, with their dollars."""
    match pattern:
        case NamePattern(name):
            return [name]
        case ArrayPattern(items):
            return [name for item in items for name in bound_names(item)]
        case ObjectPattern(entries):
            found = []
            for name, _, below in entries:
                found += [name] if name else []
                found += bound_names(below) if below else []
            return found


class Binder:
    """Binds the names of a pattern: a scope and a value in, one scope for each way that its keys come out."""

    def __init__(self, bind: Callable[[Scope, Any], Iterator[Scope]]) -> None:
        self._bind = bind

    def __call__(self, scope: Scope, value: Any) -> Iterator[Scope]:
        """The scopes, as they are asked for."""
        return self._bind(scope, value)

    @classmethod
    def of(cls, pattern: Pattern, code: Callable[[Node], Code]) -> "Binder":
        """The binder of a pattern; `code` compiles its keys."""
        match pattern:
            case NamePattern(name):
                return cls(lambda scope, value: iter((scope.binding(name, value),)))
            case ArrayPattern(items, at):
                return cls(_array([cls.of(item, code) for item in items], at))
            case ObjectPattern(entries, at):
                made = [(name, code(key), cls.of(below, code) if below else None) for name, key, below in entries]
                return cls(_object(made, at))


def _array(items: list[Binder], at: int) -> Callable[[Scope, Any], Iterator[Scope]]:
    def bind(scope: Scope, value: Any) -> Iterator[Scope]:
        if value is not None and not isinstance(value, list):
            error = EvaluationError(f"expected an array but got: {described(value)}")
            error.offset = at
            raise error
        yield from bound(scope, value, 0)

    def bound(scope: Scope, value: Any, position: int) -> Iterator[Scope]:
        if position == len(items):
            yield scope
            return
        for inner in items[position](scope, paths.at(value, position)):
            yield from bound(inner, value, position + 1)

    return bind


def _object(entries: list[tuple[str, Code, Binder | None]], at: int) -> Callable[[Scope, Any], Iterator[Scope]]:
    def bind(scope: Scope, value: Any, position: int = 0) -> Iterator[Scope]:
        if position == len(entries):
            yield scope
            return
        name, key, below = entries[position]
        for chosen in values(key, scope, value):
            try:
                found = paths.at(value, chosen)
            except EvaluationError as error:
                error.offset = at
                raise
            named = scope.binding(name, found) if name else scope
            for inner in below(named, found) if below else (named,):
                yield from bind(inner, value, position + 1)

    return bind
