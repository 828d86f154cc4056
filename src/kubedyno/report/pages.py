"""A plot as one page of HTML that needs nothing else: the picture, its numbers, and how they were recorded."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from kubedyno.model.samples import SampledFile
from kubedyno.report.captions import Captions
from kubedyno.report.markup import line
from kubedyno.report.rows import Row, figures
from kubedyno.report.scales import duration

_STYLE: Final = """\
body { margin: 0 auto; max-width: 1600px; padding: 1rem 2rem 3rem; color: #1f2933; background: #fff;
  font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; }
svg { width: 100%; height: auto; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem; border-bottom: 1px solid #e4e7eb; text-align: right; white-space: nowrap; }
th { color: #616e7c; font-weight: normal; }
th.text, td.text { text-align: left; white-space: normal; }
tr.total { background: #f3f7f5; font-weight: bold; }
"""
_NUMBERS: Final = ("min", "mean", "p50", "p90", "p99", "max", "bounds")


def page(rows: Sequence[Row], captions: Captions, sampled: SampledFile, svg: bytes) -> str:
    """The page; `svg` is the picture of these rows."""
    text = svg.decode()
    picture = text[text.index("<svg") :]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(captions.title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>\n{_STYLE}</style></head><body>",
            f"<main>\n{picture}",
            "<h2>In numbers</h2>",
            _numbers(rows),
            "<p>Bounds: the middle of what a delta can have been at most less what it can have been at least.</p>",
            "<h2>Recordings</h2>",
            _recordings(sampled),
            f"<p>{escape(captions.trust)}<br>{escape(captions.origin)}</p>",
            "</main></body></html>\n",
        ]
    )


def _numbers(rows: Sequence[Row]) -> str:
    head = _line("th", ("step", "counted", "n", *_NUMBERS), texts=2)
    lines = []
    for row, numbers in zip(rows, figures(rows), strict=True):
        since = numbers["since"] if row.is_total else f"since {numbers['since']}"
        cells = (numbers["step"], since, f"{numbers['n']:,}", *(duration(float(numbers[name])) for name in _NUMBERS))
        lines.append(_line("td", cells, texts=2, kind="total" if row.is_total else ""))
    return "\n".join(["<table>", head, *lines, "</table>"])


def _recordings(sampled: SampledFile) -> str:
    if not sampled.recordings:
        return "<p>Nothing was recorded: all times but the submitter's are stamps that the server keeps.</p>"
    lines = [_line("th", ("whole", "why", "lag p50", "lag p99", "lag max", "cuts", "lists anew"), texts=2)]
    for recording in sampled.recordings:
        lag = recording.lag
        lags = (duration(lag.p50_s), duration(lag.p99_s), duration(lag.max_s)) if lag else ("unknown",) * 3
        cuts = sum(watch.cuts for watch in recording.watches)
        relists = sum(watch.relists for watch in recording.watches)
        lines.append(_line("td", ("yes" if recording.whole else "no", recording.proof, *lags, cuts, relists), texts=2))
    return "\n".join(["<table>", *lines, "</table>"])


def _line(tag: str, cells: Iterable[object], *, texts: int, kind: str = "") -> str:
    return line(tag, (escape(str(cell)) for cell in cells), texts=texts, kind=kind)
