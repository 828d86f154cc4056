"""The macros over lists and maps.

Which of several errors is told follows from how cel-go folds: `all`, `exists`, `map` keep the first; what is decided
by a condition at each element (`filter`, `exists_one`, `map` with a filter) tells the last.
"""

from collections.abc import Callable, Iterator
from typing import Any

from kubedyno.kube.cel.errors import CostExceeded, EvaluationError, no_such_overload
from kubedyno.kube.cel.lists import sorted_by
from kubedyno.kube.cel.running import Frame, Plan
from kubedyno.kube.cel.values import KeyedMap, entries, go_type, is_list, is_map

Rounds = Callable[[Frame], Iterator[None]]


def looping(kind: str, over: Plan, slots: tuple[int, ...], body: Plan, guard: Plan | None, *, cost: int) -> Plan:
    """What runs a macro: `slots` are where its variables go, `cost` is what each element takes from the budget."""
    rounds = _rounds_of_one(over, slots[0], cost) if len(slots) == 1 else _rounds_of_two(over, *slots, cost=cost)
    if kind in {"all", "exists"}:
        return _deciding(rounds, body, decided=kind == "exists")
    if kind == "exists_one":
        return _exactly_one(rounds, body)
    if kind == "filter":
        return _collected(rounds, _slot(slots[0]), body)
    if kind in {"map", "transformList"}:
        return _collected(rounds, body, guard)
    if kind == "sortBy":
        return _sorted(over, _collected(rounds, body, None))
    value = _pair(_slot(slots[0]), body) if kind == "transformMap" else _only_pair(body)
    return _as_map(_collected(rounds, value, guard))


def _elements(held: Any) -> Any:
    if is_list(held):
        return held
    if is_map(held):
        return [key for key, _ in entries(held)]
    raise EvaluationError(f"got '{go_type(held)}', expected iterable type")


def _rounds_of_one(over: Plan, slot: int, cost: int) -> Rounds:
    def rounds(frame: Frame) -> Iterator[None]:
        for value in _elements(over(frame)):
            frame.spend(cost)
            frame.slots[slot] = value
            yield

    return rounds


def _rounds_of_two(over: Plan, first: int, second: int, *, cost: int) -> Rounds:
    def rounds(frame: Frame) -> Iterator[None]:
        held = over(frame)
        pairs = enumerate(_elements(held)) if not is_map(held) else entries(held)
        for key, value in pairs:
            frame.spend(cost)
            frame.slots[first] = key
            frame.slots[second] = value
            yield

    return rounds


def _slot(slot: int) -> Plan:
    return lambda frame: frame.slots[slot]


def _deciding(rounds: Rounds, body: Plan, *, decided: bool) -> Plan:
    def decide(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for _ in rounds(frame):
            try:
                value = body(frame)
            except CostExceeded:
                raise
            except EvaluationError as error:
                failure = failure or error
                continue
            if type(value) is not bool:
                failure = failure or no_such_overload()
            elif value == decided:
                return decided
        if failure is not None:
            raise failure
        return not decided

    return decide


def _condition(plan: Plan, frame: Frame) -> bool:
    value = plan(frame)
    if type(value) is not bool:
        raise no_such_overload()
    return bool(value)


def _exactly_one(rounds: Rounds, body: Plan) -> Plan:
    def count(frame: Frame) -> bool:
        found = 0
        failure: EvaluationError | None = None
        for _ in rounds(frame):
            try:
                found += _condition(body, frame)
            except CostExceeded:
                raise
            except EvaluationError as error:
                failure = error
        if failure is not None:
            raise failure
        return found == 1

    return count


def _collected(rounds: Rounds, body: Plan, guard: Plan | None) -> Plan:
    """The values of the body, where the guard holds."""

    def collect(frame: Frame) -> list[Any]:
        found: list[Any] = []
        failure: EvaluationError | None = None
        for _ in rounds(frame):
            try:
                if guard is not None and not _condition(guard, frame):
                    continue
            except CostExceeded:
                raise
            except EvaluationError as error:
                failure = error
                continue
            if failure is None:
                try:
                    found.append(body(frame))
                except CostExceeded:
                    raise
                except EvaluationError as error:
                    failure = error
        if failure is not None:
            raise failure
        return found

    return collect


def _sorted(over: Plan, keys: Plan) -> Plan:
    return lambda frame: sorted_by(_elements(over(frame)), keys(frame))


def _pair(key: Plan, value: Plan) -> Plan:
    return lambda frame: [(key(frame), value(frame))]


def _only_pair(body: Plan) -> Plan:
    def pairs(frame: Frame) -> list[tuple[Any, Any]]:
        made = body(frame)
        if not is_map(made):
            raise no_such_overload()
        return list(entries(made))

    return pairs


def _as_map(collect: Plan) -> Plan:
    def made(frame: Frame) -> Any:
        keyed = KeyedMap()
        for pairs in collect(frame):
            for key, value in pairs:
                if keyed.find(key)[0]:
                    raise EvaluationError(f"insert failed: key {key} already exists")
                keyed.put(key, value)
        held = list(keyed.items())
        return dict(held) if all(type(key) is str for key, _ in held) else keyed

    return made
