"""Small charts as SVG text: curves over an axis that starts at zero. Colours come from the page that they stand in."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

import msgspec

from kubedyno.report.scales import nice_ticks

_WIDTH: Final = 460.0
_HEIGHT: Final = 220.0
_LEFT: Final = 52.0
_RIGHT: Final = 12.0
_TOP: Final = 12.0
_BOTTOM: Final = 38.0
_POINTS: Final = 400
"""More cannot be told apart at this width."""


class Curve(msgspec.Struct, frozen=True):
    """A named line through points, in the order of their x."""

    name: str
    points: Sequence[tuple[float, float]]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """Curves with what is on their axes."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    stepped: bool = False
    """Between two points the first one's y holds."""


def svg(chart: Chart) -> str:
    """The chart; empty when no curve has two points."""
    curves = [Curve(curve.name, _thinned(curve.points)) for curve in chart.curves if len(curve.points) > 1]
    if not curves:
        return ""
    most_x = max(x for curve in curves for x, _ in curve.points) or 1.0
    least_x = min(0.0, *(x for curve in curves for x, _ in curve.points))
    most_y = max(y for curve in curves for _, y in curve.points) * 1.05 or 1.0
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x_of(value: float) -> float:
        return _LEFT + wide * (value - least_x) / (most_x - least_x)

    def y_of(value: float) -> float:
        return _TOP + high * (1 - value / most_y)

    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(chart.title)}">',
        f"<title>{escape(chart.title)}</title>",
    ]
    for tick in nice_ticks(0.0, most_y, about=4):
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y_of(tick):.1f}H{_LEFT + wide:g}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 6:g}" y="{y_of(tick) + 4:.1f}">{_number(tick)}</text>')
    parts += [
        f'<text class="x" x="{x_of(tick):.1f}" y="{_TOP + high + 16:g}">{_number(tick)}</text>'
        for tick in nice_ticks(least_x, most_x, about=6)
    ]
    parts.append(f'<text class="x" x="{_LEFT + wide / 2:g}" y="{_HEIGHT - 6:g}">{escape(chart.x_label)}</text>')
    for number, curve in enumerate(curves):
        parts.append(
            f'<path class="curve c{number % 6}" d="{_path(curve.points, x_of, y_of, stepped=chart.stepped)}"/>'
        )
    parts.append("</svg>")
    legend = "".join(
        f'<span class="key k{number % 6}">{escape(curve.name)}</span>' for number, curve in enumerate(curves)
    )
    keys = f'<div class="keys">{legend}</div>' if len(curves) > 1 else ""
    return (
        f"<figure><figcaption>{escape(chart.title)} <small>{escape(chart.y_label)}</small></figcaption>"
        f"{''.join(parts)}{keys}</figure>"
    )


def _path(
    points: Sequence[tuple[float, float]],
    x_of: Callable[[float], float],
    y_of: Callable[[float], float],
    *,
    stepped: bool,
) -> str:
    first = f"M{x_of(points[0][0]):.1f} {y_of(points[0][1]):.1f}"
    if stepped:
        return first + "".join(f"H{x_of(x):.1f}V{y_of(y):.1f}" for x, y in points[1:])
    return first + "".join(f"L{x_of(x):.1f} {y_of(y):.1f}" for x, y in points[1:])


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Evenly chosen points, the first and the last among them."""
    if len(points) <= _POINTS:
        return points
    step = (len(points) - 1) / (_POINTS - 1)
    return [points[round(index * step)] for index in range(_POINTS)]


def _number(value: float) -> str:
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")
