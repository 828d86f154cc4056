"""Where a run's records go; `results` implements it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kubedyno.measure.columns import Lived, ObjectRow, SeriesRow
from kubedyno.measure.records import RunRecord, TrialRecord, TrialSummary


class Sink(Protocol):
    """Takes what a run records, as it goes: after a crash what was given is still there."""

    def begin(self, run: RunRecord) -> None:
        """A run starts."""
        ...

    def trial(
        self,
        record: TrialRecord,
        *,
        objects: Iterable[Sequence[ObjectRow]],
        series: Iterable[Sequence[SeriesRow]],
        lived: Lived,
        summaries: Mapping[str, str | bytes],
        logs: Path | None,
    ) -> TrialSummary:
        """A trial is over; rows come some thousands at a time, `logs` is the folder with the logs of its components.

        `summaries` are files that the scenario itself made: their content by name.
        """
        ...

    def end(self, run: RunRecord) -> Path:
        """The run is over; where its records are."""
        ...
