"""The picture: a row per step, over submission time on the left, its histogram and quantiles on the right."""

import contextlib
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from kubedyno.report.captions import Captions
from kubedyno.report.rows import QUANTILES, Row
from kubedyno.report.scales import Floats, Scale, duration, nice_ticks, scale, span

Format: TypeAlias = Literal["png", "svg"]

_INK: Final = "#1f2933"
_PALE: Final = "#7b8794"
_GRID: Final = "#e4e7eb"
_BAR: Final = "#b9d3e6"
_POINT: Final = "#0072b2"
_TOTAL: Final = "#007a5a"
_TOTAL_BAR: Final = "#b3dccf"
_WRONG: Final = "#d55e00"
_BOUNDS: Final = "#c3cad2"
_DASHES: Final[tuple[Any, ...]] = ("solid", (0, (5, 2)), (0, (1, 1.5)))

_STYLE: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "text.color": _INK,
    "axes.edgecolor": _PALE,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.8,
    "xtick.color": _PALE,
    "ytick.color": _PALE,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "svg.hashsalt": "kubedyno",
    "svg.fonttype": "path",
    "path.simplify": True,
}

# Inches. Six rows fill a slide of 16:9; more rows make the page longer.
_WIDTH: Final = 16.0
_LEAST_HEIGHT: Final = 9.0
_ROW: Final = 0.89
_HEAD: Final = 1.25
_FOOT: Final = 0.95
_GAP: Final = 0.24
# Left edges and widths of the columns, as shares of the width.
_LABELS: Final = 0.022
_LEFT: Final = (0.215, 0.475)
_RIGHT: Final = (0.702, 0.155)
_NUMBERS: Final = 0.868

_DOTS_PER_INCH: Final = {"png": 120, "svg": 180}
"""Of what is pixels; a slide of 1080 lines, and somewhat more where it may be enlarged."""
_BARS_UP_TO: Final = 300
"""Up to so many points each gets a bar of its bounds that can be told from its neighbour's."""
_RASTER_FROM: Final = 2_000
"""From so many points on they are pixels in an SVG too."""
_SEEN: Final = 0.01
"""Shorter bounds than this share of the axis are hidden by the dot itself."""
_BINS: Final = (10, 36)
"""Bins of a histogram, at least and at most."""


def draw(rows: Sequence[Row], captions: Captions, form: Format) -> bytes:
    """The picture as a file; the same rows give the same bytes."""
    with styled():
        file = io.BytesIO()
        metadata = {"Software": "kubedyno"} if form == "png" else {"Creator": "kubedyno", "Date": None}
        figure(rows, captions).savefig(file, format=form, dpi=_DOTS_PER_INCH[form], metadata=metadata)
        return file.getvalue()


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Within the block figures look as ours do, whatever the user's own settings are."""
    with style.context(["default", _STYLE]):
        yield


def figure(rows: Sequence[Row], captions: Captions) -> Figure:
    """The figure, within `styled`."""
    height = max(_LEAST_HEIGHT, _HEAD + _FOOT + len(rows) * (_ROW + _GAP))
    page = Figure(figsize=(_WIDTH, height), facecolor="white")
    FigureCanvasAgg(page)
    each = (height - _HEAD - _FOOT) / len(rows)
    longest_s = max(float(row.submitted_s.max(initial=0)) for row in rows)
    for index, row in enumerate(rows):
        bottom = (height - _HEAD - each * (index + 1) + _GAP / 2) / height
        share = (each - _GAP) / height
        if row.is_total:
            _shade(page, bottom - _GAP / 2 / height, each / height)
        left = page.add_axes((_LEFT[0], bottom, _LEFT[1], share))
        right = page.add_axes((_RIGHT[0], bottom, _RIGHT[1], share), sharey=left)
        axis = scale(row.values_s, _reach(row))
        _draw_over_time(left, row, axis)
        _draw_histogram(right, row, axis)
        _write_numbers(page, row, bottom + share / 2, height)
        _draw_quantiles(left, right, row)
        _time_axis(left, longest_s, is_last=index == len(rows) - 1)
    _write_around(page, rows, captions, height)
    return page


def _reach(row: Row) -> Floats:
    """Ends of the bounds that the axis should hold: of all if each is drawn, else of most."""
    if row.values_s.size <= _BARS_UP_TO:
        return np.concatenate((row.lowers_s, row.uppers_s))
    return np.array([np.quantile(row.lowers_s, 0.02), np.quantile(row.uppers_s, 0.98)])


def _draw_over_time(axes: Axes, row: Row, axis: Scale) -> None:
    colour = _TOTAL if row.is_total else _POINT
    if axis.kind == "asinh":
        axes.set_yscale("asinh", linear_width=axis.threshold_s)
    else:
        axes.set_yscale(axis.kind)
    axes.set_ylim(axis.low_s, axis.high_s)
    axes.set_yticks(axis.ticks_s, axis.labels)
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.grid(visible=True, color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    count = row.values_s.size
    raster = count >= _RASTER_FROM
    shown_s = np.maximum(row.values_s, axis.low_s) if axis.kind == "log" else row.values_s
    _draw_bounds(axes, row, axis)
    size, alpha = _dots(count)
    good = ~row.marked
    axes.plot(
        row.submitted_s[good],
        shown_s[good],
        linestyle="none",
        marker="o",
        markersize=size,
        markeredgewidth=0,
        color=colour,
        alpha=alpha,
        clip_on=False,  # the axis holds all of them; those on its foot are whole
        rasterized=raster,
        zorder=3,
    )
    axes.plot(
        row.submitted_s[row.marked],
        shown_s[row.marked],
        linestyle="none",
        marker="x",
        markersize=max(4.0, min(6.0, 1.6 * size)),
        markeredgewidth=1.0 if raster else 1.4,
        color=_WRONG,
        alpha=0.6 if raster else 1.0,
        rasterized=raster,
        zorder=4,
    )
    axes.plot(
        row.never_s,
        np.ones_like(row.never_s),
        transform=axes.get_xaxis_transform(),
        linestyle="none",
        marker="|",
        markersize=9,
        markeredgewidth=1.2,
        color=_WRONG,
        alpha=0.35 if raster else 0.8,
        clip_on=False,
        zorder=4,
    )
    medians = row.medians_s()
    if medians is not None:
        axes.plot(*medians, color=_INK, linewidth=1.5, zorder=5)


def _draw_bounds(axes: Axes, row: Row, axis: Scale) -> None:
    """A bar from the least to the most that each delta can have been, where that is wide enough to be seen."""
    lows = np.maximum(row.lowers_s, axis.low_s)
    lengths = axis.heights(np.minimum(row.uppers_s, axis.high_s)) - axis.heights(lows)
    wide = lengths > _SEEN
    if not wide.any():
        return
    # One path with gaps: twenty thousand lines of their own would take seconds.
    gaps = np.full(int(wide.sum()), np.nan)
    times = np.column_stack((row.submitted_s[wide], row.submitted_s[wide], gaps)).ravel()
    ends = np.column_stack((lows[wide], np.minimum(row.uppers_s[wide], axis.high_s), gaps)).ravel()
    many = row.values_s.size > _BARS_UP_TO
    axes.plot(
        times,
        ends,
        color=_BOUNDS,
        linewidth=1.0 if many else 1.8,
        solid_capstyle="butt",
        alpha=float(np.clip(1.3 * lengths.mean(), 0.15, 0.6)) if many else 1.0,
        rasterized=row.values_s.size >= _RASTER_FROM,
        zorder=2,
    )


def _draw_histogram(axes: Axes, row: Row, axis: Scale) -> None:
    fewest, most = _BINS
    bins = min(most, max(fewest, math.isqrt(row.values_s.size)))
    counts, _, _ = axes.hist(
        np.clip(row.values_s, axis.low_s, axis.high_s),
        bins=list(axis.edges_s(bins)),
        orientation="horizontal",
        color=_TOTAL_BAR if row.is_total else _BAR,
    )
    highest = int(np.max(counts))
    axes.set_xlim(0, highest * 1.04)
    axes.set_xticks([highest], [f"{highest:,}"])
    axes.tick_params(axis="y", length=0, labelleft=False)
    axes.tick_params(axis="x", length=2.5, labelsize=8, labelcolor=_PALE, pad=1.5)
    axes.grid(visible=True, axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_quantiles(left: Axes, right: Axes, row: Row) -> None:
    for value_s, dashes in zip(row.quantiles_s(), _DASHES, strict=True):
        right.axhline(value_s, color=_INK, linewidth=1.3, linestyle=dashes, zorder=4)
        left.axhline(value_s, color=_INK, linewidth=0.7, linestyle=dashes, alpha=0.35, zorder=2.5)


def _write_numbers(figure: Figure, row: Row, middle: float, height: float) -> None:
    line = 0.205 / height
    label = _TOTAL if row.is_total else _INK
    figure.text(_LABELS, middle + line * 0.15, row.title, fontsize=13, fontweight="bold", color=label, va="bottom")
    since = row.since if row.is_total else f"since {row.since}"
    figure.text(_LABELS, middle - line * 0.15, since, fontsize=9, color=_PALE, va="top")
    names = [f"p{round(quantile * 100)}" for quantile in QUANTILES]
    values = [duration(value_s) for value_s in row.quantiles_s()]
    top = middle + line * 1.5
    for place, (name, value, dashes) in enumerate(zip(names, values, _DASHES, strict=True)):
        y = top - place * line
        figure.add_artist(Line2D([_NUMBERS, _NUMBERS + 0.018], [y, y], color=_INK, linewidth=1.3, linestyle=dashes))
        figure.text(_NUMBERS + 0.024, y, name, fontsize=9.5, color=_PALE, va="center")
        weight = "bold" if place == 0 else "normal"
        figure.text(0.978, y, value, fontsize=10.5, fontweight=weight, va="center", ha="right")
    figure.text(_NUMBERS + 0.024, top - 3 * line, "n", fontsize=9.5, color=_PALE, va="center")
    figure.text(0.978, top - 3 * line, f"{row.values_s.size:,}", fontsize=10.5, va="center", ha="right")


def _shade(figure: Figure, bottom: float, share: float) -> None:
    figure.add_artist(
        Rectangle(
            (0.012, bottom),
            0.976,
            share,
            transform=figure.transFigure,
            facecolor="#f3f7f5",
            edgecolor="none",
            zorder=-1,
        )
    )


def _time_axis(axes: Axes, longest_s: float, *, is_last: bool) -> None:
    factor, unit = span(longest_s)
    end = longest_s if longest_s > 0 else 1.0
    ticks = nice_ticks(0, end / factor, about=8)
    axes.set_xlim(-0.012 * end, 1.012 * end)
    axes.set_xticks([tick * factor for tick in ticks], [f"{tick:,.4g}" for tick in ticks] if is_last else [])
    axes.tick_params(axis="x", length=0 if not is_last else 3, labelsize=9)
    if is_last:
        axes.set_xlabel(f"time of submission, {unit} since the first", fontsize=10, labelpad=4)


def _write_around(figure: Figure, rows: Sequence[Row], captions: Captions, height: float) -> None:
    lines = (
        (1 - 0.34 / height, captions.title, 21.0, _INK, "bold"),
        (1 - 0.70 / height, captions.subtitle, 11.5, _PALE, "normal"),
        (0.36 / height, captions.trust, 9.0, _PALE, "normal"),
        (0.17 / height, captions.origin, 9.0, _PALE, "normal"),
    )
    room = (1 - 2 * _LABELS) * figure.bbox.width
    for y, text, largest, colour, weight in lines:
        points = largest
        written = figure.text(_LABELS, y, text, fontsize=points, color=colour, fontweight=weight, va="center")
        while written.get_window_extent().width > room:
            points *= 0.95
            written.set_fontsize(points)
    heads = ((_LEFT[0], "over submission time"), (_RIGHT[0], "how many workloads"))
    for x, text in heads:
        figure.text(x, 1 - 1.08 / height, text, fontsize=9.5, color=_PALE, va="center")
    _write_legend(figure, rows, height)


def _write_legend(figure: Figure, rows: Sequence[Row], height: float) -> None:
    shown = [
        Line2D([], [], linestyle="none", marker="|", markersize=9, markeredgewidth=1.8, color=_BOUNDS),
    ]
    names = ["bounds"]
    if any(row.medians_s() is not None for row in rows):
        shown.append(Line2D([], [], color=_INK, linewidth=1.5))
        names.append("running median")
    if any(row.marked.any() for row in rows):
        shown.append(Line2D([], [], linestyle="none", marker="x", markersize=6, markeredgewidth=1.4, color=_WRONG))
        names.append("erroneous or incomplete")
    if any(row.never_s.size for row in rows):
        shown.append(Line2D([], [], linestyle="none", marker="|", markersize=9, markeredgewidth=1.2, color=_WRONG))
        names.append("never got there")
    figure.legend(
        shown,
        names,
        loc="center right",
        bbox_to_anchor=(_LEFT[0] + _LEFT[1] + 0.005, 1 - 1.08 / height),
        ncols=len(shown),
        frameon=False,
        fontsize=9.5,
        labelcolor=_PALE,
        handlelength=1.4,
        columnspacing=1.4,
        borderpad=0,
    )


def _dots(count: int) -> tuple[float, float]:
    """Size in points and opacity of so many dots: together about as much ink."""
    for most, size, alpha in ((60, 6.0, 0.9), (300, 4.5, 0.75), (2_000, 3.2, 0.5), (8_000, 2.4, 0.3)):
        if count <= most:
            return size, alpha
    return 2.0, 0.18
