"""The timeline of workloads on the page of a run: a lane each, as SVG text, and the same as a table."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from kubedyno.report.gang_ways import GangWay, chosen
from kubedyno.report.markup import line
from kubedyno.report.scales import nice_ticks

_LABEL: Final = "Timeline of workloads; the table below has the same"
_AXIS: Final = "seconds since the first pod was created"
_LANES: Final = 50
_WIDTH: Final = 1100.0
_LEFT: Final = 190.0
_RIGHT: Final = 20.0
_TOP: Final = 8.0
_BOTTOM: Final = 38.0
_LANE: Final = 14.0
_THICK: Final = {"waiting": 2.0, "partly": 5.0, "whole": 10.0}
"""Heights of a lane's states: they can be told apart without colours."""
_LETTERS: Final = 28
"""So many of a name fit before its lane."""
_LEAST: Final = 0.8
"""No stretch is drawn narrower."""


def section(ways: Sequence[GangWay]) -> str:
    """Lanes and table; empty without workloads."""
    if not ways:
        return ""
    shown = chosen(ways, _LANES)
    return f"<h3>Workloads over time</h3><p>{_told(ways, shown)}</p>{_svg(shown)}{_table(shown)}"


def _told(ways: Sequence[GangWay], shown: Sequence[GangWay]) -> str:
    evicted = sum(bool(way.evictions_s) for way in ways)
    never = sum(way.whole_s is None for way in ways)
    parts = [f"{len(ways):,} workloads", f"{evicted:,} of them evicted", f"{never:,} never wholly bound"]
    if len(shown) < len(ways):
        parts.append(f"{len(shown)} are drawn: evicted ones first, then evenly in the order of creation")
    return "; ".join((", ".join(parts[:3]), *parts[3:])) + "."


def _svg(ways: Sequence[GangWay]) -> str:
    end_s = max(way.stretches[-1].until_s for way in ways) or 1.0
    wide, tall = _WIDTH - _LEFT - _RIGHT, _LANE * len(ways)
    parts = [f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_TOP + tall + _BOTTOM:g}" role="img" aria-label="{_LABEL}">']
    for tick in nice_ticks(0.0, end_s, about=8):
        x = _LEFT + wide * tick / end_s
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP:g}v{tall:g}"/>')
        parts.append(f'<text class="x" x="{x:.1f}" y="{_TOP + tall + 16:g}">{tick:,.10g}</text>')
    parts.append(f'<text class="x" x="{_LEFT + wide / 2:g}" y="{_TOP + tall + 32:g}">{_AXIS}</text>')
    for number, way in enumerate(ways):
        parts += _lane(way, _TOP + _LANE * (number + 0.5), wide / end_s)
    keys = (
        '<div class="keys"><span class="key lane waiting">waiting</span><span class="key lane partly">partly bound'
        '</span><span class="key lane whole">wholly bound</span><span class="evicted">✕ evicted</span></div>'
    )
    return f'<figure class="timeline">{"".join(parts)}</svg>{keys}</figure>'


def _lane(way: GangWay, y: float, per_s: float) -> Iterable[str]:
    name = way.name if len(way.name) <= _LETTERS else f"…{way.name[1 - _LETTERS :]}"
    yield f"<g><title>{escape(_spoken(way))}</title>"
    yield f'<text class="y" x="{_LEFT - 8:g}" y="{y + 4:.1f}">{escape(name)}</text>'
    for one in way.stretches:
        x, high = _LEFT + one.since_s * per_s, _THICK[one.state]
        width = max(_LEAST, (one.until_s - one.since_s) * per_s)
        yield (f'<rect class="{one.state}" x="{x:.1f}" y="{y - high / 2:.1f}" width="{width:.1f}" height="{high:g}"/>')
    for at_s in way.evictions_s:
        yield f'<path class="evicted" d="M{_LEFT + at_s * per_s - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"/>'
    yield "</g>"


def _spoken(way: GangWay) -> str:
    evicted = f"; evicted at {', '.join(_time(at_s) for at_s in way.evictions_s)}" if way.evictions_s else ""
    return (
        f"{way.name}, {way.pods} pods: created {_time(way.created_s)}, first bound {_time(way.first_bound_s)}, "
        f"wholly bound {_time(way.whole_s)}, ended {_time(way.ended_s)}{evicted}"
    )


def _table(ways: Sequence[GangWay]) -> str:
    lines = [
        line(
            "th", ("workload", "pods", "created s", "first bound s", "wholly bound s", "ended s", "evicted s"), texts=1
        )
    ]
    for way in ways:
        times = (way.created_s, way.first_bound_s, way.whole_s, way.ended_s)
        evicted = ", ".join(f"{at_s:.3f}" for at_s in way.evictions_s)
        cells = (*("" if time_s is None else f"{time_s:.3f}" for time_s in times), evicted)
        lines.append(line("td", (escape(way.name), f"{way.pods:,}", *cells), texts=1))
    return (
        "<details><summary>The timeline as a table</summary>"
        f'<div class="wide"><table>{"".join(lines)}</table></div></details>'
    )


def _time(time_s: float | None) -> str:
    return "never" if time_s is None else f"{time_s:.3f} s"
