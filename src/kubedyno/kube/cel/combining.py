"""What joins functions of parts into the function of a whole: conditions, choices, bound names."""

from collections.abc import Callable
from typing import Any

from kubedyno.kube.cel.errors import CostExceeded, EvaluationError, no_such_overload
from kubedyno.kube.cel.operators import BINARY, add
from kubedyno.kube.cel.running import Frame, Plan
from kubedyno.kube.cel.values import Maybe


def deciding(terms: list[Plan], *, decided: bool) -> Plan:
    """`&&` and `||`: one operand that decides does so, whatever is wrong with the others."""

    def decide(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
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


def binding(slot: int, value: Plan, body: Plan) -> Plan:
    """`cel.bind`: what is wrong with the value is told where the variable is used."""

    def bind(frame: Frame) -> Any:
        try:
            frame.slots[slot] = value(frame)
        except CostExceeded:
            raise
        except EvaluationError as error:
            frame.slots[slot] = error
        return body(frame)

    return bind


def bound(slot: int) -> Plan:
    """The variable of a `cel.bind`, or what was wrong with its value."""

    def read(frame: Frame) -> Any:
        value = frame.slots[slot]
        if isinstance(value, EvaluationError):
            raise value
        return value

    return read


def choice(condition: Plan, then: Plan, otherwise: Plan) -> Plan:
    """`condition ? then : otherwise`."""

    def choose(frame: Frame) -> Any:
        value = condition(frame)
        if type(value) is not bool:
            raise no_such_overload()
        return then(frame) if value else otherwise(frame)

    return choose


def opposite(operand: Plan) -> Plan:
    """`!operand`."""

    def negated(frame: Frame) -> bool:
        value = operand(frame)
        if type(value) is not bool:
            raise no_such_overload()
        return value is False

    return negated


def binary(function: str, one: Plan, other: Plan) -> Plan:
    """An operator of two operands; adding and searching are paid for by the length of what there is."""
    does = BINARY[function]
    if function == "_+_":
        return _added(one, other)
    if function != "@in":
        return lambda frame: does(one(frame), other(frame))

    def search(frame: Frame) -> Any:
        value, held = one(frame), other(frame)
        if type(held) is list:
            frame.spend(len(held))
        return does(value, held)

    return search


def _added(one: Plan, other: Plan) -> Plan:
    def added(frame: Frame) -> Any:
        result = add(one(frame), other(frame))
        if type(result) is list:
            frame.spend(len(result))
        elif type(result) in {str, bytes}:
            frame.spend(len(result) // 10)
        return result

    return added


def priced(price: Callable[..., int], does: Callable[..., Any], arguments: list[Plan]) -> Plan:
    """A call that is paid for before it is made. Values that have no such price are none that the function takes."""

    def call(frame: Frame) -> Any:
        values = [argument(frame) for argument in arguments]
        try:
            steps = price(*values)
        except TypeError:
            steps = 0
        frame.spend(steps)
        return does(*values)

    return call


def otherwise(function: str, operand: Plan, alternative: Plan) -> Plan:
    """`or` and `orValue`: the alternative is only looked at when it is needed."""

    def decide(frame: Frame) -> Any:
        held = operand(frame)
        if type(held) is not Maybe:
            # Values that are no optional ones stand for themselves.
            return held
        if held.has:
            return held if function == "or" else held.value
        return alternative(frame)

    return decide
