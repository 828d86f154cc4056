"""By how much two groups of samples differ, and the least change that so many samples would show. Pure.

A change is a share of the first group's median: 0.1 is a tenth more. It is the shift of Hodges and Lehmann, the median
of all differences between a sample of the one and a sample of the other, which one odd trial does not move.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any, Final

import msgspec
import numpy as np

from kubedyno.results.comparison.ranking import least_chance

Samples = np.ndarray[Any, np.dtype[np.float64]]

_DRAWS: Final = 2000
_PAIRS_AT_ONCE: Final = 1_000_000
POWER: Final = 0.8
"""The least change that is told is one that four of five such comparisons would find."""
_EFFICIENCY: Final = 3 / math.pi
"""Of the test by ranks against that by means, for samples of a normal distribution; for longer tails it is better."""
_MOST_REPEATS: Final = 10_000


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What the second group differs by, as a share of the first one's median."""

    share: float
    """Infinite where the first median is 0 and the second is not."""
    lower: float
    upper: float
    """Ends of its confidence interval, by resampling."""


def change(first: Sequence[float], second: Sequence[float], *, seed: int, confidence: float = 0.95) -> Change:
    """The change from the first to the second; both groups have samples."""
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    median = statistics.median(first)
    generator = np.random.default_rng(seed)
    ones, others = (group[generator.integers(len(group), size=(_DRAWS, len(group)))] for group in (one, other))
    shifts = np.concatenate([_shifts(ones[part], others[part]) for part in _parts(len(one) * len(other))])
    doubt = (1 - confidence) / 2
    lower, upper = np.quantile(shifts, [doubt, 1 - doubt])
    shift = _shifts(one[None, :], other[None, :])[0]
    share, low, high = (_share(float(value), median) for value in (shift, lower, upper))
    return Change(share=share, lower=low, upper=high)


def _shifts(ones: Samples, others: Samples) -> Samples:
    """The shift of each row of the one against the same row of the other."""
    found: Samples = np.median((others[:, :, None] - ones[:, None, :]).reshape(len(ones), -1), axis=1)
    return found


def _parts(pairs: int) -> Iterator[slice]:
    """The draws in parts whose pairs fit into a few megabytes."""
    size = max(1, _PAIRS_AT_ONCE // pairs)
    return (slice(start, start + size) for start in range(0, _DRAWS, size))


def _share(shift: float, median: float) -> float:
    if median:
        return shift / abs(median)
    return math.copysign(math.inf, shift) if shift else 0.0


def spread(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The standard deviation within the groups as a share of the first one's median; None: it cannot be told.

    Both groups have samples.
    """
    freedom = len(first) + len(second) - 2
    squares = sum((value - statistics.fmean(group)) ** 2 for group in (first, second) for value in group)
    if freedom < 1:
        return None
    if not squares:
        return 0.0
    median = statistics.median(first)
    return math.sqrt(squares / freedom) / abs(median) if median else None


def least_visible(spread: float, first: int, second: int, level: float) -> float | None:
    """The least change that groups of these sizes show with the chance `POWER`; None: none, however large."""
    freedom = first + second - 2
    if freedom < 1 or least_chance(first, second) > level:
        return None
    needed = _student(1 - level / 2, freedom) + _student(POWER, freedom)
    return needed * spread * math.sqrt((1 / first + 1 / second) / _EFFICIENCY)


def repeats_for(change: float, spread: float, level: float) -> int | None:
    """How many samples each group needs to show a change; None: more than anybody would make."""
    low, high = 1, _MOST_REPEATS

    def shows(count: int) -> bool:
        visible = least_visible(spread, count, count, level)
        return visible is not None and visible <= change

    if not shows(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def _student(chance: float, freedom: int) -> float:
    """A quantile of Student's distribution, by its expansion in the freedom; good to a few percent from four on."""
    z = NormalDist().inv_cdf(chance)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
