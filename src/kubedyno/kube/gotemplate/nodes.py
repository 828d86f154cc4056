"""What a template is made of. `str` of a node is how Go cites it in an error; `at`: where it begins, in characters."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from kubedyno.kube.gotemplate.quoting import quoted


class Text(msgspec.Struct):
    """What is printed as it stands."""

    at: int
    text: str


class Literal(msgspec.Struct):
    """A bool, a string, or a number; `value` is what it is where no type is asked for."""

    at: int
    source: str
    value: Any

    def __str__(self) -> str:
        return self.source


class NumberLiteral(msgspec.Struct):
    """A number with the readings that it has: a whole number may stand for a float, too."""

    at: int
    source: str
    value: int | float | None  # None: it does not fit into an int, which is said when it is used
    integer: int | None
    floating: float | None

    def __str__(self) -> str:
        return self.source


class Nil(msgspec.Struct):
    """The word `nil`."""

    at: int

    def __str__(self) -> str:
        return "nil"


class Dot(msgspec.Struct):
    """The cursor."""

    at: int

    def __str__(self) -> str:
        return "."


class Field(msgspec.Struct):
    """`.a.b` of the cursor."""

    at: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.names)


class Variable(msgspec.Struct):
    """`$x.a.b`; the first name has its dollar sign."""

    at: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.names)


class Identifier(msgspec.Struct):
    """The name of a function."""

    at: int
    name: str

    def __str__(self) -> str:
        return self.name


class Chain(msgspec.Struct):
    """Fields of what a pipeline in parentheses or a function gives."""

    at: int
    node: "Node"
    names: tuple[str, ...]

    def __str__(self) -> str:
        return _cited(self.node) + "".join(f".{name}" for name in self.names)


class Command(msgspec.Struct):
    """A word and its arguments."""

    at: int
    args: "Sequence[Node]"

    def __str__(self) -> str:
        return " ".join(map(_cited, self.args))


class Pipe(msgspec.Struct):
    """Commands of which each is the last argument of the next, and the variables that take what comes out."""

    at: int
    variables: tuple[Variable, ...]
    assigns: bool
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        commands = " | ".join(map(str, self.commands))
        if not self.variables:
            return commands
        return f"{', '.join(map(str, self.variables))} {'=' if self.assigns else ':='} {commands}"


class Action(msgspec.Struct):
    """A pipeline that is printed."""

    at: int
    pipe: Pipe

    def __str__(self) -> str:
        return f"{{{{{self.pipe}}}}}"


class Branch(msgspec.Struct):
    """What if, with and range share: a pipeline that decides, a body, and what stands after else (None: nothing)."""

    at: int
    pipe: Pipe
    body: "Sequence[Node]"
    otherwise: "Sequence[Node] | None"


class If(Branch):
    """The body when the pipeline is true."""


class With(Branch):
    """The same, with the pipeline's value as cursor."""


class Range(Branch):
    """The body for each element."""


class Call(msgspec.Struct):
    """Another template, with a cursor of its own."""

    at: int
    name: str
    pipe: Pipe | None

    def __str__(self) -> str:
        return f"{{{{template {quoted(self.name)}{f' {self.pipe}' if self.pipe else ''}}}}}"


class Break(msgspec.Struct):
    """The end of a range."""

    at: int


class Continue(msgspec.Struct):
    """The next element of a range."""

    at: int


Node: TypeAlias = (
    Text
    | Literal
    | NumberLiteral
    | Nil
    | Dot
    | Field
    | Variable
    | Identifier
    | Chain
    | Pipe
    | Action
    | If
    | With
    | Range
    | Call
    | Break
    | Continue
)


def _cited(node: Node) -> str:
    return f"({node})" if isinstance(node, Pipe) else str(node)
