"""Defaults by type: one pass over an object that visits only what can have any.

Kubernetes' defaults belong to Go types and hold wherever the type occurs (a container's in a pod, in a Deployment's
template, in a CronJob's). A type's own defaults come before those of what it contains, as in the real server.
"""

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

from kubedyno.kube import schema
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.schema import Field

Constants = Mapping[str, Mapping[str, Any]]
"""By type: what fields are when they are not given; texts and numbers that are no pointers also when empty."""
Function = Callable[[Object], None]
Functions = Mapping[str, Function]
"""By type: defaults that depend on other fields, set in place after the constants."""

_NANOS_PER_MILLI = 10**6


class Walker:
    """Sets the defaults of two tables, and those that the table of types has, on objects of any type."""

    def __init__(self, constants: Constants, functions: Functions) -> None:
        self._constants = constants
        self._functions = functions
        self._plans: dict[str, Function | None] = {}

    def apply(self, obj: Object, api_version: str, kind: str) -> None:
        """Set the defaults of an object in place; kinds that are not Kubernetes' own stay as they are."""
        found = schema.type_of(api_version, kind)
        plan = None if found is None else self._plan(found.name)
        if plan is not None:
            plan(obj)

    def _plan(self, name: str) -> Function | None:
        """What sets the defaults of a type and of all that it contains; None: there are none."""
        if name not in self._plans:
            # A type that contains itself (a JSON schema) is not visited again; no such type has defaults.
            self._plans[name] = None
            self._plans[name] = self._compiled(name)
        return self._plans[name]

    def _compiled(self, name: str) -> Function | None:
        fields = schema.type_named(name).fields
        steps: list[Function] = []
        known = {field: fields[field].default for field in fields if _has_default(fields[field])}
        if constants := {**known, **self._constants.get(name, {})}:
            steps.append(_filler({field: (value, fields[field]) for field, value in constants.items()}))
        if own := self._functions.get(name):
            steps.append(own)
        if lists := [field for field in fields if _is_resource_list(name, fields[field])]:
            steps.append(lambda obj: _round_up(obj, lists))
        visitors = {
            field_name: _visitor(field, inner)
            for field_name, field in fields.items()
            if field.of_objects and (inner := self._plan(field.of)) is not None
        }
        if visitors:
            steps.append(_visit_all(visitors))
        return _in_order(steps)


def _in_order(steps: list[Function]) -> Function | None:
    if len(steps) <= 1:
        return steps[0] if steps else None

    def run(obj: Object) -> None:
        for step in steps:
            step(obj)

    return run


def _has_default(field: Field) -> bool:
    """Whether the table's default does something: an empty one does not, unless it is a pointer's."""
    return field.default is not None and (bool(field.default) or field.presence == "given")


def _filler(constants: Mapping[str, tuple[Any, Field]]) -> Function:
    plain = [
        (name, value, field.presence in {"", "always"})
        for name, (value, field) in constants.items()
        if not isinstance(value, dict | list)
    ]
    copied = [(name, value) for name, (value, _) in constants.items() if isinstance(value, dict | list)]

    def fill(obj: Object) -> None:
        for name, value, when_empty in plain:
            given = obj.get(name)
            if given is None or (when_empty and not given):
                obj[name] = value
        for name, value in copied:
            if obj.get(name) is None:
                obj[name] = copy.deepcopy(value)

    return fill


def _visit_all(visitors: Mapping[str, Callable[[Any], None]]) -> Function:
    def visit(obj: Object) -> None:
        for name, value in obj.items():
            if value is not None and name in visitors:
                visitors[name](value)

    return visit


def _visitor(field: Field, inner: Function) -> Callable[[Any], None]:
    def visit_list(values: list[Object]) -> None:
        for value in values:
            inner(value)

    def visit_map(values: dict[str, Object]) -> None:
        for value in values.values():
            inner(value)

    match field.shape:
        case "list":
            return visit_list
        case "map":
            return visit_map
        case _:
            return inner


def _is_resource_list(owner: str, field: Field) -> bool:
    is_core = owner.startswith("core.") and owner != "core.v1.NodeAllocatableResourceClaimStatus"
    return is_core and field.shape == "map" and field.of == "quantity"


def _round_up(obj: Object, lists: list[str]) -> None:
    """Amounts of resources have no finer grain than thousandths."""
    for name in lists:
        amounts = obj.get(name)
        if amounts:
            for key, amount in amounts.items():
                rounded = _rounded_up(amount)
                if rounded is not amount:
                    amounts[key] = rounded


@functools.lru_cache(maxsize=4096)
def _rounded_up(text: str) -> str:
    amount = Quantity.parse(text)
    if amount.nanos % _NANOS_PER_MILLI == 0:
        return text
    return str(Quantity(amount.milli() * _NANOS_PER_MILLI, amount.family))
