"""How good an outcome was: what every trial is measured by, computed from the lives of pods, nodes and queues. Pure.

`spans` says which part of a trial is meant; `throughput`, `gangs`, `claims`, `occupancy`, `closeness`, `fairness` and
`evictions` measure one side each. Where something does not apply there is no measurement, never a zero.
"""

from collections.abc import Iterator

import msgspec

from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.lives import Lives
from kubedyno.measure.quality.claims import allocated_curve, claim_quality
from kubedyno.measure.quality.closeness import closeness
from kubedyno.measure.quality.evictions import eviction_quality, hopelessness
from kubedyno.measure.quality.fairness import fairness
from kubedyno.measure.quality.gangs import gang_quality
from kubedyno.measure.quality.occupancy import occupancy
from kubedyno.measure.quality.spans import Span, span_of
from kubedyno.measure.quality.throughput import curve, throughput
from kubedyno.measure.records import Measurement

__all__ = ["Quality", "quality_of"]


class Quality(msgspec.Struct, frozen=True):
    """Measurements, and curves over time."""

    measurements: tuple[Measurement, ...]
    series: tuple[SeriesRow, ...]


def quality_of(
    lives: Lives, *, since_ns: int | None = None, until_ns: int | None = None, lag_s: float = 0.0
) -> Quality:
    """All that applies, between two moments (ns since the epoch; None: all that there is).

    `lag_s` is how late news may have arrived: durations are uncertain by so much.
    """
    span = span_of(lives, since_ns=since_ns, until_ns=until_ns)
    if span is None:
        return Quality((), ())
    found = tuple(_measured(lives, span, lag_s))
    occupied, fair = occupancy(lives, span), fairness(lives, span)
    return Quality(
        measurements=(
            *found,
            *(occupied.measurements if occupied else ()),
            *((fair.measurement,) if fair else ()),
        ),
        series=(
            *curve(lives, span),
            *allocated_curve(lives, span),
            *(occupied.series if occupied else ()),
            *(fair.series if fair else ()),
        ),
    )


def _measured(lives: Lives, span: Span, lag_s: float) -> Iterator[Measurement]:
    yield from throughput(lives, span, lag_s=lag_s)
    yield from gang_quality(lives, span, lag_s=lag_s)
    yield from claim_quality(lives, span, lag_s=lag_s)
    yield from closeness(lives, span)
    yield from eviction_quality(lives, span)
    yield from hopelessness(lives, lag_s=lag_s)
