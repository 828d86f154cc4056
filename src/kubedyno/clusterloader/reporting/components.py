"""What components of the control plane say of themselves and use: SchedulingMetrics, EtcdMetrics, resource usage. Pure.

None of them is PerfData: each has a shape of its own, and perfdash a parser for each.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from kubedyno.clusterloader.reporting.perfdata import PERCENTS, indented, percentile
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.histograms import Histogram

EXTENSION_POINTS: Final = (
    "PreFilter",
    "Filter",
    "PostFilter",
    "PreScore",
    "Score",
    "PreBind",
    "Bind",
    "PostBind",
    "Reserve",
    "Unreserve",
    "Permit",
)
"""Of the scheduling framework, as far as SchedulingMetrics tells of them."""

_USAGE_PERCENTS: Final = (50, 90, 99, 100)


class Quantiles(msgspec.Struct, frozen=True):
    """Percentiles of a latency; whole nanoseconds, as readers take nothing else. Zeros: there were no samples."""

    perc50_ns: int = msgspec.field(default=0, name="Perc50")
    perc90_ns: int = msgspec.field(default=0, name="Perc90")
    perc99_ns: int = msgspec.field(default=0, name="Perc99")


class SchedulingMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long a scheduler took for pods and for parts of its work."""

    extension_points: Mapping[str, Quantiles] = msgspec.field(name="frameworkExtensionPointDuration")
    preemption_evaluation_latency: Quantiles = Quantiles()
    e2e_scheduling_latency: Quantiles = Quantiles()
    """Of a pod from the queue to its binding."""
    scheduling_latency: Quantiles = Quantiles()
    """Of the decision alone."""

    def json(self) -> str:
        """The text of SchedulingMetrics; all extension points are in it, and no others."""
        points = {point: self.extension_points.get(point, Quantiles()) for point in EXTENSION_POINTS}
        return indented(msgspec.structs.replace(self, extension_points=points))


class Series(msgspec.Struct, frozen=True):
    """A histogram of one set of labels; of each upper bound, how many samples do not exceed it."""

    labels: Mapping[str, str]
    buckets: Mapping[str, int]


class EtcdMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What etcd says of its disk, its peers and its size."""

    backend_commit_duration: tuple[Series, ...] = ()
    snapshot_save_total_duration: tuple[Series, ...] = ()
    peer_round_trip_time: tuple[Series, ...] = ()
    wal_fsync_duration: tuple[Series, ...] = ()
    max_database_size_bytes: float = msgspec.field(default=0.0, name="maxDatabaseSize")

    def json(self) -> str:
        """The text of EtcdMetrics."""
        return indented(self)


class Usage(msgspec.Struct, frozen=True):
    """What a container used at one moment."""

    cpu_cores: float
    memory_bytes: int


class ContainerUsage(msgspec.Struct, frozen=True):
    """A percentile of what a container used, of each resource by itself."""

    name: str = msgspec.field(name="Name")
    """`<pod>/<container>`."""
    cpu_cores: float = msgspec.field(name="CPU")
    memory_bytes: int = msgspec.field(name="Mem")


def quantiles(histogram: Histogram) -> Quantiles:
    """Percentiles of a histogram of seconds."""
    found = (histogram.percentile(percent) or 0.0 for percent in PERCENTS)
    return Quantiles(*(round(seconds * NS_PER_S) for seconds in found))


def series(histogram: Histogram, labels: Mapping[str, str]) -> tuple[Series, ...]:
    """A histogram as EtcdMetrics has it. One without samples is left out: readers divide by their number."""
    if not histogram.count:
        return ()
    cumulated = (round(count) for count in accumulate(histogram.counts))
    return (Series(labels, dict(zip(map(_bound, histogram.bounds), cumulated, strict=True))),)


def usage_percentiles(samples: Mapping[str, Sequence[Usage]]) -> dict[str, tuple[ContainerUsage, ...]]:
    """ResourceUsageSummary by percentile, from the samples of each `<pod>/<container>`; without any it is left out."""
    return {
        str(percent): tuple(
            ContainerUsage(
                name,
                percentile((one.cpu_cores for one in used), percent),
                round(percentile((one.memory_bytes for one in used), percent)),
            )
            for name, used in sorted(samples.items())
            if used
        )
        for percent in _USAGE_PERCENTS
    }


def resource_usage_json(percentiles: Mapping[str, Sequence[ContainerUsage]]) -> str:
    """The text of ResourceUsageSummary."""
    return indented(percentiles)


def _bound(bound: float) -> str:
    """An upper bound as `/metrics` writes it."""
    return "+Inf" if math.isinf(bound) else repr(bound).removesuffix(".0")
