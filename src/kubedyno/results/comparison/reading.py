"""Sets of trials from run folders: one run, a folder of runs, and of either one scheduler's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.results.comparison.comparing import Trial
from kubedyno.results.records_read import read_run

_SUBJECT_MARK: Final = "@"


def read_set(reference: str) -> tuple[Trial, ...]:
    """The trials of `FOLDER` or `FOLDER@SCHEDULER`; the folder is a run's, or holds those of several runs."""
    name, mark, subject = reference.rpartition(_SUBJECT_MARK)
    if not mark or Path(reference).exists():
        name, subject = reference, ""
    folders = list(_runs(Path(name)))
    trials = tuple(trial for folder in folders for trial in _trials(folder))
    if not subject:
        return trials
    chosen = tuple(trial for trial in trials if trial.record.subject == subject)
    if not chosen:
        there = sorted({trial.record.subject for trial in trials})
        raise UsageError(f"{name} has no trial on {subject!r}: {suggestion(subject, there)}")
    return chosen


def _runs(path: Path) -> Iterator[Path]:
    if (path / "run.json").is_file():
        yield path
        return
    if not path.is_dir():
        raise UsageError(f"{path} is no folder: name a run's folder, or one that holds several")
    found = sorted(below for below in path.iterdir() if (below / "run.json").is_file())
    if not found:
        unfinished = sorted(below.name for below in path.iterdir() if below.name.endswith(".partial"))
        hint = f"; {unfinished[0]} is not finished" if unfinished else ""
        raise UsageError(f"{path} is no run's folder and holds none: there is no run.json{hint}")
    yield from found


def _trials(folder: Path) -> Iterator[Trial]:
    run, trials = read_run(folder)
    return (Trial(run, trial) for trial in trials)
