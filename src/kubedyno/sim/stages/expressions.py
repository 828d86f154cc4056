"""Expressions of stages: compiled with KWOK's functions, and evaluated to what a stage asks for."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import cel, jq
from kubedyno.kube.cel import EvaluationError, Program
from kubedyno.kube.cel.amounts import FUNCTIONS as AMOUNTS
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.times import read_duration, read_timestamp
from kubedyno.kube.cel.values import Duration, Timestamp
from kubedyno.kube.codec import Object
from kubedyno.kube.jq import Query
from kubedyno.kube.jq.kwok import outputs
from kubedyno.sim.stages.stage import Expression

_SELF: Final = frozenset({"self"})
_WITH_TIMES: Final = frozenset({"Pod", "Node"})
_TIMES: Final = (("metadata", ("creationTimestamp", "deletionTimestamp")), ("status", ("startTime",)))
_QUANTITY: Final = AMOUNTS["quantity"][0].does


class Moment(msgspec.Struct, frozen=True):
    """What an evaluation may ask besides its object: the time (nanoseconds since the epoch) and chance (0 to 1)."""

    now_ns: int
    chance: Callable[[], float]


_moment: ContextVar[Moment] = ContextVar("moment")


@contextlib.contextmanager
def at(moment: Moment) -> Iterator[None]:
    """Expressions that are evaluated in the block see this moment."""
    token = _moment.set(moment)
    try:
        yield
    finally:
        _moment.reset(token)


def compile_jq(text: str) -> Query:
    """A query; `QueryError` tells where it is wrong."""
    return jq.compile(text)


def compile_cel(text: str) -> Program:
    """An expression over `self`; `CelError` tells where it is wrong."""
    return cel.compile(text, variables=_SELF, functions=_FUNCTIONS)


def holds(program: Program, obj: Object) -> bool:
    """Whether a condition holds; what is no truth value is an error, as in KWOK."""
    try:
        value = evaluated(program, obj)
    except EvaluationError as error:
        raise EvaluationError(f"{error} in CEL expression {program.text!r}") from None
    if not isinstance(value, bool):
        raise EvaluationError(f"CEL expression {program.text!r} gives no true or false, but {value!r}")
    return value


def evaluated(program: Program, obj: Object) -> Any:
    """The value of an expression for an object.

    As in KWOK, the main times of pods and nodes are times there, and texts in all other kinds.
    """
    if obj.get("apiVersion") != "v1" or obj.get("kind") not in _WITH_TIMES:
        return program.evaluate({"self": obj})
    parts = {
        part: {**found, **{name: moment for name in names if (moment := _moment_of(found.get(name))) is not None}}
        for part, names in _TIMES
        if (found := obj.get(part))
    }
    return program.evaluate({"self": {**obj, **parts}})


def _moment_of(text: Any) -> Timestamp | None:
    return read_timestamp(text) if isinstance(text, str) else None


def first_output(query: Query, obj: Object) -> Any:
    """The first output that is not null; None when there is none or the query fails."""
    found = outputs(query, obj)
    return found[0] if found else None


def whole_number(expression: Expression, obj: Object, otherwise: int) -> int | None:
    """A weight: what the expression gives, `otherwise` where it gives nothing; None when that is no number."""
    if expression.cel is not None:
        return _number(evaluated(expression.cel, obj))
    found = first_output(expression.jq, obj) if expression.jq is not None else None
    if isinstance(found, str):
        return _go_int(found)
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else otherwise


def nanoseconds(value: Any) -> int:
    """A length of time that CEL gave: a text as Go writes durations, a duration, or nanoseconds."""
    match value:
        case str() if (length := read_duration(value)) is not None:
            return length.nanos
        case Duration():
            return value.nanos
        case int() | float() if not isinstance(value, bool):
            return int(value)
    raise EvaluationError(f"{value!r} is no duration")


def _number(value: Any) -> int:
    match value:
        case Duration():
            return value.nanos
        case int() | float():
            return int(value)
    raise EvaluationError(f"{value!r} is no number")


def _go_int(text: str) -> int | None:
    """As Go's ParseInt with base 0: `10`, `0x1f`, `017`, `1_000`."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text.removeprefix("+"))
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        digits = f"0o{digits[1:]}"
    try:
        return int(f"{sign}{digits}", 0) if digits[:1].isdigit() else None
    except ValueError:
        return None


def _unix_seconds(moment: Timestamp) -> float:
    return moment.nanos / NS_PER_S


def _seconds_since(obj: Any) -> float:
    created = (obj.get("metadata") or {}).get("creationTimestamp")
    if not isinstance(created, Timestamp):
        raise EvaluationError("SinceSecond needs a pod or a node with metadata.creationTimestamp")
    return (_moment.get().now_ns - created.nanos) / NS_PER_S


_FUNCTIONS: Final[Library] = {
    "Now": (of("", lambda: Timestamp(_moment.get().now_ns)),),
    "Rand": (of("", lambda: _moment.get().chance()),),
    "SinceSecond": (of("map", _seconds_since), on("map", _seconds_since)),
    "UnixSecond": (of("timestamp", _unix_seconds), on("timestamp", _unix_seconds)),
    "Quantity": (of("string", _QUANTITY), on("string", _QUANTITY)),
}
