"""The tables of a sweep: what awareness and replicas cost, and for each size the latencies and the knees."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final

import msgspec

from kubedyno.measure.records import CurvePoint, KneeRecord
from kubedyno.report.markup import line
from kubedyno.report.scales import duration
from kubedyno.report.sweep_reading import (
    COLOURS,
    PERCENTS,
    Bent,
    Point,
    Ratio,
    Sweep,
    Variant,
    bounded,
    headline,
    percentile,
    quantity,
    ratio_of_knees,
    ratio_of_points,
)

_KEPT_UP: Final = 0.9
"""Of the rate that was asked for: what is below is said."""
_LARGE: Final = 100
_TOLD_OF_KNEES: Final = ("broke", "gave way", "first error", "errors", "recovery", "did not fit")
_PRICED: Final = (50.0, 90.0)
"""Percentiles whose price is told beside them; of p99 it seldom has bounds."""


class _Choice(msgspec.Struct, frozen=True):
    """Something that can be had or not, and costs."""

    title: str
    """As in the parts of a variant."""
    is_chosen: Callable[[Variant], bool]
    without: Callable[[Variant], Variant]


_CHOICES: Final = (
    _Choice("awareness", lambda one: one.aware, lambda one: msgspec.structs.replace(one, aware=False)),
    _Choice("HA", lambda one: one.ha, lambda one: msgspec.structs.replace(one, ha=False)),
)


def prices(sweep: Sweep) -> str:
    """Case by size: how many times as much with as without. Empty: a sweep that has only one of both."""
    parts = []
    for choice in _offered(sweep):
        heads = ["", "", *(f"{escape(scale)}, {nodes:,}" for nodes, scale in sweep.scales())]
        rows = [*_latency_prices(sweep, choice), *_knee_prices(sweep, choice)]
        if rows:
            told = (
                f"Price of {choice.title}: with it as a multiple of without it, and the interval. A latency above 1 "
                "and a knee below 1 are what it costs. Latencies at the highest rate that both have"
            )
            parts.append(_table(told, heads, rows, texts=2))
    return f"<h3>Prices</h3>{''.join(parts)}" if parts else ""


def scales(sweep: Sweep, about: Callable[[str], str]) -> str:
    """For each size its knees and latencies; `about` says in HTML what stands for whom in a case."""
    parts = []
    for nodes, scale in sweep.scales():
        parts.append(f"<h3>{escape(headline(scale))}: {nodes:,} nodes</h3>")
        parts.append(_overloads(sweep, nodes, about))
        parts.append(_latencies(sweep, nodes, about, is_first=True))
        if others := _latencies(sweep, nodes, about, is_first=False):
            parts.append(f"<details><summary>{escape(headline(scale))}: further latencies</summary>{others}</details>")
    return "".join(parts)


def _latencies(sweep: Sweep, nodes: int, about: Callable[[str], str], *, is_first: bool) -> str:
    """The table of the first metric of each case, with what is missing; or that of the other metrics."""
    offered = _offered(sweep)
    heads = ["", "rate/s", *(f"p{percent:g}" for percent in PERCENTS), "n"]
    heads += [f"{choice.title}, p{percent:g}" for choice in offered for percent in _PRICED]
    lines: list[str] = []
    for case in sweep.cases():
        here = [one for one in sweep.points if one.record.nodes == nodes and one.record.case == case]
        metrics = sweep.metrics(case)[:1] if is_first else sweep.metrics(case)[1:]
        own = [one for metric in metrics for one in _metric(sweep, here, metric, offered, len(heads))]
        if is_first:
            own += [_missing(sweep, one, len(heads)) for one in here if not one.is_known]
        if own:
            lines += [_spanning(f"<b>{escape(headline(case))}</b> {about(case)}", len(heads)), *own]
    if not lines:
        return ""
    told = "Latency: percentiles with 95 % confidence intervals (+: samples are too few to bound it)"
    if offered:
        told += f"; price of {' and of '.join(choice.title for choice in offered)}: with it as a multiple of without it"
    return _framed(told, [line("th", heads, texts=1), *lines])


def _metric(
    sweep: Sweep, points: Iterable[Point], metric: str, offered: Sequence[_Choice], columns: int
) -> Iterable[str]:
    own = [one for one in points if one.record.metric == metric and one.is_known]
    own.sort(key=lambda one: (one.record.rate or 0.0, one.variant))
    if own:
        name, unit = quantity(metric)
        yield _spanning(escape(", ".join(filter(None, (name, "ms" if unit == "s" else unit)))), columns)
    for one in own:
        yield _latency(sweep, one, offered)


def _latency(sweep: Sweep, point: Point, offered: Sequence[_Choice]) -> str:
    record = point.record
    remarks = []
    if record.achieved is not None and record.rate and record.achieved < _KEPT_UP * record.rate:
        remarks.append(f"only {record.achieved:,.4g}/s came about")
    if record.errors:
        remarks.append(f"errors {_codes(record.errors)}")
    cells = [
        _key(sweep, point.variant) + "".join(f"<br><small>{escape(remark)}</small>" for remark in remarks),
        "at once" if record.rate is None else f"{record.rate:,.4g}",
        *(_percentile(record, percent) for percent in PERCENTS),
        f"{record.n:,}",
        *(_point_price(sweep, point, choice, percent) for choice in offered for percent in _PRICED),
    ]
    return line("td", cells, texts=1)


def _missing(sweep: Sweep, point: Point, columns: int) -> str:
    record = point.record
    rate = "" if record.rate is None else f"{record.rate:,.4g}/s: "
    return _spanning(f"{_key(sweep, point.variant)} {escape(rate + (record.note or 'nothing was measured'))}", columns)


def _overloads(sweep: Sweep, nodes: int, about: Callable[[str], str]) -> str:
    """The table of the knees at a size, without columns in which nothing stands."""
    offered = _offered(sweep)
    heads = ["", "knee", *(choice.title for choice in offered), *_TOLD_OF_KNEES]
    here = [one for one in sweep.knees if one.record.nodes == nodes]
    if not here:
        return ""
    rows = [(one, _overload(sweep, one, offered)) for one in sorted(here, key=lambda one: one.variant)]
    kept = [place for place in range(len(heads)) if any(cells[place] for _, cells in rows)]
    lines = [line("th", [heads[place] for place in kept], texts=len(kept))]
    for case in sweep.cases():
        own = [(one, cells) for one, cells in rows if one.record.case == case]
        if own:
            unit = escape(own[0][0].record.unit)
            lines.append(_spanning(f"<b>{escape(headline(case))}</b>, {unit} {about(case)}", len(kept)))
        lines += [line("td", [cells[place] for place in kept], texts=len(kept)) for _, cells in own]
    return _framed("Overload: the highest rate that kept its limits, and what it lies between", lines)


def _overload(sweep: Sweep, knee: Bent, offered: Sequence[_Choice]) -> list[str]:
    record = knee.record
    tried = "" if record.rate is None else "confirmed" if record.confirmed else "not confirmed"
    steps = f"{record.steps} step{'' if record.steps == 1 else 's'}" if record.steps else ""
    small = ", ".join(filter(None, (tried, steps)))
    who = f"<b>{escape(record.component)}</b>" if record.component else ""
    return [
        _key(sweep, knee.variant),
        _whole(knee_words(record)) + (f"<br><small>{small}</small>" if small else ""),
        *(_whole(_knee_price(sweep, knee, choice)) for choice in offered),
        escape(", ".join(record.broke)),
        ": ".join(filter(None, (who, escape(record.evidence)))),
        escape(record.first_error),
        escape(_codes(record.errors)),
        "" if record.recovery_s is None else duration(record.recovery_s),
        escape(record.unfit),
    ]


def knee_words(record: KneeRecord) -> str:
    """The rate of a knee and what it lies between."""
    if record.rate is None:
        if record.upper is not None:
            return f"below {_number(record.upper)}"
        return "none found" if record.steps else "not looked for"
    if record.upper is None:
        return f"{_number(record.rate)} or more"
    return f"{_number(record.rate)} ({_between(record.lower, record.upper)})"


def ratio_words(ratio: Ratio | None) -> str:
    """A price and what it lies between; empty: not known."""
    if ratio is None:
        return ""
    return f"\N{MULTIPLICATION SIGN}{ratio.value:.2f} ({_between(ratio.lower, ratio.upper, lambda one: f'{one:.2f}')})"


def _between(lower: float | None, upper: float | None, told: Callable[[float], str] | None = None) -> str:
    told = told or _number
    if lower is None and upper is None:
        return "no bounds"
    if lower is None:
        return f"up to {told(upper or 0.0)}"
    return f"{told(lower)} or more" if upper is None else f"{told(lower)} to {told(upper)}"


def _latency_prices(sweep: Sweep, choice: _Choice) -> Iterable[Sequence[str]]:
    """A row per case, variant and percentile, of the first metric; the others have theirs beside them.

    The price of a case with knees is that of its knees.
    """
    bent = {one.record.case for one in sweep.knees if one.record.rate is not None}
    for case in (one for one in sweep.cases() if one not in bent):
        for metric in sweep.metrics(case)[:1]:
            for variant in filter(choice.is_chosen, sweep.variants):
                own = [
                    one
                    for one in sweep.points
                    if one.variant == variant and one.record.case == case and one.record.metric == metric
                ]
                for percent in PERCENTS:
                    cells = [_highest_price(sweep, own, nodes, choice, percent) for nodes, _ in sweep.scales()]
                    if any(cells):
                        what = f"{headline(case)}: {quantity(metric)[0]}, p{percent:g}"
                        yield escape(what), escape(_named(sweep, variant, choice)), *cells


def _highest_price(sweep: Sweep, own: Iterable[Point], nodes: int, choice: _Choice, percent: float) -> str:
    here = sorted((one for one in own if one.record.nodes == nodes), key=lambda one: one.record.rate or 0.0)
    return next(filter(None, (_point_price(sweep, one, choice, percent) for one in reversed(here))), "")


def _knee_prices(sweep: Sweep, choice: _Choice) -> Iterable[Sequence[str]]:
    for case in sweep.cases():
        for variant in filter(choice.is_chosen, sweep.variants):
            own = {one.record.nodes: one for one in sweep.knees if one.variant == variant and one.record.case == case}
            cells = [_knee_price(sweep, own[nodes], choice) if nodes in own else "" for nodes, _ in sweep.scales()]
            if any(cells):
                yield escape(f"{headline(case)}: knee"), escape(_named(sweep, variant, choice)), *cells


def _named(sweep: Sweep, variant: Variant, choice: _Choice) -> str:
    """Of a variant what is not the choice itself."""
    return ", ".join(part for about, part in sweep.parts(variant).items() if about != choice.title)


def _point_price(sweep: Sweep, point: Point, choice: _Choice, percent: float) -> str:
    if not choice.is_chosen(point.variant):
        return ""
    other = sweep.counterpart(point, choice.without(point.variant))
    return "" if other is None else ratio_words(ratio_of_points(point, other, percent))


def _knee_price(sweep: Sweep, knee: Bent, choice: _Choice) -> str:
    if not choice.is_chosen(knee.variant):
        return ""
    other = sweep.knee_counterpart(knee, choice.without(knee.variant))
    return "" if other is None else ratio_words(ratio_of_knees(knee.record, other.record))


def _offered(sweep: Sweep) -> list[_Choice]:
    """Choices of which there is both."""
    return [choice for choice in _CHOICES if len({choice.is_chosen(one) for one in sweep.variants}) > 1]


def _percentile(record: CurvePoint, percent: float) -> str:
    found = percentile(record, percent)
    if found is None:
        return ""
    factor = 1000.0 if quantity(record.metric)[1] == "s" else 1.0
    value, lower, upper = (_number(one * factor) for one in (found.value, found.lower, found.upper))
    return f"{value} ({lower} to {upper}{'' if bounded(record, percent)[1] else '+'})"


def _codes(errors: dict[str, int]) -> str:
    return ", ".join(f"{code}: {count:,}" for code, count in sorted(errors.items(), key=lambda one: -one[1]))


def _number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= _LARGE or value == int(value) else f"{value:.3g}"


def _key(sweep: Sweep, variant: Variant) -> str:
    """A variant with its colour."""
    return f'<span class="key k{sweep.variants.index(variant) % COLOURS}">{escape(sweep.name(variant))}</span>'


def _whole(told: str) -> str:
    """Kept on one line."""
    return f'<span class="whole">{told}</span>' if told else ""


def _spanning(told: str, columns: int) -> str:
    return f'<tr><td class="text" colspan="{columns}">{told}</td></tr>'


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    return _framed(caption, [line("th", heads, texts=texts), *(line("td", row, texts=texts) for row in rows)])


def _framed(caption: str, lines: Iterable[str]) -> str:
    return f'<div class="wide"><table><caption>{escape(caption)}</caption>{"".join(lines)}</table></div>'
