"""How far queues were from their fair shares over time. Pure.

The error at a moment is the sum over leaf queues of what each has too much or too little, as a part of all GPUs: 0 is
perfectly fair, 2 is everything in the wrong hands. Shares are those of the oracle, from what queues want at the
moment.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.lives import Lives, NodeLife, PodLife, QueueLife
from kubedyno.measure.quality.spans import Span, moments
from kubedyno.measure.records import Measurement
from kubedyno.measure.statistics import single
from kubedyno.model.fairshare import fair_shares
from kubedyno.model.queues import Queue, Share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FAIR_SHARE_ERROR: Final = "fair_share_error"
_MOST_MOMENTS: Final = 200
"""Shares are worked out anew at each."""
_FEWEST_QUEUES: Final = 2


class Fairness(msgspec.Struct, frozen=True):
    """The mean error over the span, weighted by time, and its curve."""

    measurement: Measurement
    series: tuple[SeriesRow, ...]


def fairness(lives: Lives, span: Span) -> Fairness | None:
    """The error over time; None where fewer than two queues had work, or no time passed."""
    working = {pod.queue for pod in lives.pods if pod.queue is not None}
    names = sorted(working & {queue.name for queue in lives.queues})
    if len(names) < _FEWEST_QUEUES or span.until_ns <= span.since_ns:
        return None
    ends = moments(span, _MOST_MOMENTS)
    pods = {name: [pod for pod in lives.pods if pod.queue == name] for name in names}
    has = {name: _amounts([(pod.bound_ns, pod) for pod in pods[name]], ends) for name in names}
    wants = {name: _amounts([(pod.created_ns, pod) for pod in pods[name]], ends) for name in names}
    totals = _totals(lives.nodes, ends)
    series: list[SeriesRow] = []
    weighted, before_ns = 0.0, span.since_ns
    for place, end_ns in enumerate(ends):
        error = _error(
            queues_at(lives.queues, end_ns),
            has={name: has[name][place] for name in names},
            wants={name: wants[name][place] for name in names},
            total=totals[place],
        )
        series.append(SeriesRow(end_ns, FAIR_SHARE_ERROR, None, error))
        weighted += error * (end_ns - before_ns)
        before_ns = end_ns
    mean = weighted / (span.until_ns - span.since_ns)
    return Fairness(single("fair-share error", "share", mean), tuple(series))


def queues_at(states: Sequence[QueueLife], moment_ns: int) -> dict[str, Queue]:
    """The queues as they were at a moment; parents that nobody knows stand for the root."""
    latest = {state.name: state for state in states if state.since_ns <= moment_ns}
    return {
        name: Queue(
            name=name,
            parent=state.parent if state.parent in latest else None,
            gpu=Share(quota=state.quota, over_quota_weight=state.over_quota_weight, limit=state.limit),
            priority=state.priority,
        )
        for name, state in latest.items()
    }


def _error(queues: dict[str, Queue], *, has: dict[str, float], wants: dict[str, float], total: float) -> float:
    if not total:
        return 0.0
    shares = fair_shares(queues, {name: {"gpu": amount} for name, amount in wants.items()}, {"gpu": total})
    return sum(abs(amount - shares.get(name, {}).get("gpu", 0.0)) for name, amount in has.items()) / total


def _amounts(since: Sequence[tuple[int | None, PodLife]], ends: Sequence[int]) -> list[float]:
    """GPUs of the pods that had begun and not ended, at each moment."""
    begun = [(since_ns, pod.gpus) for since_ns, pod in since if since_ns is not None]
    ended = [(pod.ended_ns, pod.gpus) for since_ns, pod in since if since_ns is not None and pod.ended_ns is not None]
    amounts: list[float] = (_until(begun, ends) - _until(ended, ends)).tolist()
    return amounts


def _totals(nodes: Sequence[NodeLife], ends: Sequence[int]) -> list[float]:
    seen = [(node.seen_ns, node.gpus) for node in nodes]
    gone = [(node.gone_ns, node.gpus) for node in nodes if node.gone_ns is not None]
    totals: list[float] = (_until(seen, ends) - _until(gone, ends)).tolist()
    return totals


def _until(changes: Sequence[tuple[int, float]], ends: Sequence[int]) -> "NDArray[np.float64]":
    """The sum of what changed until each moment, that moment included."""
    import numpy as np  # noqa: PLC0415 - takes a while to load

    ordered = sorted(changes)
    sums = np.concatenate(([0.0], np.cumsum([amount for _, amount in ordered])))
    times = np.array([moment_ns for moment_ns, _ in ordered], dtype=np.int64)
    return np.asarray(sums[np.searchsorted(times, ends, side="right")], dtype=np.float64)
