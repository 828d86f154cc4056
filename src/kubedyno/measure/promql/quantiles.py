"""Quantiles: of values, and of the cumulated counts of a histogram's buckets."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from kubedyno.measure.promql.operators import quotient

_ROUNDING: Final = 1e-12
"""Counts of neighbouring buckets that differ by less than this share are equal: sums of rates are not exact."""


def quantile(share: float, values: Sequence[float]) -> float:
    """Interpolated between the two nearest values; NaN is less than any number."""
    outside = _outside(share)
    if outside is not None or not values:
        return math.nan if outside is None else outside
    ordered = sorted(values, key=lambda value: (not math.isnan(value), value))
    rank = share * (len(ordered) - 1)
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    weight = rank - below
    return ordered[below] * (1 - weight) + ordered[above] * weight


def bucket_quantile(share: float, buckets: Iterable[tuple[float, float]]) -> float:
    """Of upper bounds and how many lie up to them, in any order; those with equal bounds are added.

    Within a bucket it is interpolated, in the lowest one from 0 on. Beyond the last finite bound it is that bound. NaN:
    there is nothing in them, no bucket without a bound, or no other one.
    """
    outside = _outside(share)
    if outside is not None:
        return outside
    cumulated: dict[float, float] = {}
    for bound, count in buckets:
        cumulated[bound] = cumulated.get(bound, 0.0) + count
    bounds = sorted(cumulated)
    if len(bounds) < 2 or bounds[-1] != math.inf:  # noqa: PLR2004 - one with a bound, one without
        return math.nan
    counts = _rising([cumulated[bound] for bound in bounds])
    if counts[-1] == 0:
        return math.nan
    rank = share * counts[-1]
    last = len(bounds) - 1
    place = bisect_left(range(last), True, key=lambda index: counts[index] >= rank)  # noqa: FBT003 - the first true one
    if place == last:
        return bounds[-2]
    if place == 0 and bounds[0] <= 0:
        return bounds[0]
    begin, below = (bounds[place - 1], counts[place - 1]) if place else (0.0, 0.0)
    return begin + (bounds[place] - begin) * quotient(rank - below, counts[place] - below)


def _outside(share: float) -> float | None:
    """What a share tells that is none; None: it is one."""
    if math.isnan(share):
        return math.nan
    if share < 0:
        return -math.inf
    return math.inf if share > 1 else None


def _rising(counts: list[float]) -> list[float]:
    """Without the errors of rounding, and never falling: a count holds all that those before it hold."""
    return list(accumulate(counts, _larger))


def _larger(kept: float, count: float) -> float:
    """The count, where it is more by more than rounding; what is no number is taken as it comes."""
    is_none = count <= kept or count - kept < _ROUNDING * (abs(count) + abs(kept))
    return kept if is_none else count
