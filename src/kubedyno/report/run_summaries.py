"""The files that a scenario itself wrote, on the page of its run: each with a link, and the figures that it has."""

import contextlib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from kubedyno.report.markup import line, number

_FEW: Final = 8
"""Longer tables are folded, and those without anything but zeros."""
_SHOWN: Final = 100
"""Of a table; the rest is in its file."""


class _Item(msgspec.Struct, frozen=True):
    """Some figures of one unit."""

    data: dict[str, float]
    unit: str = ""
    labels: dict[str, str] = {}


class _Items(msgspec.Struct, frozen=True):
    """A file of them, as perfdash reads it."""

    items: list[_Item] = msgspec.field(name="dataItems")


def section(folder: Path, files: Sequence[Path]) -> str:
    """All files; links are relative to the run's folder, where the page is. Empty without files."""
    return f"<h3>Summaries</h3>{''.join(_file(folder, path) for path in files)}" if files else ""


def _file(folder: Path, path: Path) -> str:
    link = f'<a href="{escape(quote(path.relative_to(folder).as_posix()))}">{escape(path.name)}</a>'
    rows = figures(path.read_bytes()) if path.suffix == ".json" else ()
    if not rows:
        return f"<p>{link}</p>"
    says_much = len(rows) <= _FEW and any(value for _, _, data in rows for value in data.values())
    return f"<details{' open' if says_much else ''}><summary>{link}</summary>{_table(rows)}</details>"


def figures(text: bytes) -> tuple[tuple[str, str, Mapping[str, float]], ...]:
    """What a file says in figures: what each is of, its unit, and values by name; nothing of other files."""
    with contextlib.suppress(msgspec.MsgspecError):  # it is of another form
        found = msgspec.json.decode(text, type=_Items).items
        return tuple((_of(one.labels), one.unit, one.data) for one in found if one.data)
    with contextlib.suppress(msgspec.MsgspecError):
        alone = msgspec.json.decode(text, type=dict[str, float])
        return (("", "", alone),) if alone else ()
    return ()


def _of(labels: Mapping[str, str]) -> str:
    """The metric first; its name needs no key."""
    others = (f"{name}={value}" for name, value in labels.items() if name != "Metric")
    return ", ".join(filter(None, (labels.get("Metric", ""), *others)))


def _table(rows: Sequence[tuple[str, str, Mapping[str, float]]]) -> str:
    names = list(dict.fromkeys(name for _, _, data in rows[:_SHOWN] for name in data))
    lines = [line("th", ("", "unit", *map(escape, names)), texts=2)]
    for what, unit, data in rows[:_SHOWN]:
        cells = (number(data[name]) if name in data else "" for name in names)
        lines.append(line("td", (escape(what), escape(unit), *cells), texts=2))
    cut = f"<caption>The first {_SHOWN} of {len(rows):,} lines; the file has all</caption>"
    told = cut if len(rows) > _SHOWN else ""
    return f'<div class="wide"><table>{told}{"".join(lines)}</table></div>'
