"""Functions of one window of a series: how fast a counter rose, and what a gauge was."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql.operators import quotient
from kubedyno.measure.promql.values import Window, total, variance

_NEAR: Final = 1.1
"""A window's edge is near when it is less than so many mean distances of samples away."""


def _gained(window: Window, *, is_counter: bool, per_s: float = 1.0) -> float | None:
    """How much a series rose in the whole window, extrapolated to its edges; None: one sample tells nothing.

    It is divided by `per_s`, at the place where Prometheus does it: quantiles turn on the last digit of rates.

    Where an edge is not near, the series is taken to begin or end half a mean distance beyond its sample. A counter
    that fell was begun anew from 0, and it is not extrapolated to before it was 0.
    """
    values, times_ns = window.values, window.times_ns
    if len(values) < 2:  # noqa: PLR2004 - a difference has two ends
        return None
    gained = values[-1] - values[0]
    if is_counter:
        gained += sum(before for before, after in pairwise(values) if after < before)
    sampled_s = (times_ns[-1] - times_ns[0]) / NS_PER_S
    distance_s = sampled_s / (len(values) - 1)
    before_s = (times_ns[0] - window.begin_ns) / NS_PER_S
    after_s = (window.end_ns - times_ns[-1]) / NS_PER_S
    if before_s >= distance_s * _NEAR:
        before_s = distance_s / 2
    if is_counter and gained > 0 and values[0] >= 0:
        before_s = min(before_s, sampled_s * (values[0] / gained))
    if after_s >= distance_s * _NEAR:
        after_s = distance_s / 2
    return gained * ((sampled_s + before_s + after_s) / sampled_s / per_s)


def _increase(window: Window) -> float | None:
    return _gained(window, is_counter=True)


def _rate(window: Window) -> float | None:
    return _gained(window, is_counter=True, per_s=(window.end_ns - window.begin_ns) / NS_PER_S)


def _delta(window: Window) -> float | None:
    return _gained(window, is_counter=False)


def _last_step(window: Window, *, is_counter: bool) -> float | None:
    """The difference of the last two samples; what a counter has since it was begun anew."""
    if len(window.values) < 2:  # noqa: PLR2004 - a difference has two ends
        return None
    before, last = window.values[-2:]
    return last if is_counter and last < before else last - before


def _irate(window: Window) -> float | None:
    step = _last_step(window, is_counter=True)
    return None if step is None else step / ((window.times_ns[-1] - window.times_ns[-2]) / NS_PER_S)


def _idelta(window: Window) -> float | None:
    return _last_step(window, is_counter=False)


def _deriv(window: Window) -> float | None:
    """The slope per second of the straight line with the least squares."""
    if len(window.values) < 2:  # noqa: PLR2004 - a line has two points
        return None
    count = len(window.values)
    # From the first sample on: seconds since the epoch would leave few digits for their differences.
    times_s = [(time_ns - window.times_ns[0]) / NS_PER_S for time_ns in window.times_ns]
    mean_s, mean = total(times_s) / count, total(window.values) / count
    shared = total((time_s - mean_s) * (value - mean) for time_s, value in zip(times_s, window.values, strict=True))
    return quotient(shared, total((time_s - mean_s) * (time_s - mean_s) for time_s in times_s))


def _changes(window: Window) -> float:
    return float(
        sum(
            before != after and not (math.isnan(before) and math.isnan(after))
            for before, after in pairwise(window.values)
        )
    )


def _numbers(window: Window) -> list[float]:
    """NaN counts for the largest and the smallest value only where there is nothing else."""
    return [value for value in window.values if not math.isnan(value)]


FUNCTIONS: Final[dict[str, Callable[[Window], float | None]]] = {
    "rate": _rate,
    "increase": _increase,
    "delta": _delta,
    "irate": _irate,
    "idelta": _idelta,
    "deriv": _deriv,
    "changes": _changes,
    "resets": lambda window: float(sum(after < before for before, after in pairwise(window.values))),
    "max_over_time": lambda window: max(_numbers(window), default=math.nan),
    "min_over_time": lambda window: min(_numbers(window), default=math.nan),
    "avg_over_time": lambda window: total(window.values) / len(window.values),
    "sum_over_time": lambda window: total(window.values),
    "count_over_time": lambda window: float(len(window.values)),
    "present_over_time": lambda _: 1.0,
    "stddev_over_time": lambda window: math.sqrt(variance(window.values)),
    "stdvar_over_time": lambda window: variance(window.values),
}
"""By name; None: the series has no result."""
