"""Knees as SVG text: a row each, the rate with its bounds over a logarithmic axis, and who gave way."""

import math
from collections.abc import Callable
from html import escape
from typing import Final

import msgspec

from kubedyno.report import log_panels
from kubedyno.report.sweep_reading import COLOURS

_WIDTH: Final = 520.0
_LEFT: Final = 84.0
_RIGHT: Final = 152.0
_TOP: Final = 10.0
_BOTTOM: Final = 40.0
_ROW: Final = 20.0
_GAP: Final = 12.0
"""Between two groups of rows."""
_PAD: Final = 1.25
_LETTERS: Final = 23
"""So many fit beside a row."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A row."""

    group: str
    """Rows of one group stand together, under one name."""
    colour: int
    rate: float | None
    """None: it is not known; it may still be below something."""
    lower: float | None
    upper: float | None
    """None: it may be any higher."""
    label: str


class Knees(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one case, in the order of their groups."""

    title: str
    told: str
    x_label: str
    bars: tuple[Bar, ...]


def svg(knees: Knees) -> str:
    """The picture; empty when no rate is known."""
    rates = [one for bar in knees.bars for one in (bar.rate, bar.lower, bar.upper) if one]
    if not rates:
        return ""
    low, high = min(rates) / _PAD, max(rates) * _PAD
    wide = _WIDTH - _LEFT - _RIGHT
    groups = list(dict.fromkeys(bar.group for bar in knees.bars))
    tall = _ROW * len(knees.bars) + _GAP * (len(groups) - 1)
    height = _TOP + tall + _BOTTOM

    def x_of(value: float) -> float:
        return _LEFT + wide * (math.log(max(value, low) / low)) / math.log(high / low)

    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {height:g}" role="img" aria-label="{escape(knees.title)}">',
        f"<title>{escape(knees.title)}</title>",
    ]
    for tick in log_panels.ticks(low, high):
        parts.append(f'<path class="grid" d="M{x_of(tick):.1f} {_TOP:g}v{tall:g}"/>')
        parts.append(f'<text class="x" x="{x_of(tick):.1f}" y="{_TOP + tall + 16:g}">{tick:,.4g}</text>')
    parts.append(f'<text class="x" x="{_LEFT + wide / 2:g}" y="{height - 6:g}">{escape(knees.x_label)}</text>')
    y = _TOP
    for number, group in enumerate(groups):
        rows = [bar for bar in knees.bars if bar.group == group]
        if number:
            parts.append(f'<path class="grid" d="M0 {y + _GAP / 2:.1f}H{_WIDTH:g}"/>')
            y += _GAP
        parts.append(f'<text x="2" y="{y + _ROW * len(rows) / 2 + 4:.1f}">{escape(group)}</text>')
        for bar in rows:
            parts += _row(bar, x_of, y + _ROW / 2, wide)
            y += _ROW
    parts.append("</svg>")
    return (
        f"<figure><figcaption>{escape(knees.title)} <small>{escape(knees.told)}</small></figcaption>"
        f"{''.join(parts)}</figure>"
    )


def _row(bar: Bar, x_of: Callable[[float], float], y: float, wide: float) -> list[str]:
    label = bar.label if len(bar.label) <= _LETTERS else f"{bar.label[: _LETTERS - 1].rstrip()}…"
    said = f'<text x="{_LEFT + wide + 8:g}" y="{y + 4:.1f}">{escape(label)}<title>{escape(bar.label)}</title></text>'
    if bar.rate is None and bar.upper is None:
        return [said]
    colour = bar.colour % COLOURS
    first = x_of(bar.lower if bar.lower is not None else 0.0)
    last = x_of(bar.upper) if bar.upper is not None else _LEFT + wide
    drawn = [f'<path class="c{colour}" stroke-width="7" opacity=".3" d="M{first:.1f} {y:.1f}H{last:.1f}"/>']
    if bar.upper is None:
        drawn.append(
            f'<path class="c{colour}" fill="none" stroke-width="1.5" d="M{last - 5:.1f} {y - 4:.1f}l5 4l-5 4"/>'
        )
    if bar.rate is not None:
        drawn.append(f'<circle cx="{x_of(bar.rate):.1f}" cy="{y:.1f}" r="4" style="fill:var(--c{colour})"/>')
    return [*drawn, said]
