"""A query as a tree. `at` is the character where it stands; durations are nanoseconds."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.kube.cel import regexes
from kubedyno.measure.promql.values import NAME, Labels

Kind: TypeAlias = Literal["scalar", "string", "vector", "matrix"]
MatchOperator: TypeAlias = Literal["=", "!=", "=~", "!~"]
_NUMBERS: Final = frozenset({"le", "quantile"})


class Matcher(msgspec.Struct, frozen=True):
    """A condition on one label. Regular expressions must match the whole value.

    Bounds of buckets and quantiles are equal as numbers: Prometheus 3 writes 1.0 where components and Prometheus 2
    write 1, and queries are written for either.
    """

    label: str
    operator: MatchOperator
    value: str

    def accepts(self, text: str) -> bool:
        """Whether a label with this value is meant; the value of a label that is not there is empty."""
        if self.operator in {"=", "!="}:
            is_equal = text == self.value or (self.label in _NUMBERS and _are_equal(text, self.value))
            return is_equal == (self.operator == "=")
        return (regexes.compiled(f"(?s:{self.value})").fullmatch(text) is not None) == (self.operator == "=~")


def _are_equal(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


class Number(msgspec.Struct, frozen=True):
    """A number as written."""

    value: float
    at: int


class Text(msgspec.Struct, frozen=True):
    """A string as written."""

    value: str
    at: int


class Selector(msgspec.Struct, frozen=True):
    """The latest value of each series that all matchers accept."""

    matchers: tuple[Matcher, ...]
    at: int
    offset_ns: int = 0

    def accepts(self, labels: Labels) -> bool:
        """Whether a series is meant."""
        return all(matcher.accepts(labels.get(matcher.label, "")) for matcher in self.matchers)

    @property
    def metric(self) -> str | None:
        """The one metric that can be meant; None: it is not told by name."""
        return next((m.value for m in self.matchers if m.label == NAME and m.operator == "="), None)


class Range(msgspec.Struct, frozen=True):
    """All values of series within a duration; the offset is the selector's."""

    selector: Selector
    range_ns: int
    at: int


class Subquery(msgspec.Struct, frozen=True):
    """An expression evaluated at all multiples of `step_ns` within a duration."""

    body: "Node"
    range_ns: int
    step_ns: int
    at: int
    offset_ns: int = 0


class Call(msgspec.Struct, frozen=True):
    """A function on arguments whose number and kinds were checked."""

    name: str
    arguments: tuple["Node", ...]
    gives: Kind
    at: int


class Aggregate(msgspec.Struct, frozen=True):
    """A vector put together by labels: those of `labels`, or with `without` all others."""

    operator: str
    body: "Node"
    parameter: "Node | None"
    labels: tuple[str, ...]
    without: bool
    at: int


class Matching(msgspec.Struct, frozen=True):
    """Which elements of two vectors belong together: equal in the labels `on`, or in all but these."""

    labels: tuple[str, ...] = ()
    on: bool = False
    many: Literal["", "left", "right"] = ""
    """The side of which several elements may belong to one of the other side."""
    include: tuple[str, ...] = ()
    """Labels that the result takes from the other side."""


class Binary(msgspec.Struct, frozen=True):
    """Two operands and what stands between them."""

    operator: str
    left: "Node"
    right: "Node"
    is_bool: bool
    """A comparison tells 0 or 1 instead of choosing elements."""
    matching: Matching
    at: int


class Negate(msgspec.Struct, frozen=True):
    """The unary minus."""

    body: "Node"
    at: int


Node: TypeAlias = Number | Text | Selector | Range | Subquery | Call | Aggregate | Binary | Negate


def kind_of(node: Node) -> Kind:  # noqa: PLR0911 - one for each kind of node
    """What a node gives when it is evaluated."""
    match node:
        case Number():
            return "scalar"
        case Text():
            return "string"
        case Range() | Subquery():
            return "matrix"
        case Call():
            return node.gives
        case Negate():
            return kind_of(node.body)
        case Binary() if kind_of(node.left) == kind_of(node.right) == "scalar":
            return "scalar"
    return "vector"


def selectors_of(node: Node) -> Iterator[Selector]:
    """All selectors of a tree."""
    match node:
        case Selector():
            yield node
        case Range():
            yield node.selector
        case Subquery() | Negate():
            yield from selectors_of(node.body)
        case Call():
            for argument in node.arguments:
                yield from selectors_of(argument)
        case Aggregate():
            yield from selectors_of(node.body)
            if node.parameter is not None:
                yield from selectors_of(node.parameter)
        case Binary():
            yield from selectors_of(node.left)
            yield from selectors_of(node.right)
