"""What a template may call: a Python function with the Go types of its parameters."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec


class Parameter(StrEnum):
    """The type that an argument must have, by its name in Go. VALUE takes what the evaluator holds, as it is."""

    ANY = "interface {}"
    BOOL = "bool"
    FLOAT = "float64"
    INT = "int"
    LIST = "[]interface {}"
    MAP = "map[string]interface {}"
    STRING = "string"
    VALUE = "reflect.Value"

    @property
    def can_be_nil(self) -> bool:
        """Whether `nil` and what is missing may stand for it."""
        return self in _NILABLE


_NILABLE = frozenset((Parameter.ANY, Parameter.LIST, Parameter.MAP, Parameter.VALUE))


class Function(msgspec.Struct, frozen=True):
    """A function by the types of its parameters; `rest` is that of any number of further arguments (None: no more).

    It is called with Python's values (None where nothing is) and raises `ValueError` to stop the rendering.
    """

    call: Callable[..., Any]
    parameters: tuple[Parameter, ...] = ()
    rest: Parameter | None = None

    def parameter(self, position: int) -> Parameter:
        """The type of the argument at a position that there is."""
        if position < len(self.parameters):
            return self.parameters[position]
        return self.rest or Parameter.ANY


Functions = Mapping[str, Function]
