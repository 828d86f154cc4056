"""Calls: of functions written in jq, of their parameters, and of functions of plain values."""

from collections.abc import Callable, Iterator
from typing import Any

from kubedyno.kube.jq.running import Closure, Code, Output, Path, Scope, off, values


class Known:
    """A function that may be called: `parameters` as written; `code` when it stands in no scope (the prelude)."""

    __slots__ = ("code", "parameters")

    def __init__(self, parameters: tuple[str, ...] | None, code: Code | None = None) -> None:
        self.parameters = parameters
        self.code = code


def argument_call(name: str) -> Code:
    """The call of a parameter: its query, in the scope in which it was written."""

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        closure = scope.found(name).bound
        scope.budget.spend()
        yield from closure.code(closure.scope.called_from(scope), path, value)

    return run


def function_call(name: str, known: Known, arguments: list[Code]) -> Code:
    """The call of a function written in jq: all values of `$` parameters in turn, the first one outermost."""
    parameters = known.parameters or ()
    by_value = any(parameter.startswith("$") for parameter in parameters)

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        scope.budget.spend()
        if known.code is not None:
            body, home = known.code, Scope(scope.budget, None, "", None, scope.depth)
        else:
            home = scope.found(name)
            body = home.bound
        inner = home.called_from(scope)
        if not by_value:
            for parameter, argument in zip(parameters, arguments, strict=True):
                inner = inner.binding(f"{parameter}/0", Closure(argument, scope))
            yield from body(inner, path, value)
            return
        for bound in bindings(scope, inner, value, 0):
            yield from body(bound, path, value)

    def bindings(scope: Scope, inner: Scope, value: Any, position: int) -> Iterator[Scope]:
        if position == len(parameters):
            yield inner
            return
        parameter, argument = parameters[position], arguments[position]
        if not parameter.startswith("$"):
            yield from bindings(scope, inner.binding(f"{parameter}/0", Closure(argument, scope)), value, position + 1)
            return
        for given in values(argument, scope, value):
            code = _constant(given)
            named = inner.binding(parameter, given).binding(f"{parameter[1:]}/0", Closure(code, inner))
            yield from bindings(scope, named, value, position + 1)

    return run


def _constant(value: Any) -> Code:
    def run(_: Scope, path: Path, __: Any) -> Iterator[Output]:
        yield off(path), value

    return run


def plain_call(function: Callable[..., Any], arguments: list[Code]) -> Code:
    """The call of a function of plain values: all values of all arguments in turn, the last one outermost."""
    if not arguments:

        def direct(_: Scope, path: Path, value: Any) -> Iterator[Output]:
            yield off(path), function(value)

        return direct

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for given in combinations(scope, value, len(arguments)):
            yield off(path), function(value, *given)

    def combinations(scope: Scope, value: Any, count: int) -> Iterator[tuple[Any, ...]]:
        if count == 0:
            yield ()
            return
        for last in values(arguments[count - 1], scope, value):
            for before in combinations(scope, value, count - 1):
                yield (*before, last)

    return run
