"""Figures as perfdash reads them: PerfData, the percentiles that it holds, and SchedulingThroughput beside it. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from kubedyno.kit.clock import NS_PER_S

PERCENTS: Final = (50, 90, 99)
"""What is told of every latency."""

_NS_PER_MS: Final = 1_000_000


class DataItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Some figures of one unit, told apart from other items by labels."""

    data: Mapping[str, float]
    """By bucket, as `Perc50`."""
    unit: str
    labels: Mapping[str, str] = {}


class PerfData(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file of figures. Readers leave out files whose version is not that of the first one they saw."""

    version: str
    items: tuple[DataItem, ...] = msgspec.field(name="dataItems")
    labels: Mapping[str, str] = {}
    """Of the whole file; without any the key is not there."""

    def json(self) -> str:
        """The text of the file."""
        return indented(self)


class _Throughput(msgspec.Struct, frozen=True):
    perc50: float
    perc90: float
    perc99: float
    max: float


def percentile(samples: Iterable[float], percent: int) -> float:
    """The nearest rank: the least sample that so many percent of all samples do not exceed. 0 without samples.

    It is always one of the samples, unlike the interpolated percentile of `measure.statistics`: figures of both tools
    for the same samples must be the same.
    """
    ordered = sorted(samples)
    if not ordered:
        return 0.0
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1]


def latency_item(samples_s: Iterable[float], metric: str) -> DataItem:
    """Percentiles of latencies in milliseconds; samples are seconds, in any order."""
    ordered = sorted(samples_s)
    return DataItem(
        data={f"Perc{percent}": _milliseconds(percentile(ordered, percent)) for percent in PERCENTS},
        unit="ms",
        labels={"Metric": metric},
    )


def throughput_json(rates_per_s: Iterable[float]) -> str:
    """SchedulingThroughput of the rates of all intervals, which is no PerfData."""
    ordered = sorted(rates_per_s)
    perc50, perc90, perc99 = (percentile(ordered, percent) for percent in PERCENTS)
    return indented(_Throughput(perc50, perc90, perc99, max(ordered, default=0.0)))


def indented(value: Any) -> str:
    """JSON as all files of a report have it: indented by 2, mappings sorted, a line feed at the end."""
    encoded = msgspec.json.encode(value, order="deterministic")
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def _milliseconds(duration_s: float) -> float:
    """By whole nanoseconds: 0.0011 s are 1.1 ms and not 1.1000000000000001."""
    return round(duration_s * NS_PER_S) / _NS_PER_MS
