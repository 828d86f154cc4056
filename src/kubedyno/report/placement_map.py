"""The map of a trial on the page of its run: data for the script that draws it, its controls, and the same in words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any, Final

import msgspec

from kubedyno.report.markup import line
from kubedyno.report.placement import Placement

MOST_CELLS: Final = 60_000
"""On a page, all trials together: it must still open at once."""
_LINES: Final = 40
_NODES: Final = 8
"""So many nodes of a workload are named."""


def script() -> str:
    """The element that draws all maps of a page."""
    text = (resources.files("kubedyno.report") / "placement_map.js").read_text(encoding="utf-8")
    return f"<script>\n{text}</script>"


def section(made: Placement, *, trial: int) -> str:
    """The map; `trial` tells it from others on the page. Empty without cells."""
    if not made.cells:
        return ""
    return f"<h3>Where workloads sat</h3><p>{escape(told(made))}</p>{_controls(made, trial)}{_words(made)}"


def left_out(made: Placement) -> str:
    """What stands in place of a map that the page has no room for."""
    return (
        f"<h3>Where workloads sat</h3><p>{len(made.cells):,} places are too many for this page beside the other maps: "
        f"make one of this trial alone, or read pods.parquet.</p>{_words(made)}"
    )


def told(made: Placement) -> str:
    """What a cell of this map is, and what nobody recorded."""
    named = sum(cell.device is not None for cell in made.cells)
    if named == len(made.cells):
        cell = "A cell is a device, in the order of their names; its claim says which."
    elif made.is_by_gpu:
        cell = (
            "A cell is a GPU; which of its node's a pod has, nobody records: they fill in the order of binding. A part "
            "of a GPU is drawn as a whole one, and pods without any are not shown."
        )
    else:
        cell = "A cell is a pod: no pod holds a GPU, or nobody recorded how many. Cells fill in the order of binding."
    if 0 < named < len(made.cells):
        cell = f"{cell} Where a claim says which devices a pod has, these are its cells."
    many = f"{len(made.workloads):,} workloads on {len(made.nodes):,} nodes"
    idle = "" if made.is_complete else "; nodes that never had a pod are not shown"
    size = "Every node is drawn with as many cells as the largest one has."
    return f"{many}{idle}. {cell} {size} Workloads of one cell share a grey."


def data(made: Placement) -> bytes:
    """The map as JSON for the script, columns for the cells; no `<` is in it, so it can end no element.

    Names are told by how much they share with the one before, times by their distance from the one before.
    """
    since = [cell.since_ms for cell in made.cells]
    columns: dict[str, Any] = {
        "nodes": _shortened(made.nodes),
        "groups": made.groups,
        "slots": made.slots,
        "workloads": _shortened(made.workloads),
        "node": [cell.node for cell in made.cells],
        "slot": [cell.slot for cell in made.cells],
        "workload": [cell.workload for cell in made.cells],
        "since": [later - sooner for sooner, later in zip((0, *since), since, strict=False)],
        "until": {str(place): cell.until_ms for place, cell in enumerate(made.cells) if cell.until_ms is not None},
        "device": {str(place): cell.device for place, cell in enumerate(made.cells) if cell.device is not None},
    }
    return msgspec.json.encode(columns).replace(b"<", b"\\u003c")


def _shortened(names: Iterable[str]) -> list[int | str]:
    """In turn: how many characters a name shares with the one before, and the rest of it."""
    short: list[int | str] = []
    before = ""
    for name in names:
        pairs = enumerate(zip(before, name, strict=False))
        shared = next((place for place, (one, other) in pairs if one != other), min(len(before), len(name)))
        short += (shared, name[shared:])
        before = name
    return short


def _controls(made: Placement, trial: int) -> str:
    fullest_ms = made.fullest_ms()
    return (
        f'<div class="map" id="map-{trial}">'
        '<div class="controls">'
        '<button type="button" data-do="in" aria-label="larger">+</button>'
        '<button type="button" data-do="out" aria-label="smaller">\N{MINUS SIGN}</button>'
        '<button type="button" data-do="whole">whole map</button>'
        f'<label>moment <input type="range" data-do="moment" min="0" max="{made.end_ms}" value="{fullest_ms}"></label>'
        f'<output class="moment">{fullest_ms / 1000:.3f} s</output>'
        '<label>find <input type="search" data-do="find" placeholder="node or workload"></label>'
        "</div>"
        f'<canvas tabindex="0" role="img" aria-label="Map of {len(made.nodes):,} nodes; the table below has it in '
        'words. Plus and minus zoom, arrows move."></canvas>'
        '<p class="about" aria-live="polite">Point at a cell, or look for a name. Click a cell to see its whole '
        "workload. The wheel zooms once the map was clicked.</p>"
        f'<script type="application/json">{data(made).decode()}</script></div>'
    )


def _words(made: Placement) -> str:
    """The workloads with most cells, and on which nodes they were."""
    nodes: dict[int, Counter[int]] = {}
    for cell in made.cells:
        nodes.setdefault(cell.workload, Counter())[cell.node] += 1
    largest = sorted(nodes, key=lambda workload: (-nodes[workload].total(), workload))
    lines = [line("th", ("workload", "on", "cells", "nodes"), texts=2)]
    for workload in largest[:_LINES]:
        on = nodes[workload]
        cells = (escape(made.workloads[workload]), escape(_named(made.nodes, on)), f"{on.total():,}", f"{len(on):,}")
        lines.append(line("td", cells, texts=2))
    cut = f"the largest {_LINES} of {len(largest):,}; pods.parquet has all" if len(largest) > _LINES else "all"
    return (
        f"<details><summary>The map in words: {cut}</summary>"
        f'<div class="wide"><table>{"".join(lines)}</table></div></details>'
    )


def _named(names: Sequence[str], on: Counter[int]) -> str:
    shown = ", ".join(
        f"{names[node]} ({count})" if count > 1 else names[node] for node, count in on.most_common(_NODES)
    )
    return f"{shown}, and {len(on) - _NODES:,} more" if len(on) > _NODES else shown
