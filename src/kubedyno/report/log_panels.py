"""Panels as SVG text: lines through values with their intervals, both axes logarithmic. Colours are the page's."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final

import msgspec

from kubedyno.report.sweep_reading import COLOURS

_WIDTH: Final = 390.0
_HEIGHT: Final = 230.0
_LEFT: Final = 58.0
_RIGHT: Final = 34.0
_TOP: Final = 12.0
_BOTTOM: Final = 38.0
_PAD: Final = 1.2
"""By so much values stay away from the ends of an axis, as a factor."""
_DODGE: Final = 4.0
"""Lines of several colours are so far beside each other, or their intervals would be one."""
_APART: Final = 34.0
"""Least distance of two numbers below the axis."""
_TICKS: Final = 6
_DIGITS: Final = (
    tuple(range(10, 100, 5)),
    tuple(range(10, 100, 10)),
    (10, 20, 30, 50, 70),
    (10, 20, 50),
    (10, 30),
    (10,),
)
"""Of a power of ten, in tenths, what may be a tick: the finest that gives no more than fit."""
_DASHES: Final = ("", "6 3", "1.5 3")
_WIDTHS: Final = (2.0, 1.6, 1.8)
_FACTORS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_MANY: Final = 100


class Value(msgspec.Struct, frozen=True):
    """A point of a line with what it lies between; drawn where it is above zero."""

    x: float
    value: float
    lower: float
    upper: float


class Line(msgspec.Struct, frozen=True):
    """Values that belong together, in the order of their x."""

    label: str
    """At its end; empty: none."""
    colour: int
    dash: int
    """0 is solid; the others are more and more broken."""
    values: tuple[Value, ...]


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """Lines over an axis."""

    title: str
    told: str
    x_label: str
    unit: str
    """Of the values; of seconds the ticks choose their own."""
    lines: tuple[Line, ...]
    reach: tuple[float, float] | None
    """Ends of the vertical axis, so that several panels can be compared; None: nothing is above zero."""


def reach(lines: Sequence[Line]) -> tuple[float, float] | None:
    """Ends of an axis that holds all of them with their intervals; None: nothing is above zero."""
    values = [one for line in lines for one in line.values if one.value > 0]
    if not values:
        return None
    # An interval that goes down to zero runs off the axis.
    low = min(one.lower if one.lower > 0 else one.value for one in values)
    high = max(one.upper for one in values)
    return low / _PAD, high * _PAD


def svg(panel: Panel) -> str:
    """The panel; empty when nothing in it is above zero, or all of it is at one place."""
    places = sorted({one.x for line in panel.lines for one in line.values if one.x > 0})
    if len(places) <= 1 or panel.reach is None:
        return ""
    low, high = panel.reach
    wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    first, last = math.log(places[0] / _PAD), math.log(places[-1] * _PAD)

    def x_of(value: float) -> float:
        return _LEFT + wide * (math.log(value) - first) / (last - first)

    def y_of(value: float) -> float:
        return _TOP + tall * (1 - (math.log(max(value, low)) - math.log(low)) / (math.log(high) - math.log(low)))

    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(panel.title)}">',
        f"<title>{escape(panel.title)}</title>",
    ]
    for tick in ticks(low, high):
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y_of(tick):.1f}H{_LEFT + wide:g}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 6:g}" y="{y_of(tick) + 4:.1f}">{written(tick, panel.unit)}</text>')
    shown = -math.inf
    for place in places:
        parts.append(f'<path class="grid" d="M{x_of(place):.1f} {_TOP + tall:g}v4"/>')
        if x_of(place) - shown >= _APART:
            shown = x_of(place)
            parts.append(f'<text class="x" x="{shown:.1f}" y="{_TOP + tall + 16:g}">{_plain(place)}</text>')
    parts.append(f'<text class="x" x="{_LEFT + wide / 2:g}" y="{_HEIGHT - 6:g}">{escape(panel.x_label)}</text>')
    colours = sorted({line.colour for line in panel.lines})
    taken: list[float] = []
    for line in panel.lines:
        aside = _DODGE * (colours.index(line.colour) - (len(colours) - 1) / 2)
        parts += _drawn(line, x_of, y_of, aside, taken)
    parts.append("</svg>")
    return (
        f"<figure><figcaption>{escape(panel.title)} <small>{escape(panel.told)}</small></figcaption>"
        f"{''.join(parts)}</figure>"
    )


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between them, as many as an axis bears."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in _DIGITS:
        found = [one for power in powers for digit in digits if low <= (one := digit * 10.0**power / 10) <= high]
        if len(found) <= _TICKS:
            return found
    return found[:: math.ceil(len(found) / _TICKS)]


def written(value: float, unit: str) -> str:
    """A round number with its unit."""
    if unit != "s":
        return f"{_plain(value)} {escape(unit)}".rstrip()
    factor, name = next(((factor, name) for factor, name in _FACTORS if value >= factor * 0.999), _FACTORS[-1])
    return f"{value / factor:,.6g} {name}"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= _MANY else f"{value:.3g}"


def _drawn(
    line: Line, x_of: Callable[[float], float], y_of: Callable[[float], float], aside: float, taken: list[float]
) -> list[str]:
    spots = [(x_of(one.x) + aside, one) for one in line.values if one.x > 0 and one.value > 0]
    if not spots:
        return []
    colour = line.colour % COLOURS
    way = "L".join(f"{x:.1f} {y_of(one.value):.1f}" for x, one in spots)
    bars = "".join(f"M{x:.1f} {y_of(one.lower):.1f}V{y_of(one.upper):.1f}" for x, one in spots)
    dash = f' stroke-dasharray="{_DASHES[line.dash]}"' if _DASHES[line.dash] else ""
    drawn = [
        f'<path class="c{colour}" fill="none" stroke-width="5" opacity=".25" d="{bars}"/>',
        f'<path class="c{colour}" fill="none" stroke-width="{_WIDTHS[line.dash]:g}"{dash} d="M{way}"/>',
        *(
            f'<circle cx="{x:.1f}" cy="{y_of(one.value):.1f}" r="2.6" style="fill:var(--c{colour})"/>'
            for x, one in spots
        ),
    ]
    x, end = spots[-1]
    level = y_of(end.value) + 4
    if line.label and all(abs(level - other) >= 10 for other in taken):  # noqa: PLR2004 - the height of the letters
        taken.append(level)
        drawn.append(f'<text x="{x + 8:.1f}" y="{level:.1f}">{escape(line.label)}</text>')
    return drawn
