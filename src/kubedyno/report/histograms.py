"""How long each took, as bars: histograms of measurements with many samples, their percentiles marked. SVG text."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final

import msgspec
import numpy as np

from kubedyno.measure.records import Measurement, Percentile
from kubedyno.report.markup import number
from kubedyno.report.scales import nice_ticks

_FEWEST: Final = 20
"""Fewer samples have no shape."""
_BINS: Final = 40
_MARKED: Final = (50.0, 90.0, 99.0)
_WIDTH: Final = 460.0
_HEIGHT: Final = 220.0
_LEFT: Final = 52.0
_RIGHT: Final = 12.0
_TOP: Final = 24.0
_BOTTOM: Final = 38.0
_APART: Final = 26.0
"""Least distance of two names above the bars."""


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Bars of equal width from the lowest sample to the highest."""

    title: str
    unit: str
    edges: tuple[float, ...]
    """One more than there are bars."""
    counts: tuple[int, ...]
    percentiles: tuple[Percentile, ...]


def histograms(measured: Iterable[Measurement]) -> list[Histogram]:
    """One of each measurement whose samples are many and differ."""
    return [_histogram(one) for one in measured if len(one.samples) >= _FEWEST and min(one.samples) < max(one.samples)]


def _histogram(one: Measurement) -> Histogram:
    counts, edges = np.histogram(np.asarray(one.samples), bins=_BINS)
    return Histogram(
        title=one.name,
        unit=one.unit,
        edges=tuple(map(float, edges)),
        counts=tuple(map(int, counts)),
        percentiles=tuple(known for known in one.percentiles if known.percent in _MARKED),
    )


def svg(made: Histogram) -> str:
    """The histogram; a percentile is a line, the band around it is its confidence interval."""
    low, high, most = made.edges[0], made.edges[-1], max(made.counts) * 1.05
    wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x_of(value: float) -> float:
        return _LEFT + wide * min(1.0, max(0.0, (value - low) / (high - low)))

    def y_of(count: float) -> float:
        return _TOP + tall * (1 - count / most)

    name = f"Histogram of {made.title}"
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(name)}">',
        f"<title>{escape(_spoken(made))}</title>",
    ]
    for tick in nice_ticks(0.0, most, about=4):
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y_of(tick):.1f}H{_LEFT + wide:g}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 6:g}" y="{y_of(tick) + 4:.1f}">{tick:,.10g}</text>')
    parts += [
        f'<text class="x" x="{x_of(tick):.1f}" y="{_TOP + tall + 16:g}">{tick:,.10g}</text>'
        for tick in nice_ticks(low, high, about=6)
        if low <= tick <= high
    ]
    parts.append(f'<text class="x" x="{_LEFT + wide / 2:g}" y="{_HEIGHT - 6:g}">{escape(made.unit)}</text>')
    bars = "".join(
        f"M{x_of(since):.1f} {_TOP + tall:g}V{y_of(count):.1f}H{x_of(until) - 0.6:.1f}V{_TOP + tall:g}"
        for count, since, until in zip(made.counts, made.edges, made.edges[1:], strict=False)
        if count
    )
    parts.append(f'<path class="bars" d="{bars}"/>')
    parts += _marks(made.percentiles, x_of, tall)
    parts.append("</svg>")
    told = f"of {sum(made.counts):,}{', percentiles with their 95 % intervals' if made.percentiles else ''}"
    return f"<figure><figcaption>{escape(made.title)} <small>{told}</small></figcaption>{''.join(parts)}</figure>"


def _spoken(made: Histogram) -> str:
    known = ", ".join(f"p{one.percent:g} {number(one.value)} {made.unit}" for one in made.percentiles)
    reach = f"from {number(made.edges[0])} to {number(made.edges[-1])} {made.unit}"
    return f"{made.title}: {sum(made.counts):,} {reach}{f'; {known}' if known else ''}"


def _marks(percentiles: Sequence[Percentile], x_of: Callable[[float], float], tall: float) -> Iterable[str]:
    named = -_APART
    for one in percentiles:
        x, since, until = x_of(one.value), x_of(one.lower), x_of(one.upper)
        yield f'<path class="band" d="M{since:.1f} {_TOP:g}H{until:.1f}v{tall:g}H{since:.1f}Z"/>'
        yield f'<path class="percentile" d="M{x:.1f} {_TOP:g}v{tall:g}"/>'
        if x - named >= _APART:
            named = x
            yield f'<text class="x" x="{x:.1f}" y="{_TOP - 6:g}">p{one.percent:g}</text>'
