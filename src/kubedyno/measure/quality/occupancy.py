"""What of the cluster's GPUs was used over time, and what of the rest could be used by a whole-node pod. Pure."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

import msgspec

from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.lives import Lives
from kubedyno.measure.quality.spans import Span, moments
from kubedyno.measure.records import Measurement
from kubedyno.measure.statistics import single

UTILISATION: Final = "gpu_utilisation"
FRAGMENTATION: Final = "gpu_fragmentation"

_EPSILON: Final = 1e-6
"""Fractions of GPUs do not add up exactly."""


class Occupancy(msgspec.Struct, frozen=True):
    """Utilisation and fragmentation: means over the span, weighted by time, and curves."""

    measurements: tuple[Measurement, ...]
    series: tuple[SeriesRow, ...]


class _Cluster:
    """The GPUs of nodes while pods come and go; keeps the sums that are asked for."""

    def __init__(self) -> None:
        self.total = 0.0
        self.used = 0.0
        self.whole = 0.0
        """Free GPUs of nodes of which nothing is used."""
        self._gpus: dict[str, float] = {}
        self._used: dict[str, float] = {}

    def node(self, name: str, gpus: float) -> None:
        """A node has so many GPUs from now on; none: it is gone."""
        self._take(name, 0.0, gpus)

    def use(self, name: str, gpus: float) -> None:
        """So many more of a node's GPUs are used; a negative number: fewer."""
        self._take(name, gpus, self._gpus.get(name, 0.0))

    def _take(self, name: str, used: float, gpus: float) -> None:
        before_gpus, before_used = self._gpus.get(name, 0.0), self._used.get(name, 0.0)
        after_used = before_used + used
        self.total += gpus - before_gpus
        self.used += used
        self.whole += (gpus if after_used < _EPSILON else 0.0) - (before_gpus if before_used < _EPSILON else 0.0)
        self._gpus[name], self._used[name] = gpus, after_used

    @property
    def utilisation(self) -> float:
        return self.used / self.total if self.total > _EPSILON else 0.0

    @property
    def fragmentation(self) -> float:
        free = self.total - self.used
        return max(0.0, free - self.whole) / free if free > _EPSILON else 0.0


def occupancy(lives: Lives, span: Span) -> Occupancy | None:
    """Both over time; None where no node had GPUs or no time passed."""
    if not any(node.gpus for node in lives.nodes) or span.until_ns <= span.since_ns:
        return None
    cluster = _Cluster()
    weighted_used = weighted_split = 0.0
    now_ns = span.since_ns
    looks = iter(moments(span))
    look_ns = next(looks)
    series: list[SeriesRow] = []

    def pass_until(moment_ns: int) -> None:
        nonlocal weighted_used, weighted_split, now_ns, look_ns
        moment_ns = min(max(moment_ns, span.since_ns), span.until_ns)
        while look_ns < moment_ns or (look_ns == moment_ns == span.until_ns and now_ns < moment_ns):
            series.append(SeriesRow(look_ns, UTILISATION, None, cluster.utilisation))
            series.append(SeriesRow(look_ns, FRAGMENTATION, None, cluster.fragmentation))
            look_ns = next(looks, span.until_ns + 1)
        weighted_used += cluster.utilisation * (moment_ns - now_ns)
        weighted_split += cluster.fragmentation * (moment_ns - now_ns)
        now_ns = moment_ns

    for moment_ns, name, gpus, is_node in _changes(lives):
        if moment_ns > now_ns:
            pass_until(moment_ns)
        if is_node:
            cluster.node(name, gpus)
        else:
            cluster.use(name, gpus)
    pass_until(span.until_ns)
    length_ns = span.until_ns - span.since_ns
    return Occupancy(
        measurements=(
            single("GPU utilisation", "share", weighted_used / length_ns),
            single("GPU fragmentation", "share", weighted_split / length_ns),
        ),
        series=tuple(series),
    )


def _changes(lives: Lives) -> Iterator[tuple[int, str, float, bool]]:
    """When which node got how many GPUs (True), or more or fewer of its GPUs were used (False), in order."""
    changes: list[tuple[int, str, float, bool]] = []
    for node in lives.nodes:
        changes.append((node.seen_ns, node.name, node.gpus, True))
        if node.gone_ns is not None:
            changes.append((node.gone_ns, node.name, 0.0, True))
    for pod in lives.pods:
        if pod.bound_ns is not None and pod.node is not None and pod.gpus:
            changes.append((pod.bound_ns, pod.node, pod.gpus, False))
            if pod.ended_ns is not None:
                changes.append((pod.ended_ns, pod.node, -pod.gpus, False))
    changes.sort(key=itemgetter(0))
    return iter(changes)
