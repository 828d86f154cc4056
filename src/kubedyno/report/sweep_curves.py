"""The pictures of a sweep: latency against size and against rate, and the knees of overload."""

from collections.abc import Sequence
from html import escape
from typing import Final

from kubedyno.measure.records import KneeRecord
from kubedyno.report import knee_bars, log_panels
from kubedyno.report.log_panels import Line, Panel, Value
from kubedyno.report.sweep_reading import COLOURS, PERCENTS, Point, Sweep, Variant, headline, percentile, quantity
from kubedyno.scenarios.numa import framework

_UNITS: Final = {case.name: case.unit for case in framework.CASES}
_TOGETHER: Final = 2
"""Up to so many variants the percentiles of all can be told apart in one panel."""
_DASHES: Final = ("p50 solid", "p90 dashed", "p99 dotted")


def latencies(sweep: Sweep) -> str:
    """Panels of all latency cases; a case with several metrics shows its first, the others are folded."""
    parts: list[str] = []
    for case in sweep.cases():
        drawn = [(metric, _panels(sweep, case, metric)) for metric in sweep.metrics(case)]
        drawn = [(metric, panels) for metric, panels in drawn if panels]
        if not drawn:
            continue
        parts.append(f"<h3>{escape(headline(case))}: {escape(quantity(drawn[0][0])[0])}</h3>")
        parts.append(f'<div class="charts">{drawn[0][1]}</div>')
        parts += [
            f"<details><summary>{escape(headline(case))}: {escape(quantity(metric)[0])}</summary>"
            f'<div class="charts">{panels}</div></details>'
            for metric, panels in drawn[1:]
        ]
    if not parts:
        return ""
    told = f"{', '.join(_DASHES)}; bars are 95 % confidence intervals; both axes are logarithmic."
    return "".join((legend(sweep), f"<p>{told}</p>", *parts))


def knees(sweep: Sweep) -> str:
    """A picture for each overload case."""
    parts = [drawn for case in sweep.cases() if (drawn := knee_bars.svg(_knees(sweep, case)))]
    if not parts:
        return ""
    told = (
        "Highest rate that kept its limits (dot), from the rate up to which no step was bad to the one from which none "
        "was good (bar; an arrow: no such rate is known), and who gave way above it."
    )
    return f'<h3>Knees</h3><p>{told}</p>{legend(sweep)}<div class="charts broad">{"".join(parts)}</div>'


def legend(sweep: Sweep) -> str:
    """Which colour is whose."""
    keys = "".join(
        f'<span class="key k{number % COLOURS}">{escape(sweep.name(variant))}</span>'
        for number, variant in enumerate(sweep.variants)
    )
    return f'<div class="keys">{keys}</div>'


def _panels(sweep: Sweep, case: str, metric: str) -> str:
    """Against size, and for each size against the rate, all with the same vertical axis.

    Of many variants each percentile has its own panel.
    """
    points = [one for one in sweep.points if one.record.case == case and one.record.metric == metric and one.is_known]
    _, unit = quantity(metric)
    together = [PERCENTS] if len(sweep.variants) <= _TOGETHER else [(percent,) for percent in PERCENTS]
    reaches = [log_panels.reach(_lines(sweep, points, percents, against_size=False)) for percents in together]
    rate_unit = _UNITS.get(case, "1/s")
    chosen, told = _at_one_rate(points, rate_unit)
    views = [("Against size", told, "nodes", chosen)]
    for nodes, scale in sweep.scales():
        here = [one for one in points if one.record.nodes == nodes and one.record.rate is not None]
        views.append((f"Against rate, {scale}", f"{nodes:,} nodes", f"{rate_unit} asked for", here))
    return "".join(
        log_panels.svg(
            Panel(
                title=title if len(percents) > 1 else f"{title}: p{percents[0]:g}",
                told=told,
                x_label=x_label,
                unit=unit,
                lines=_lines(sweep, shown, percents, against_size=x_label == "nodes"),
                reach=reach,
            )
        )
        for title, told, x_label, shown in views
        for percents, reach in zip(together, reaches, strict=True)
    )


def _at_one_rate(points: Sequence[Point], unit: str) -> tuple[list[Point], str]:
    """The points of the rate that most sizes share, of several the highest; else the highest rate of each size."""
    sizes: dict[float | None, set[int]] = {}
    highest: dict[tuple[int, Variant], float] = {}
    for one in points:
        nodes, rate = one.record.nodes, one.record.rate
        sizes.setdefault(rate, set()).add(nodes)
        highest[nodes, one.variant] = max(highest.get((nodes, one.variant), 0.0), rate or 0.0)
    if not sizes:
        return [], ""
    best = max(sizes, key=lambda rate: (len(sizes[rate]), rate or 0.0))
    if len(sizes[best]) > 1:
        told = "all at once" if best is None else f"at {best:,.4g} {unit}"
        return [one for one in points if one.record.rate == best], told
    own = [one for one in points if (one.record.rate or 0.0) == highest[one.record.nodes, one.variant]]
    return own, "each size at its highest rate"


def _lines(sweep: Sweep, points: Sequence[Point], percents: Sequence[float], *, against_size: bool) -> tuple[Line, ...]:
    lines = []
    for colour, variant in enumerate(sweep.variants):
        own = [one.record for one in points if one.variant == variant]
        own.sort(key=lambda one: one.nodes if against_size else one.rate or 0.0)
        for percent in percents:
            values = tuple(
                Value(one.nodes if against_size else one.rate or 0.0, found.value, found.lower, found.upper)
                for one in own
                if (found := percentile(one, percent)) is not None
            )
            label = f"p{percent:g}" if len(percents) > 1 else ""
            lines.append(Line(label, colour, PERCENTS.index(percent), values))
    return tuple(lines)


def _knees(sweep: Sweep, case: str) -> knee_bars.Knees:
    own = sorted(
        (one for one in sweep.knees if one.record.case == case),
        key=lambda one: (one.record.nodes, sweep.variants.index(one.variant)),
    )
    slos = sorted({one.record.slo_s for one in own if one.record.slo_s is not None})
    unit = own[0].record.unit if own else ""
    return knee_bars.Knees(
        title=headline(case),
        told=f"limit: p99 {' or '.join(f'{slo:g} s' for slo in slos)}, and the error budget" if slos else "",
        x_label=unit,
        bars=tuple(
            knee_bars.Bar(
                group=f"{one.record.scale} {one.record.nodes:,}",
                colour=sweep.variants.index(one.variant),
                rate=one.record.rate,
                lower=one.record.lower,
                upper=one.record.upper,
                label=_gave_way(one.record),
            )
            for one in own
        ),
    )


def _gave_way(record: KneeRecord) -> str:
    if record.component:
        return record.component
    if record.rate is None:
        return record.unfit
    return "nobody known" if record.broke else "no limit broke"
