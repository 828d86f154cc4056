"""Expressions as trees. `at` is where cel-go points when it speaks of the expression: characters from 0."""

from typing import Any

import msgspec


class Literal(msgspec.Struct, frozen=True):
    """A value that is written down."""

    at: int
    value: Any


class Name(msgspec.Struct, frozen=True):
    """A variable, a type, or the beginning of a longer name."""

    at: int
    name: str


class Select(msgspec.Struct, frozen=True):
    """`operand.field`; `optional` for `operand.?field`, `testing` for `has(operand.field)`."""

    at: int
    operand: "Node"
    field: str
    optional: bool = False
    testing: bool = False


class Index(msgspec.Struct, frozen=True):
    """`operand[key]`; `optional` for `operand[?key]`."""

    at: int
    operand: "Node"
    key: "Node"
    optional: bool = False


class Call(msgspec.Struct, frozen=True):
    """A function or an operator; `target` is what a member function is called on."""

    at: int
    function: str
    target: "Node | None"
    arguments: tuple["Node", ...]


class ListOf(msgspec.Struct, frozen=True):
    """A list that is written down; `optional` are the places of elements that may be missing."""

    at: int
    elements: tuple["Node", ...]
    optional: frozenset[int] = frozenset()


class MapOf(msgspec.Struct, frozen=True):
    """A map that is written down: key, value, and whether the entry may be missing."""

    at: int
    entries: tuple[tuple["Node", "Node", bool], ...]


class Loop(msgspec.Struct, frozen=True):
    """A macro over a list or map: `kind` is its name, `names` one or two variables, `guard` what filters."""

    at: int
    kind: str
    over: "Node"
    names: tuple[str, ...]
    body: "Node"
    guard: "Node | None" = None


class Bind(msgspec.Struct, frozen=True):
    """`cel.bind(name, value, body)`, `value.optMap(name, body)`, `value.optFlatMap(name, body)`."""

    at: int
    kind: str
    name: str
    value: "Node"
    body: "Node"


Node = Literal | Name | Select | Index | Call | ListOf | MapOf | Loop | Bind
