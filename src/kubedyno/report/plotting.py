"""From the files of a submission to its table and pictures."""

from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.kit.durable import write_atomic
from kubedyno.kit.errors import CheckFailed, UsageError
from kubedyno.model.lifecycles import Plot
from kubedyno.report import times
from kubedyno.report.captions import captions, wrong
from kubedyno.report.choosing import choose
from kubedyno.report.reading import read_sampled
from kubedyno.report.ways import MICROSECOND_NS, cut, join
from kubedyno.workload.journal import read_folder

Format: TypeAlias = Literal["png", "svg", "html"]

TIMES: Final = "times.csv"


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be made of a submission."""

    plot: Plot = "general"
    skip_errors: bool = True
    """Leave workloads with erroneous or missing times out of the pictures; else they are drawn, marked."""
    head: int | None = None
    tail: int | None = None
    """Of the first `head` workloads the last `tail`, in the order of submission; None: all."""
    formats: tuple[Format, ...] = ("png",)
    resolution_ns: int = MICROSECOND_NS


class Plotted(msgspec.Struct, frozen=True, kw_only=True):
    """What was made."""

    files: tuple[Path, ...]
    workloads: int
    """Lines of the table."""
    drawn: int
    wrong: str
    """How many workloads are not in order, and why; empty: none."""


def plot(folder: Path, wish: Wish) -> Plotted:
    """Write the table and the pictures of a submission into its folder.

    Without a workload to draw the table is written all the same, and CheckFailed says why there is no picture.
    """
    submitted = read_folder(folder)
    sampled = read_sampled(folder, submitted)
    ways = cut(join(submitted, sampled, resolution_ns=wish.resolution_ns), head=wish.head, tail=wish.tail)
    table = folder / TIMES
    _write(table, times.table(ways, resolution_ns=wish.resolution_ns))
    steps = sampled.general if wish.plot == "general" else sampled.detailed
    chosen = choose(ways, steps, skip_errors=wish.skip_errors)
    why = wrong(len(ways), chosen, skip_errors=wish.skip_errors)
    if not chosen.drawn or not chosen.deltas:
        raise CheckFailed(f"{folder}: there is nothing to draw: {why or 'no workload'}; {table} holds what is known")
    files = [table]
    # Here, and not before: it takes a second to import.
    from kubedyno.report import figures, pages  # noqa: PLC0415
    from kubedyno.report.rows import rows  # noqa: PLC0415

    made = rows(chosen)
    words = captions(submitted, sampled, ways, chosen, skip_errors=wish.skip_errors)
    for form in wish.formats:
        path = folder / f"{wish.plot}.{form}"
        picture = figures.draw(made, words, "png" if form == "png" else "svg")
        _write(path, pages.page(made, words, sampled, picture) if form == "html" else picture)
        files.append(path)
    return Plotted(files=tuple(files), workloads=len(ways), drawn=len(chosen.drawn), wrong=why)


def _write(path: Path, data: str | bytes) -> None:
    try:
        write_atomic(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; free some space, or copy the folder") from error
