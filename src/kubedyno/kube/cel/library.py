"""How functions are declared, and how the one for given values is found."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kube.cel.errors import EvaluationError, no_such_overload
from kubedyno.kube.cel.values import type_name

Function = Callable[..., Any]


class Overload(msgspec.Struct, frozen=True):
    """One meaning of a function: `takes` names the type of each value, `any` for all; the target comes first."""

    member: bool
    takes: tuple[str, ...]
    does: Function


Library = Mapping[str, Sequence[Overload]]
_SHORT = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "quantity": "kubernetes.Quantity",
    "url": "kubernetes.URL",
    "semver": "kubernetes.Semver",
    "ip": "net.IP",
    "cidr": "net.CIDR",
    "format": "kubernetes.NamedFormat",
    "optional": "optional_type",
}


def on(takes: str, does: Function) -> Overload:
    """A member function: `"string int"` is `target.f(argument)` with a text and a number."""
    return Overload(member=True, takes=_spelled(takes), does=does)


def of(takes: str, does: Function) -> Overload:
    """A function of its arguments alone."""
    return Overload(member=False, takes=_spelled(takes), does=does)


def _spelled(takes: str) -> tuple[str, ...]:
    return tuple(_SHORT.get(name, name) for name in takes.split())


def chosen(name: str, overloads: Sequence[Overload], *, terse: bool) -> Function:
    """A function that does what the overload for its values does; `terse` when errors do not name it."""
    terse_error = "no such overload: size" if name == "size" else "no such overload"
    choices = [(overload.takes, overload.does) for overload in overloads]

    def call(*values: Any) -> Any:
        names = tuple(map(type_name, values))
        for takes, does in choices:
            if takes == names or all(take in {"any", name} for take, name in zip(takes, names, strict=True)):
                return does(*values)
        if terse:
            raise EvaluationError(terse_error)
        raise no_such_overload(name, *names)

    return call
