"""Whether what stands in a call fits the function's parameters, in Go's words where it does not."""

from typing import Any, Final

from kubedyno.kube.gotemplate import nodes
from kubedyno.kube.gotemplate.functions import Function, Parameter
from kubedyno.kube.gotemplate.nodes import Node
from kubedyno.kube.gotemplate.quoting import quoted
from kubedyno.kube.gotemplate.values import MISSING, plain, type_name, unboxed

_EXACT: Final[dict[Parameter, type]] = {
    Parameter.BOOL: bool,
    Parameter.FLOAT: float,
    Parameter.INT: int,
    Parameter.LIST: list,
    Parameter.MAP: dict,
    Parameter.STRING: str,
}
_NEEDED: Final = {
    Parameter.BOOL: "bool",
    Parameter.FLOAT: "float",
    Parameter.INT: "integer",
    Parameter.STRING: "string",
}


class Mismatch(Exception):
    """An argument that does not fit; it is told at the node that is being evaluated."""


def check_count(name: str, function: Function, count: int, *, piped: bool) -> None:
    """`count` arguments stand in the call, and one more came down the pipeline if `piped`."""
    wanted, given = len(function.parameters), count + piped
    if function.rest is None and given != wanted:
        raise Mismatch(f"wrong number of args for {name}: want {wanted} got {given}")
    if given < wanted:
        raise Mismatch(f"wrong number of args for {name}: want at least {wanted} got {count}")


def nil(parameter: Parameter) -> Any:
    """The word `nil` as an argument."""
    if not parameter.can_be_nil:
        raise Mismatch(f"cannot assign nil to {parameter}")
    return MISSING if parameter is Parameter.VALUE else None


def constant(node: Node) -> Any:
    """What a literal is where no type is asked for."""
    match node:
        case nodes.NumberLiteral() if node.value is None:
            raise Mismatch(f"{node.source} overflows int")
        case nodes.Literal() | nodes.NumberLiteral():
            return node.value
        case nodes.Nil():
            raise Mismatch("nil is not a command")
    raise Mismatch(f"can't evaluate command {quoted(str(node))}")


def literal(node: Node, parameter: Parameter) -> Any:
    """A literal where a type is asked for: a whole number may be a float, and nothing else is converted."""
    if parameter in {Parameter.ANY, Parameter.VALUE}:
        return constant(node)
    value: Any = None
    match node:
        case nodes.NumberLiteral():
            value = {Parameter.INT: node.integer, Parameter.FLOAT: node.floating}.get(parameter)
        case nodes.Literal() if type(node.value) is _EXACT[parameter]:
            value = node.value
    if value is None:
        if parameter not in _NEEDED:
            raise Mismatch(f"can't handle {node} for arg of type {parameter}")
        raise Mismatch(f"expected {_NEEDED[parameter]}; found {node}")
    return value


def typed(value: Any, parameter: Parameter) -> Any:
    """A value as the function gets it."""
    if parameter is Parameter.VALUE:
        return value
    if parameter is Parameter.ANY:
        return plain(value)
    if value is MISSING:
        if parameter.can_be_nil:
            return None
        raise Mismatch(f"invalid value; expected {parameter}")
    held = unboxed(value)
    if held is MISSING:
        raise Mismatch(f"wrong type for value; expected {parameter}; got interface {{}}")
    if type(held) is not _EXACT[parameter]:
        raise Mismatch(f"wrong type for value; expected {parameter}; got {type_name(held)}")
    return held


def not_callable(name: str | None, value: Any) -> str:
    """Why `call` cannot call it: data has no functions. `name`: as what it stands in the call."""
    held = unboxed(value)
    if held is MISSING:
        return "call of nil"
    kind = type_name(held)
    if name is None:  # it came down the pipeline: Go says what reflection calls it
        name = held if isinstance(held, str) else f"<{kind} Value>"
    return f"non-function {name} of type {kind}"
