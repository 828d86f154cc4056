"""Whether two groups of samples differ: the test of Mann and Whitney, and how many tests are judged together. Pure.

The test asks only for the order of the samples, so nothing is assumed of their distribution: run times have long tails.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

_EXACT_UP_TO: Final = 60
"""Samples of both groups together for which the chances are counted; of more the normal distribution is close."""


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> float:
    """The chance of groups at least so unlike, on either side, if both come from one distribution.

    Equal samples share their ranks. Either group without samples: 1.
    """
    if not first or not second:
        return 1.0
    doubled = _doubled_ranks([*first, *second])
    got = sum(doubled[: len(first)])
    if len(doubled) <= _EXACT_UP_TO:
        return _counted(tuple(sorted(doubled)), len(first), got)
    return _approximated(doubled, len(first), got)


def least_chance(first: int, second: int) -> float:
    """The least that the test can give for groups of this size: no difference whatever gives less."""
    return min(1.0, 2 / math.comb(first + second, first))


def discoveries(chances: Sequence[float], level: float) -> list[bool]:
    """Which of several tests count, by the procedure of Benjamini and Hochberg, in their order.

    Of those that count at most the share `level` is by chance, on average; where nothing differs at all, one or more
    count with the chance `level`.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    last = 0
    for place, index in enumerate(order, start=1):
        if chances[index] <= level * place / len(chances):
            last = place
    counted = set(order[:last])
    return [index in counted for index in range(len(chances))]


def _doubled_ranks(samples: Sequence[float]) -> list[int]:
    """Twice the rank of each sample, from 1 on: equal ones have the mean of their places, which may be a half."""
    order = sorted(range(len(samples)), key=samples.__getitem__)
    doubled = [0] * len(samples)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and samples[order[end]] == samples[order[start]]:
            end += 1
        for index in order[start:end]:
            doubled[index] = start + 1 + end
        start = end
    return doubled


@lru_cache(maxsize=256)
def _counted(doubled: tuple[int, ...], size: int, got: int) -> float:
    """The share of all ways to choose `size` of the ranks whose sum is as far out as `got`."""
    ways = np.zeros((size + 1, sum(doubled) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        for chosen in range(size, 0, -1):
            ways[chosen, rank:] += ways[chosen - 1, : ways.shape[1] - rank]
    row = ways[size]
    total = row.sum()
    below, above = float(row[: got + 1].sum() / total), float(row[got:].sum() / total)
    return min(1.0, 2 * min(below, above))


def _approximated(doubled: Sequence[int], size: int, got: int) -> float:
    count = len(doubled)
    other = count - size
    mean = size * (count + 1)
    ties: dict[int, int] = {}
    for rank in doubled:
        ties[rank] = ties.get(rank, 0) + 1
    tied = sum(number**3 - number for number in ties.values())
    # Of doubled ranks, so four times the variance of the sum of ranks.
    variance = size * other / 3 * ((count + 1) - tied / (count * (count - 1)))
    if variance <= 0:
        return 1.0
    # By the half of a step less, as the sum goes in steps: of doubled ranks that is one.
    far = max(0.0, abs(got - mean) - 1) / math.sqrt(variance)
    return min(1.0, 2 * (1 - NormalDist().cdf(far)))
