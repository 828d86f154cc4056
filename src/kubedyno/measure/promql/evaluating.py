"""A query evaluated at a moment over series."""

import math
from collections.abc import Callable, Sequence

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql import operators
from kubedyno.measure.promql.aggregating import aggregated
from kubedyno.measure.promql.functions import FUNCTIONS, Arguments
from kubedyno.measure.promql.nodes import (
    Aggregate,
    Binary,
    Call,
    Negate,
    Node,
    Number,
    Range,
    Selector,
    Subquery,
    Text,
    kind_of,
)
from kubedyno.measure.promql.problems import Misfit, refusal
from kubedyno.measure.promql.timelines import Timeline
from kubedyno.measure.promql.values import NAME, Labels, Sample, Vector, Window, Windows, identity, shown, unnamed


class Evaluation:
    """One query over the series that `find` finds for a selector. Each selector looks for them once."""

    def __init__(self, text: str, find: Callable[[Selector], Sequence[Timeline]]) -> None:
        self._text = text
        self._find = find
        self._found: dict[Selector, Sequence[Timeline]] = {}

    def number(self, node: Node, at_ns: int) -> float:
        """Of an expression that gives a number."""
        match node:
            case Number():
                return node.value
            case Negate():
                return -self.number(node.body, at_ns)
            case Binary():
                return operators.of_numbers(node, self.number(node.left, at_ns), self.number(node.right, at_ns))
            case Call(name="scalar", arguments=(body,)):
                vector = self.vector(body, at_ns)
                return vector[0].value if len(vector) == 1 else math.nan
            case Call(name="time"):
                return at_ns / NS_PER_S
        raise AssertionError(node)

    def vector(self, node: Node, at_ns: int) -> Vector:
        """Of an expression that gives an instant vector."""
        match node:
            case Selector():
                return tuple(Sample(labels, value) for labels, _, value in self._latest(node, at_ns))
            case Aggregate():
                return self._aggregated(node, at_ns)
            case Negate():
                negated = (Sample(unnamed(it.labels), -it.value) for it in self.vector(node.body, at_ns))
                return self._distinct(tuple(negated), node)
            case Binary():
                return self._distinct(self._combined(node, at_ns), node)
            case Call():
                return self._distinct(self._called(node, at_ns), node)
        raise AssertionError(node)

    def windows(self, node: Node, at_ns: int) -> Windows:
        """Of an expression that gives a range vector."""
        match node:
            case Range():
                end_ns = at_ns - node.selector.offset_ns
                windows = (line.window(end_ns - node.range_ns, end_ns) for line in self._timelines(node.selector))
                return tuple(window for window in windows if window is not None)
            case Subquery():
                return self._stepped(node, at_ns)
        raise AssertionError(node)

    def _timelines(self, selector: Selector) -> Sequence[Timeline]:
        if selector not in self._found:
            self._found[selector] = self._find(selector)
        return self._found[selector]

    def _latest(self, selector: Selector, at_ns: int) -> list[tuple[Labels, int, float]]:
        """Labels, time and value of each series that counts."""
        found = ((line.labels, line.latest(at_ns - selector.offset_ns)) for line in self._timelines(selector))
        return [(labels, *latest) for labels, latest in found if latest is not None]

    def _stepped(self, node: Subquery, at_ns: int) -> Windows:
        end_ns = at_ns - node.offset_ns
        begin_ns = end_ns - node.range_ns
        gathered: dict[frozenset[tuple[str, str]], tuple[Labels, list[int], list[float]]] = {}
        # Steps are multiples of their length, whenever the query is asked; the left end is open.
        for step_ns in range((begin_ns // node.step_ns + 1) * node.step_ns, end_ns + 1, node.step_ns):
            for sample in self.vector(node.body, step_ns):
                _, times_ns, values = gathered.setdefault(identity(sample.labels), (sample.labels, [], []))
                times_ns.append(step_ns)
                values.append(sample.value)
        return tuple(
            Window(labels, times_ns, values, begin_ns, end_ns) for labels, times_ns, values in gathered.values()
        )

    def _aggregated(self, node: Aggregate, at_ns: int) -> Vector:
        parameter: float | str | None = None
        if isinstance(node.parameter, Text):
            parameter = node.parameter.value
        elif node.parameter is not None:
            parameter = self.number(node.parameter, at_ns)
        try:
            return aggregated(node, self.vector(node.body, at_ns), parameter)
        except Misfit as misfit:
            raise refusal(str(misfit), self._text, node.at) from None

    def _combined(self, node: Binary, at_ns: int) -> Vector:
        left, right = (
            self.number(side, at_ns) if kind_of(side) == "scalar" else self.vector(side, at_ns)
            for side in (node.left, node.right)
        )
        if isinstance(left, float) or isinstance(right, float):
            return operators.with_number(node, left, right)
        try:
            return operators.of_vectors(node, left, right)
        except Misfit as misfit:
            raise refusal(str(misfit), self._text, node.at) from None

    def _called(self, node: Call, at_ns: int) -> Vector:
        match node:
            case Call(name="timestamp", arguments=(Selector() as selector,)):
                latest = self._latest(selector, at_ns)
                return tuple(Sample(unnamed(labels), since_ns / NS_PER_S) for labels, since_ns, _ in latest)
            case Call(name="timestamp", arguments=(body,)):
                return tuple(Sample(unnamed(it.labels), at_ns / NS_PER_S) for it in self.vector(body, at_ns))
            case Call(name="absent", arguments=(body,)):
                return () if self.vector(body, at_ns) else (Sample(_told(body), 1.0),)
            case Call(name="absent_over_time", arguments=(body,)):
                return () if self.windows(body, at_ns) else (Sample(_told(body), 1.0),)
        kinds = [(argument, kind_of(argument)) for argument in node.arguments]
        arguments = Arguments(
            vector=next((self.vector(argument, at_ns) for argument, kind in kinds if kind == "vector"), ()),
            windows=next((self.windows(argument, at_ns) for argument, kind in kinds if kind == "matrix"), ()),
            numbers=tuple(self.number(argument, at_ns) for argument, kind in kinds if kind == "scalar"),
            texts=tuple(argument.value for argument in node.arguments if isinstance(argument, Text)),
        )
        try:
            return FUNCTIONS[node.name](arguments)
        except Misfit as misfit:
            raise refusal(str(misfit), self._text, node.at) from None

    def _distinct(self, vector: Vector, node: Node) -> Vector:
        """The vector; two elements with the same labels are refused: names of metrics were lost, or labels replaced."""
        seen: set[frozenset[tuple[str, str]]] = set()
        for sample in vector:
            key = identity(sample.labels)
            if key in seen:
                raise refusal(
                    f"it gives several elements with the labels {shown(sample.labels)}: select one metric, or "
                    "aggregate first",
                    self._text,
                    node.at,
                )
            seen.add(key)
        return vector


def _told(node: Node) -> Labels:
    """The labels that a selector tells by value: those of what is absent."""
    selector = node.selector if isinstance(node, Range) else node
    if not isinstance(selector, Selector):
        return {}
    told = [matcher.label for matcher in selector.matchers]
    return {
        matcher.label: matcher.value
        for matcher in selector.matchers
        if matcher.operator == "=" and matcher.value and matcher.label != NAME and told.count(matcher.label) == 1
    }
