"""What expressions are made of when they are evaluated: numbers, strings, instant vectors and range vectors."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

Labels: TypeAlias = Mapping[str, str]
"""A label that is empty is not there. Nobody changes them."""

NAME: Final = "__name__"
"""The label that holds the metric's name."""


class Sample(msgspec.Struct, frozen=True):
    """One element of an instant vector."""

    labels: Labels
    value: float


Vector: TypeAlias = tuple[Sample, ...]


class Window(msgspec.Struct, frozen=True):
    """One element of a range vector: what a series had after `begin_ns` and not after `end_ns`; at least one value."""

    labels: Labels
    times_ns: Sequence[int]
    values: Sequence[float]
    begin_ns: int
    end_ns: int


Windows: TypeAlias = tuple[Window, ...]


def identity(labels: Labels) -> frozenset[tuple[str, str]]:
    """Equal for label sets that are equal."""
    return frozenset(labels.items())


def unnamed(labels: Labels) -> Labels:
    """Without the metric's name: what was computed from a metric is not that metric."""
    return {name: value for name, value in labels.items() if name != NAME}


def shown(labels: Labels) -> str:
    """A label set for people, as a selector is written."""
    inner = ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if name != NAME)
    return f"{labels.get(NAME, '')}{{{inner}}}"


def total(values: Iterable[float]) -> float:
    """The sum without rounding on the way; infinities and NaN go as in floating point."""
    listed = list(values)
    try:
        return math.fsum(listed)
    except (OverflowError, ValueError):  # beyond the largest float, or infinities of both signs
        return sum(listed)


def variance(values: Sequence[float]) -> float:
    """The mean square of the distances from the mean: of a whole population, not of a sample of one."""
    mean = total(values) / len(values)
    return total((value - mean) * (value - mean) for value in values) / len(values)
