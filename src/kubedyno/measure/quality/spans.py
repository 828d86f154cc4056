"""The part of a trial that quality is about, and the moments at which curves are looked at. Pure."""

from collections.abc import Iterator
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.lives import Lives, PodLife

MOST_MOMENTS: Final = 600
"""Of a curve; longer spans are looked at less often."""

SHORTEST_NS: Final = NS_PER_S


class Span(msgspec.Struct, frozen=True):
    """From when until when, ns since the epoch."""

    since_ns: int
    until_ns: int


def span_of(lives: Lives, *, since_ns: int | None = None, until_ns: int | None = None) -> Span | None:
    """From the first creation of a pod until the last thing that happened to one, if not told; None: no pod lived."""
    if not lives.pods:
        return None
    begin_ns = min(pod.created_ns for pod in lives.pods) if since_ns is None else since_ns
    end_ns = max(max(_moments(pod)) for pod in lives.pods) if until_ns is None else until_ns
    return Span(begin_ns, max(begin_ns, end_ns))


def _moments(pod: PodLife) -> Iterator[int]:
    for moment in (pod.created_ns, pod.unschedulable_ns, pod.bound_ns, pod.running_ns, pod.ended_ns):
        if moment is not None:
            yield moment


def moments(span: Span, most: int = MOST_MOMENTS) -> list[int]:
    """When a curve is looked at: at the ends of windows of a second or more that cover the span."""
    length_ns = span.until_ns - span.since_ns
    step_ns = max(SHORTEST_NS, -(-length_ns // most))
    return [*range(span.since_ns + step_ns, span.until_ns, step_ns), span.until_ns]
