"""How fast pods were bound: the curve, its peak, and the first and the last. Pure."""

from collections.abc import Iterator

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.lives import Lives
from kubedyno.measure.quality.spans import Span, moments
from kubedyno.measure.records import Measurement
from kubedyno.measure.statistics import distribution, rate, single

BOUND_PER_S = "bound_per_s"


def throughput(lives: Lives, span: Span, *, lag_s: float) -> Iterator[Measurement]:
    """Time to the first and the last binding, the rate between them, and each pod's wait; nothing if none was bound."""
    bound = sorted(pod.bound_ns for pod in lives.pods if pod.bound_ns is not None and _within(pod.bound_ns, span))
    if not bound:
        return
    first_s, last_s = ((moment - span.since_ns) / NS_PER_S for moment in (bound[0], bound[-1]))
    yield single("time to first bind", "s", first_s, error=lag_s)
    yield single("time to last bind", "s", last_s, error=lag_s)
    between = rate(len(bound) - 1, last_s - first_s)
    if between is not None:
        yield single("throughput", "pods/s", between)
    waits = (
        (pod.bound_ns - max(pod.created_ns, span.since_ns)) / NS_PER_S
        for pod in lives.pods
        if pod.bound_ns is not None and _within(pod.bound_ns, span)
    )
    wait = distribution("wait for binding", "s", waits, error=lag_s)
    if wait is not None:
        yield wait


def _within(moment: int | None, span: Span) -> bool:
    return moment is not None and span.since_ns <= moment <= span.until_ns


def curve(lives: Lives, span: Span) -> Iterator[SeriesRow]:
    """Pods bound a second in each window; the time is that of the window's end."""
    import numpy as np  # noqa: PLC0415 - takes a while to load

    bound = np.sort(np.array([pod.bound_ns for pod in lives.pods if _within(pod.bound_ns, span)], dtype=np.int64))
    if not bound.size:
        return
    ends = moments(span)
    counts = np.searchsorted(bound, ends, side="right")
    before_ns, before = span.since_ns, 0
    for end_ns, count in zip(ends, counts.tolist(), strict=True):
        per_s = rate(count - before, (end_ns - before_ns) / NS_PER_S)
        if per_s is not None:
            yield SeriesRow(end_ns, BOUND_PER_S, None, per_s)
        before_ns, before = end_ns, count
