"""Percentiles with confidence intervals, medians and rates of samples. Pure.

The interval of a percentile comes from the order of the samples alone, whatever their distribution: how many of n
samples lie below the true percentile is binomial, so two ranks can be named between which it lies with 95 %
confidence. Samples that are too few to name a rank on one side give their own end there: of ten samples the 99th
percentile has no upper bound, and the largest is all that is known.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from kubedyno.measure.records import Measurement, Percentile

PERCENTS: Final = (50.0, 90.0, 99.0)
"""What is told of every distribution."""

CONFIDENCE: Final = 0.95

_SPREADS: Final = 9
"""So many standard deviations from its mean a binomial variable is practically never found."""


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The percentile of ordered samples; between two samples it is interpolated."""
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@lru_cache(maxsize=1024)
def ranks(count: int, percent: float, confidence: float = CONFIDENCE) -> tuple[int | None, int | None]:
    """The places, from 0 on, of the ordered samples that bound a percentile; None: samples are too few to say.

    At most half of the doubt is on either side.
    """
    share, doubt = percent / 100, (1 - confidence) / 2
    below: int | None = None
    above: int | None = None
    cumulated = 0.0
    for number, chance in _binomial(count, share):
        # `number` samples are below the percentile with this chance.
        if cumulated <= doubt and number >= 1:
            below = number - 1
        cumulated += chance
        if above is None and 1 - cumulated <= doubt and number < count:
            above = number
    return below, above


def _binomial(count: int, share: float) -> Iterable[tuple[int, float]]:
    """The chances of a binomial variable's values where they matter, in order."""
    spread = math.sqrt(count * share * (1 - share))
    first = max(0, math.floor(count * share - _SPREADS * spread - 1))
    last = min(count, math.ceil(count * share + _SPREADS * spread + 1))
    for number in range(first, last + 1):
        logarithm = (
            math.lgamma(count + 1)
            - math.lgamma(number + 1)
            - math.lgamma(count - number + 1)
            + number * math.log(share)
            + (count - number) * math.log1p(-share)
        )
        yield number, math.exp(logarithm)


def percentiles(samples: Iterable[float], percents: Sequence[float] = PERCENTS) -> tuple[Percentile, ...]:
    """Percentiles with their 95 % intervals; none of fewer than two samples."""
    ordered = sorted(samples)
    if len(ordered) < 2:  # noqa: PLR2004 - one sample is no distribution
        return ()
    found = []
    for percent in percents:
        below, above = ranks(len(ordered), percent)
        value = percentile(ordered, percent)
        found.append(
            Percentile(
                percent=percent,
                value=value,
                lower=min(value, ordered[0] if below is None else ordered[below]),
                upper=max(value, ordered[-1] if above is None else ordered[above]),
            )
        )
    return tuple(found)


def distribution(name: str, unit: str, samples: Iterable[float], *, error: float = 0.0) -> Measurement | None:
    """Samples as a measurement: their median, what it lies between, percentiles; None: there are no samples.

    `error` is by how much each sample may be wrong; it widens the bounds.
    """
    kept = tuple(samples)
    if not kept:
        return None
    found = percentiles(kept)
    middle = found[0] if found else Percentile(percent=50.0, value=kept[0], lower=kept[0], upper=kept[0])
    return Measurement(
        name=name,
        unit=unit,
        value=middle.value,
        lower=_lowered(middle.lower, error),
        upper=middle.upper + error,
        samples=kept,
        percentiles=found,
    )


def single(name: str, unit: str, value: float, *, error: float = 0.0) -> Measurement:
    """One figure as a measurement; `error` is by how much it may be wrong."""
    return Measurement(
        name=name, unit=unit, value=value, lower=_lowered(value, error), upper=value + error, samples=(value,)
    )


def _lowered(value: float, error: float) -> float:
    """What a figure is at least; one that is not below zero cannot truly be, either."""
    return max(0.0, value - error) if value >= 0 else value - error


def rate(count: float, duration_s: float) -> float | None:
    """How many a second; None: there was no time."""
    return count / duration_s if duration_s > 0 else None
