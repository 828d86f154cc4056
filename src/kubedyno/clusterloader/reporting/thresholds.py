"""Limits of latencies by percentile, and what is told when one is exceeded. Pure."""

from collections.abc import Iterable
from typing import Final, Protocol

import msgspec

from kubedyno.clusterloader.reporting.perfdata import PERCENTS, percentile
from kubedyno.kit.clock import NS_PER_S

_OF_ALL: Final = "threshold"
_OF_ONE: Final = {percent: f"perc{percent}Threshold" for percent in PERCENTS}

PARAMS: Final = (_OF_ALL, *_OF_ONE.values())
"""Names of all parameters that limits are read from."""


class Durations(Protocol):
    """Parameters of a call, as far as limits are read from them."""

    def __contains__(self, name: str) -> bool: ...

    def duration_s(self, name: str, default: str | None = None) -> float:
        """The seconds of a parameter."""
        ...


class Limit(msgspec.Struct, frozen=True):
    """What a percentile of a metric may be at most."""

    metric: str
    percent: int
    at_most_s: float


def of_percentiles(metric: str, params: Durations, *, default: str) -> tuple[Limit, ...]:
    """A limit for each percentile: its own, else the one of all, else the default, which is a duration as text."""
    of_all_s = params.duration_s(_OF_ALL, default)
    return tuple(
        Limit(metric, percent, params.duration_s(name) if name in params else of_all_s)
        for percent, name in _OF_ONE.items()
    )


def violations(limits: Iterable[Limit], samples_s: Iterable[float]) -> tuple[str, ...]:
    """A sentence for each limit that samples of its metric exceed, in seconds; without samples none is.

    ClusterLoader2 tells the first only.
    """
    ordered = sorted(samples_s)
    found = ((limit, percentile(ordered, limit.percent)) for limit in limits)
    return tuple(
        f"{limit.metric.replace('_', ' ')}: too high latency: the {limit.percent}th percentile is {_told(figure_s)}, "
        f"and {_told(limit.at_most_s)} is the limit"
        for limit, figure_s in found
        if _whole_ns(figure_s) > _whole_ns(limit.at_most_s)
    )


def _whole_ns(duration_s: float) -> int:
    """What a difference of two floats adds below that is no latency."""
    return round(duration_s * NS_PER_S)


def _told(duration_s: float) -> str:
    """With all digits that it has: a limit is often missed by little."""
    return f"{round(duration_s, 9):.12g} s"
