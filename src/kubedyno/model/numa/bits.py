"""Sets of small numbers (CPUs, NUMA nodes) as whole numbers, one bit for each member."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from kubedyno.kit.errors import UsageError

Bits: TypeAlias = int

_LARGEST_MEMBER = 65_535


def of(members: Iterable[int]) -> Bits:
    """The set of these numbers."""
    bits = 0
    for member in members:
        bits |= 1 << member
    return bits


def members(bits: Bits) -> list[int]:
    """Its numbers, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def subsets(numbers: Iterable[int]) -> Iterator[Bits]:
    """Every subset but the empty one, smaller ones first; the order in which hints are listed."""
    ordered = sorted(numbers)
    for size in range(1, len(ordered) + 1):
        for chosen in itertools.combinations(ordered, size):
            yield of(chosen)


def parse(text: str) -> Bits:
    """The set that the kernel and the kubelet write as `0-3,8`; the empty text is the empty set."""
    bits = 0
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if not first.isascii() or not first.isdigit() or not (last or first).isdigit() or part.endswith("-"):
            raise UsageError(f"{text!r} is no list of numbers: write it like 0-3,8")
        low, high = int(first), int(last or first)
        if low > high or high > _LARGEST_MEMBER:
            raise UsageError(f"{part!r} in {text!r} is no range: write the lower number first, up to {_LARGEST_MEMBER}")
        bits |= ((1 << (high - low + 1)) - 1) << low
    return bits


def text(bits: Bits) -> str:
    """The set as the kubelet writes it: `0-3,8`."""
    parts = []
    for _, run in itertools.groupby(enumerate(members(bits)), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        parts.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    return ",".join(parts)
