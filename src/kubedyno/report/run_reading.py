"""A run folder, read for its page: the records, and of each trial the times of its pods and its series."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.measure.records import RunRecord, TrialRecord
from kubedyno.results import tables

_MARKS: Final = ("workload", "uid", "role", "phase", "arrival_ns", "lower_ns", "upper_ns")


class Mark(msgspec.Struct, frozen=True, gc=False):
    """An object that reached a phase."""

    uid: str
    role: str
    phase: str
    at_ns: int
    lower_ns: int
    upper_ns: int


class TrialRead(msgspec.Struct, frozen=True, kw_only=True):
    """A trial as its folder tells it."""

    number: int
    folder: Path
    record: TrialRecord
    workloads: dict[str, list[Mark]]
    """What was seen of the objects of each workload, in the order of arrival."""
    series: dict[tuple[str, str], list[tuple[int, float]]]
    """(series, component): times in ns and values."""

    @property
    def title(self) -> str:
        """Its number, scenario and scheduler."""
        return f"{self.number} {self.record.scenario} on {self.record.subject}"

    def pods(self, phase: str) -> dict[str, int]:
        """When each pod first reached a phase, ns, by uid."""
        found: dict[str, int] = {}
        for marks in self.workloads.values():
            for mark in marks:
                if mark.role == "pod" and mark.phase == phase:
                    found.setdefault(mark.uid, mark.at_ns)
        return found


class RunRead(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its folder tells it."""

    folder: Path
    record: RunRecord
    trials: tuple[TrialRead, ...]


def read(folder: Path) -> RunRead:
    """The run in a folder; UsageError when it is none."""
    try:
        record = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{folder} is no folder of a run: {error}") from error
    trials = tuple(
        _trial(number, folder / summary.folder) for number, summary in enumerate(record.trials, 1) if summary.folder
    )
    return RunRead(folder=folder, record=record, trials=trials)


def _trial(number: int, folder: Path) -> TrialRead:
    record = msgspec.json.decode((folder / "trial.json").read_bytes(), type=TrialRecord)
    objects = tables.read_parquet(folder / "objects.parquet", _MARKS)
    workloads: dict[str, list[Mark]] = {}
    for workload, uid, role, phase, at_ns, lower_ns, upper_ns in zip(*(objects[name] for name in _MARKS), strict=True):
        if workload is not None:
            # Without a lower bound nothing is known but when the news arrived.
            workloads.setdefault(workload, []).append(Mark(uid, role, phase, at_ns, lower_ns or at_ns, upper_ns))
    table = tables.read_parquet(folder / "series.parquet", ("time_ns", "series", "component", "value"))
    return TrialRead(
        number=number,
        folder=folder,
        record=record,
        workloads=workloads,
        series=_series(zip(table["time_ns"], table["series"], table["component"], table["value"], strict=True)),
    )


def _series(rows: Iterable[tuple[int, str, str | None, float]]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for time_ns, series, component, value in rows:
        found.setdefault((series, component or ""), []).append((time_ns, value))
    return found
