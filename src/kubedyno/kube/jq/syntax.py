"""The tree of a jq query. `at` is the character of the text where a part that can fail stands."""

from typing import Any, Union

import msgspec


class Identity(msgspec.Struct, frozen=True):
    """`.`."""


class Literal(msgspec.Struct, frozen=True):
    """A number, `null`, `true` or `false`."""

    value: Any


class Text(msgspec.Struct, frozen=True):
    """A string, with queries between its pieces; `format` (`@base64`) is how their results are written."""

    pieces: tuple[Union[str, "Node"], ...]
    format: str
    at: int


class Index(msgspec.Struct, frozen=True):
    """`target[key]` and `target.key`; the key is evaluated on the input, not on the target."""

    target: "Node"
    key: "Node"
    at: int


class Slice(msgspec.Struct, frozen=True):
    """`target[start:end]`."""

    target: "Node"
    start: "Node"
    end: "Node"
    at: int


class Iterate(msgspec.Struct, frozen=True):
    """`target[]`."""

    target: "Node"
    at: int


class Pipe(msgspec.Struct, frozen=True):
    """`left | right`."""

    left: "Node"
    right: "Node"


class Comma(msgspec.Struct, frozen=True):
    """`left, right`."""

    left: "Node"
    right: "Node"


class Binary(msgspec.Struct, frozen=True):
    """Arithmetic, comparison, `and`, `or`, `//`."""

    operator: str
    left: "Node"
    right: "Node"
    at: int


class Update(msgspec.Struct, frozen=True):
    """`left = right`, `left |= right`, `left += right` and the like."""

    operator: str
    left: "Node"
    right: "Node"
    at: int


class Sign(msgspec.Struct, frozen=True):
    """`-body` or `+body`."""

    operator: str
    body: "Node"
    at: int


class Call(msgspec.Struct, frozen=True):
    """`name(argument; argument)`."""

    name: str
    arguments: tuple["Node", ...]
    at: int


class Variable(msgspec.Struct, frozen=True):
    """`$name`, kept with its dollar."""

    name: str
    at: int


class Array(msgspec.Struct, frozen=True):
    """`[body]`; None for `[]`."""

    body: Union["Node", None]


class Object(msgspec.Struct, frozen=True):
    """`{key: value}`."""

    entries: tuple[tuple["Node", "Node"], ...]
    at: int


class If(msgspec.Struct, frozen=True):
    """`if condition then ... else ... end`; without an else, the input itself."""

    condition: "Node"
    then: "Node"
    otherwise: "Node"


class Try(msgspec.Struct, frozen=True):
    """`try body catch handler` and `body?`; without a handler, errors end the outputs silently."""

    body: "Node"
    handler: Union["Node", None]


class Bind(msgspec.Struct, frozen=True):
    """`source as pattern ?// pattern | body`."""

    source: "Node"
    patterns: tuple["Pattern", ...]
    body: "Node"


class Reduce(msgspec.Struct, frozen=True):
    """`reduce source as pattern (start; update)`."""

    source: "Node"
    pattern: "Pattern"
    start: "Node"
    update: "Node"


class Foreach(msgspec.Struct, frozen=True):
    """`foreach source as pattern (start; update; extract)`."""

    source: "Node"
    pattern: "Pattern"
    start: "Node"
    update: "Node"
    extract: "Node"


class Define(msgspec.Struct, frozen=True):
    """`def name(parameters): body; rest`."""

    name: str
    parameters: tuple[str, ...]
    body: "Node"
    rest: "Node"


class Label(msgspec.Struct, frozen=True):
    """`label $name | body`."""

    name: str
    body: "Node"


class Break(msgspec.Struct, frozen=True):
    """`break $name`."""

    name: str
    at: int


class NamePattern(msgspec.Struct, frozen=True):
    """`$name`."""

    name: str


class ArrayPattern(msgspec.Struct, frozen=True):
    """`[pattern, pattern]`."""

    items: tuple["Pattern", ...]
    at: int


class ObjectPattern(msgspec.Struct, frozen=True):
    """`{key: pattern, $name}`; each entry is the name it binds or "", its key, and the pattern below it."""

    entries: tuple[tuple[str, "Node", Union["Pattern", None]], ...]
    at: int


Pattern = NamePattern | ArrayPattern | ObjectPattern
Node = (
    Identity
    | Literal
    | Text
    | Index
    | Slice
    | Iterate
    | Pipe
    | Comma
    | Binary
    | Update
    | Sign
    | Call
    | Variable
    | Array
    | Object
    | If
    | Try
    | Bind
    | Reduce
    | Foreach
    | Define
    | Label
    | Break
)
