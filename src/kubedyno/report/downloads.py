"""The raw data of a run, as links on its page: they work wherever the page lies beside the files."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

OF_RUNS: Final = {
    "run.json": "the run: command, host, programs, trials",
    "report.json": "as a Ginkgo report",
    "junit.xml": "as JUnit XML",
    "summary.md": "in Markdown",
    "kwok_scale_test.json": "as KAI's scale tests write it",
}
OF_TRIALS: Final = {
    "trial.json": "parameters, settings, measurements with all samples, checks, audit",
    "objects.parquet": "each phase of each object, with bounds",
    "series.parquet": "curves over time",
    "pods.parquet": "each pod, with its GPUs",
    "nodes.parquet": "each node, with its GPUs",
    "claims.parquet": "each claim of devices",
    "times.csv": "each workload's times",
    "general.png": "the main steps of workloads",
    "detailed.png": "all steps of workloads",
}
_STEP: Final = 1024.0
_UNITS: Final = ("B", "KiB", "MiB", "GiB")


class Download(msgspec.Struct, frozen=True):
    """A file that can be had."""

    path: str
    """Within the run's folder."""
    size: int
    """Bytes."""
    told: str
    """What is in it; empty: its name says so."""


def found(folder: Path, within: Path, names: dict[str, str]) -> tuple[Download, ...]:
    """Which of some files lie in a folder `within` that of the run, and the logs that do."""
    files = [(within / name, told) for name, told in names.items() if (within / name).is_file()]
    logs = [(path, "") for path in sorted((within / "logs").glob("*")) if path.is_file()]
    return tuple(
        Download(path.relative_to(folder).as_posix(), path.stat().st_size, told) for path, told in (*files, *logs)
    )


def section(files: Sequence[Download]) -> str:
    """Links to them, with their sizes; empty without any."""
    if not files:
        return ""
    return f'<h3>Raw data</h3><ul class="downloads">{"".join(_lines(files))}</ul>'


def _lines(files: Iterable[Download]) -> Iterable[str]:
    for one in files:
        told = f": {escape(one.told)}" if one.told else ""
        address, name = escape(quote(one.path)), escape("/".join(_shown(one.path)))
        yield f'<li><a href="{address}" download>{name}</a> <small>{size(one.size)}</small>{told}</li>'


def _shown(path: str) -> Sequence[str]:
    """A log with its folder, other files by their names."""
    parts = path.split("/")
    return parts[-2:] if len(parts) > 1 and parts[-2] == "logs" else parts[-1:]


def size(count: float) -> str:
    """Bytes in the unit that fits."""
    for unit in _UNITS[:-1]:
        if count < _STEP:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= _STEP
    return f"{count:.3g} {_UNITS[-1]}"
