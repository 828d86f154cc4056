"""How far the simulator lags behind its own plan: a result in which it was the bottleneck must say so."""

import math
from collections.abc import Iterator

import msgspec

_STEP = math.log(1.05)  # quantiles are exact to five percent
_SMALLEST_S = 1e-4


class Spread:
    """Seconds, counted by size."""

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.most_s = 0.0
        self._sizes: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        """Count one; less than nothing counts as nothing."""
        seconds = max(seconds, 0.0)
        self.count += 1
        self.total_s += seconds
        self.most_s = max(self.most_s, seconds)
        size = 0 if seconds <= _SMALLEST_S else 1 + int(math.log(seconds / _SMALLEST_S) / _STEP)
        self._sizes[size] = self._sizes.get(size, 0) + 1

    def quantile_s(self, share: float) -> float:
        """Seconds below which this share of them lies; 0 without any."""
        wanted, seen = share * self.count, 0
        for size in sorted(self._sizes):
            seen += self._sizes[size]
            if seen >= wanted:
                return min(self.most_s, 0.0 if size == 0 else _SMALLEST_S * math.exp(size * _STEP))
        return 0.0


class LagReport(msgspec.Struct, frozen=True, kw_only=True):
    """The lag so far, seconds and counts."""

    start_p50_s: float
    start_p99_s: float
    start_most_s: float
    started: int
    stop_p99_s: float
    stopped: int
    lease_p99_s: float
    lease_most_s: float
    renewals: int
    late_leases: int
    """Renewals that came after the lease had run out."""
    queue_depth: int
    deepest_queue: int
    retries: int
    refused: int
    contested_nodes: int
    """Nodes whose leases somebody else renews, too."""


class Lag:
    """What the simulator notes of itself."""

    def __init__(self) -> None:
        self.start = Spread()
        """Beyond the planned moment at which a pod runs."""
        self.stop = Spread()
        """Beyond the planned moment at which a deleted pod is gone."""
        self.lease = Spread()
        """Beyond the planned moment of a renewal."""
        self.late_leases = 0
        self.queue_depth = 0
        self.deepest_queue = 0
        self.retries = 0
        self.refused = 0
        self.contested: set[str] = set()

    def note_depth(self, depth: int) -> None:
        """The pods that wait for a worker now."""
        self.queue_depth = depth
        self.deepest_queue = max(self.deepest_queue, depth)

    def report(self) -> LagReport:
        """All of it, now."""
        return LagReport(
            start_p50_s=self.start.quantile_s(0.5),
            start_p99_s=self.start.quantile_s(0.99),
            start_most_s=self.start.most_s,
            started=self.start.count,
            stop_p99_s=self.stop.quantile_s(0.99),
            stopped=self.stop.count,
            lease_p99_s=self.lease.quantile_s(0.99),
            lease_most_s=self.lease.most_s,
            renewals=self.lease.count,
            late_leases=self.late_leases,
            queue_depth=self.queue_depth,
            deepest_queue=self.deepest_queue,
            retries=self.retries,
            refused=self.refused,
            contested_nodes=len(self.contested),
        )

    def metrics(self) -> Iterator[str]:
        """Lines in Prometheus' text format."""
        for name, what, spread in (
            ("start", "Seconds from the planned moment until a pod runs.", self.start),
            ("stop", "Seconds from the planned moment until a deleted pod is gone.", self.stop),
            ("lease", "Seconds from the planned moment until a lease is renewed.", self.lease),
        ):
            metric = f"kubedyno_kubelet_{name}_lag_seconds"
            yield f"# HELP {metric} {what}"
            yield f"# TYPE {metric} summary"
            for share in (0.5, 0.99, 1.0):
                yield f'{metric}{{quantile="{share:g}"}} {spread.quantile_s(share):.6f}'
            yield f"{metric}_sum {spread.total_s:.6f}"
            yield f"{metric}_count {spread.count}"
        for name, kind, what, value in (
            ("queue_depth", "gauge", "Pods that wait for a worker.", self.queue_depth),
            ("queue_depth_max", "gauge", "The most pods that ever waited for a worker.", self.deepest_queue),
            ("late_leases_total", "counter", "Renewals after the lease had run out.", self.late_leases),
            ("retries_total", "counter", "Writes that were sent again.", self.retries),
            ("refused_writes_total", "counter", "Writes that the server refused for good.", self.refused),
            ("contested_nodes", "gauge", "Nodes whose leases somebody else renews, too.", len(self.contested)),
        ):
            yield f"# HELP kubedyno_kubelet_{name} {what}"
            yield f"# TYPE kubedyno_kubelet_{name} {kind}"
            yield f"kubedyno_kubelet_{name} {value}"
