"""The pictures of a trial: its workloads' ways, drawn as those of a submission are."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.durable import write_atomic
from kubedyno.report.captions import Captions
from kubedyno.report.rows import Row
from kubedyno.report.run_reading import Mark, TrialRead

Pick: TypeAlias = Literal["first", "last"]

_STEPS: Final[tuple[tuple[str, str, str, Pick], ...]] = (
    ("job created", "job", "created", "first"),
    ("pod group created", "podgroup", "created", "first"),
    ("admitted", "workload", "admitted", "first"),
    ("first pod created", "pod", "created", "first"),
    ("last pod decided", "decision", "created", "last"),
    ("last pod bound", "pod", "scheduled", "last"),
    ("last pod running", "pod", "running", "last"),
)
"""Title, role, phase and which of several, in the order of a workload's way."""
_GENERAL: Final = frozenset({"first pod created", "last pod bound", "last pod running"})

PICTURES: Final = ("general.png", "detailed.png")


def write(trial: TrialRead) -> tuple[Path, ...]:
    """Draw a trial into its folder; empty when no workload went from creation to binding."""
    from kubedyno.report import figures  # noqa: PLC0415 - takes a second to import

    written = []
    ways = [way_of(marks) for marks in trial.workloads.values()]
    for name, titles in zip(PICTURES, (_GENERAL, frozenset(title for title, *_ in _STEPS)), strict=True):
        made = _rows(ways, [title for title, *_ in _STEPS if title in titles])
        rows = tuple(row for row in made if row.values_s.size)
        if not rows:
            return ()
        path = trial.folder / name
        write_atomic(path, figures.draw(rows, _captions(trial, ways), "png"))
        written.append(path)
    return tuple(written)


def way_of(marks: Sequence[Mark]) -> dict[str, Mark]:
    """The object that made each step of a workload. Pods that replace evicted ones do not count."""
    way: dict[str, Mark] = {}
    evicted_ns = min((mark.at_ns for mark in marks if mark.role == "pod" and mark.phase == "deleted"), default=None)
    for title, role, phase, pick in _STEPS:
        reached = [
            mark
            for mark in marks
            if mark.role == role and mark.phase == phase and (evicted_ns is None or mark.at_ns <= evicted_ns)
        ]
        if reached:
            way[title] = (min if pick == "first" else max)(reached, key=lambda mark: mark.at_ns)
    return way


def _rows(ways: Sequence[dict[str, Mark]], titles: Sequence[str]) -> Iterator[Row]:
    """A row for each step that any workload has, since the one before it that all of these have; then the total."""
    known = [title for title in titles if any(title in way for way in ways)]
    if len(known) <= 1:
        return
    since = first = known[0]
    for title in known[1:]:
        yield _row(ways, first, since, title, is_total=False)
        if all(title in way for way in ways):
            since = title
    yield _row(ways, first, first, known[-1], is_total=True)


def _row(ways: Sequence[dict[str, Mark]], first: str, since: str, until: str, *, is_total: bool) -> Row:
    begun = [way for way in ways if first in way and since in way]
    begun_ns = min(way[first].at_ns for way in begun)
    ended = [way for way in begun if until in way]
    table = np.array(
        [
            (
                way[first].at_ns - begun_ns,
                way[until].at_ns - way[since].at_ns,
                way[until].lower_ns - way[since].upper_ns,
                way[until].upper_ns - way[since].lower_ns,
            )
            for way in ended
        ],
        dtype=np.float64,
    ).reshape(-1, 4)
    submitted_s, values_s, lowers_s, uppers_s = table.T / NS_PER_S
    return Row(
        title="total" if is_total else until,
        since=f"{since} to {until}" if is_total else since,
        is_total=is_total,
        submitted_s=submitted_s,
        values_s=values_s,
        lowers_s=np.minimum(values_s, np.maximum(0.0, lowers_s)),
        uppers_s=np.maximum(values_s, uppers_s),
        marked=np.zeros(values_s.size, dtype=np.bool_),
        never_s=np.array(
            [(way[first].at_ns - begun_ns) / NS_PER_S for way in begun if until not in way], dtype=np.float64
        ),
    )


def _captions(trial: TrialRead, ways: Sequence[dict[str, Mark]]) -> Captions:
    record = trial.record
    unbound = sum("last pod bound" not in way for way in ways)
    return Captions(
        title=f"{record.scenario} on {record.subject}, {record.engine} engine",
        subtitle=f"{len(ways):,} workloads" + (f", {unbound:,} never bound" if unbound else "") + f": {record.verdict}",
        trust="Times are arrivals of watch events; objects.parquet has the bounds of each.",
        origin=f"{record.started_at}, seed {record.seed}, profile {record.profile}",
    )
