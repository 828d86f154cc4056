"""Two operands and what stands between them: arithmetic as of IEEE 754, comparisons, sets, and whose partner is who."""

import math
import operator
from collections.abc import Callable, Iterator
from typing import Final

from kubedyno.measure.promql.nodes import Binary, Matching
from kubedyno.measure.promql.problems import Misfit
from kubedyno.measure.promql.values import NAME, Labels, Sample, Vector, identity, shown, unnamed

_Signature = frozenset[tuple[str, str]]


def quotient(dividend: float, divisor: float) -> float:
    """A division that never fails: by nothing it gives infinity or NaN."""
    if divisor:
        return dividend / divisor
    if math.isnan(dividend) or not dividend:
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def _remainder(dividend: float, divisor: float) -> float:
    try:
        return math.fmod(dividend, divisor)
    except ValueError:  # by nothing, or of infinity
        return math.nan


def _power(base: float, exponent: float) -> float:
    is_odd = math.isfinite(exponent) and abs(math.fmod(exponent, 2.0)) == 1.0
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:  # nothing to a negative power, or a root of something negative
        if base:
            return math.nan
        return math.copysign(math.inf, base) if is_odd else math.inf


_ARITHMETIC: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": quotient,
    "%": _remainder,
    "^": _power,
    "atan2": math.atan2,
}
_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def of_numbers(node: Binary, left: float, right: float) -> float:
    """Two numbers."""
    if node.operator in _COMPARISONS:
        return float(_COMPARISONS[node.operator](left, right))
    return _ARITHMETIC[node.operator](left, right)


def with_number(node: Binary, left: Vector | float, right: Vector | float) -> Vector:
    """A vector and a number, on either side: each element with the number."""
    vector = left if isinstance(left, tuple) else right
    found = []
    for sample in vector if isinstance(vector, tuple) else ():
        pair = (
            left if isinstance(left, float) else sample.value,
            right if isinstance(right, float) else sample.value,
        )
        value = of_numbers(node, *pair)
        if node.operator not in _COMPARISONS or node.is_bool:
            found.append(Sample(unnamed(sample.labels), value))
        elif value:
            found.append(sample)
    return tuple(found)


def of_vectors(node: Binary, left: Vector, right: Vector) -> Vector:
    """Two vectors: elements that belong together, or sets."""
    signature = _signing(node.matching)
    if node.operator in {"and", "or", "unless"}:
        return _set(node.operator, left, right, signature)
    return tuple(_matched(node, left, right, signature))


def _signing(matching: Matching) -> Callable[[Labels], _Signature]:
    """What must be equal of two elements that belong together."""
    chosen = frozenset(matching.labels)
    if matching.on:
        return lambda labels: frozenset(pair for pair in labels.items() if pair[0] in chosen)
    ignored = chosen | {NAME}
    return lambda labels: frozenset(pair for pair in labels.items() if pair[0] not in ignored)


def _set(which: str, left: Vector, right: Vector, signature: Callable[[Labels], _Signature]) -> Vector:
    if which == "or":
        there = {signature(sample.labels) for sample in left}
        return (*left, *(sample for sample in right if signature(sample.labels) not in there))
    there = {signature(sample.labels) for sample in right}
    return tuple(sample for sample in left if (signature(sample.labels) in there) == (which == "and"))


def _matched(node: Binary, left: Vector, right: Vector, signature: Callable[[Labels], _Signature]) -> Iterator[Sample]:
    """Each element of the many side, or of the left, with its only partner on the other."""
    if not left or not right:
        return
    is_turned = node.matching.many == "right"
    many, one = (right, left) if is_turned else (left, right)
    partners: dict[_Signature, Sample] = {}
    for sample in one:
        key = signature(sample.labels)
        if key in partners:
            raise Misfit(
                f"{shown(partners[key].labels)} and {shown(sample.labels)} on the {'left' if is_turned else 'right'} "
                f"side are equal in {shown(dict(key))}: one side must have each only once, so aggregate it, or match "
                "on more labels"
            )
        partners[key] = sample
    taken: set[tuple[_Signature, _Signature]] = set()
    for sample in many:
        key = signature(sample.labels)
        partner = partners.get(key)
        if partner is None:
            continue
        pair = (partner.value, sample.value) if is_turned else (sample.value, partner.value)
        value = of_numbers(node, *pair)
        if node.operator in _COMPARISONS and not node.is_bool:
            if not value:
                continue
            value = pair[0]
        labels = _labels(node, sample.labels, partner.labels)
        # With one partner each, the second one is too many, whatever its labels.
        place = (key, identity(labels) if node.matching.many else frozenset())
        if place in taken:
            raise Misfit(
                f"several elements belong to {shown(dict(key))}: "
                + (
                    "name labels that tell them apart"
                    if node.matching.many
                    else "write group_left or group_right behind the labels, or aggregate the side that has several"
                )
            )
        taken.add(place)
        yield Sample(labels, value)


def _labels(node: Binary, many: Labels, one: Labels) -> Labels:
    """Those of the many side, or of what both have in common when there is one partner each."""
    matching = node.matching
    labels = dict(many)
    if node.operator in _ARITHMETIC or node.is_bool:
        labels.pop(NAME, None)
    if not matching.many:
        chosen = frozenset(matching.labels)
        labels = {name: value for name, value in labels.items() if (name in chosen) == matching.on}
    for name in matching.include:
        labels.pop(name, None)
        if name in one:
            labels[name] = one[name]
    return labels
