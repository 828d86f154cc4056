"""Functions whose arguments are queries, run as often as need be: `select`, `path`, `limit`, `sort_by`, ..."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from kubedyno.kube.jq import paths
from kubedyno.kube.jq.arithmetic import add
from kubedyno.kube.jq.errors import EvaluationError
from kubedyno.kube.jq.functions import grouped, unique
from kubedyno.kube.jq.running import OFF_PATH, Code, Output, Path, Scope, all_paths, off, stepped, values
from kubedyno.kube.jq.values import compare, described, is_number, is_true, not_applicable, sort_key

Form = Callable[..., Code]


def _empty() -> Code:
    def run(_: Scope, __: Path, ___: Any) -> Iterator[Output]:
        yield from ()

    return run


def _select(condition: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for _, chosen in condition(scope, None, value):
            if is_true(chosen):
                yield path, value

    return run


def _path(body: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for found in all_paths(body, scope, value):
            yield off(path), found

    return run


def _getpath(argument: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for keys in values(argument, scope, value):
            found = paths.get(value, keys)
            if path is OFF_PATH:
                raise EvaluationError(f"invalid path against: {described(value)}")
            yield None if path is None else (*path, *keys), found

    return run


def iterated(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
    """All items of an array, all values of an object in the order of the keys."""
    if isinstance(value, list):
        members: Any = enumerate(value)
    elif isinstance(value, dict):
        members = sorted(value.items())
    else:
        raise EvaluationError(f"cannot iterate over: {described(value)}")
    spend = scope.budget.spend
    for key, member in members:
        spend()
        yield stepped(path, key, value, "on iterating "), member


def _recurse(step: Code | None = None, condition: Code | None = None) -> Code:
    step = step or _below
    below = step if condition is None else _piped(step, _select(condition))

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        yield path, value
        waiting = [below(scope, path, value)]
        while waiting:
            output = next(waiting[-1], None)
            if output is None:
                waiting.pop()
                continue
            scope.budget.spend()
            yield output
            waiting.append(below(scope, *output))

    return run


def _below(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
    if isinstance(value, list | dict):
        yield from iterated(scope, path, value)


def _piped(left: Code, right: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for where, found in left(scope, path, value):
            yield from right(scope, where, found)

    return run


def _one(_: Scope, path: Path, __: Any) -> Iterator[Output]:
    yield off(path), 1


def _zero(_: Scope, path: Path, __: Any) -> Iterator[Output]:
    yield off(path), 0


def _range(start: Code, end: Code, step: Code = _one) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for first in values(start, scope, value):
            for last in values(end, scope, value):
                for width in values(step, scope, value):
                    yield from _counted(scope, path, first, last, width)

    return run


def _counted(scope: Scope, path: Path, start: Any, end: Any, step: Any) -> Iterator[Output]:
    for bound in (start, end, step):
        if not is_number(bound):
            raise not_applicable("range", bound)
    while compare(step, 0) * compare(start, end) < 0:
        scope.budget.spend()
        yield off(path), start
        start = add(start, step)


def _limit(count: Code, body: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for most in values(count, scope, value):
            _not_negative("limit doesn't support negative count", most)
            if compare(most, 0) > 0:
                for taken, output in enumerate(body(scope, path, value), 1):
                    yield output
                    if compare(taken, most) >= 0:
                        break

    return run


def _skip(count: Code, body: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for least in values(count, scope, value):
            _not_negative("skip doesn't support negative count", least)
            for taken, output in enumerate(body(scope, path, value), 1):
                if compare(taken, least) > 0:
                    yield output

    return run


def _not_negative(complaint: str, count: Any) -> None:
    if compare(count, 0) < 0:
        raise EvaluationError(f"error: {complaint}", complaint, has_value=True)


def _first(body: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for output in body(scope, path, value):
            yield output
            return

    return run


def _last(body: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        last: Output | None = None
        for last in body(scope, path, value):  # noqa: B007  # the last one is used after the loop
            pass
        if last is not None:
            yield off(path), last[1]

    return run


def _isempty(body: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        yield off(path), next(body(scope, None, value), None) is None

    return run


def _while(condition: Code, update: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        def goes_on(_: Path, current: Any) -> Iterator[bool]:
            return (is_true(held) for held in values(condition, scope, current))

        waiting: list[Iterator[Output]] = [iter([(path, value)])]
        while waiting:
            output = next(waiting[-1], None)
            if output is None:
                waiting.pop()
                continue
            scope.budget.spend()
            for held in goes_on(*output):
                if held:
                    yield output
                    waiting.append(update(scope, *output))

    return run


def _until(condition: Code, update: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        waiting: list[Iterator[Output]] = [iter([(path, value)])]
        while waiting:
            output = next(waiting[-1], None)
            if output is None:
                waiting.pop()
                continue
            scope.budget.spend()
            for held in values(condition, scope, output[1]):
                if is_true(held):
                    yield output
                else:
                    waiting.append(update(scope, *output))

    return run


def _repeat(body: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        # gojq's `repeat` runs its argument on the same input again and again.
        while True:
            scope.budget.spend()
            yield from body(scope, path, value)

    return run


def _keyed(name: str, result: Callable[[list[Any], list[Any]], Any]) -> Form:
    """`sort_by(f)` and its like: all outputs of `f` together are the key of an item."""

    def form(key: Code) -> Code:
        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            if not isinstance(value, list):
                if not isinstance(value, dict):
                    raise EvaluationError(f"cannot iterate over: {described(value)}")
                raise not_applicable(name, value, [list(values(key, scope, value[member])) for member in sorted(value)])
            keys = [list(values(key, scope, item)) for item in value]
            yield off(path), result(value, keys)

        return run

    return form


def _ordered(items: list[Any], keys: list[Any]) -> list[Any]:
    return [item for group in grouped(items, keys) for item in group]


def _least(items: list[Any], keys: list[Any]) -> Any:
    return min(zip(keys, items, strict=True), key=lambda pair: sort_key(pair[0]), default=(None, None))[1]


def _greatest(items: list[Any], keys: list[Any]) -> Any:
    pairs = list(zip(keys, items, strict=True))
    return max(reversed(pairs), key=lambda pair: sort_key(pair[0]), default=(None, None))[1]


# name/number of arguments -> the code made of the arguments' codes
FORMS: Final[dict[str, Form]] = {
    "empty/0": _empty,
    "select/1": _select,
    "path/1": _path,
    "getpath/1": _getpath,
    "recurse/0": _recurse,
    "recurse/1": _recurse,
    "recurse/2": _recurse,
    "range/1": lambda end: _range(_zero, end),
    "range/2": _range,
    "range/3": _range,
    "limit/2": _limit,
    "skip/2": _skip,
    "first/1": _first,
    "last/1": _last,
    "isempty/1": _isempty,
    "while/2": _while,
    "until/2": _until,
    "repeat/1": _repeat,
    "sort_by/1": _keyed("sort_by", _ordered),
    "group_by/1": _keyed("group_by", grouped),
    "unique_by/1": _keyed("unique_by", unique),
    "min_by/1": _keyed("min_by", _least),
    "max_by/1": _keyed("max_by", _greatest),
}
