"""The rows of our own runs in the index of a store. Pure."""

from collections.abc import Sequence
from typing import Any

from kubedyno.measure.records import Measurement, RunRecord, TrialRecord
from kubedyno.results.publishing.manifest import report_path
from kubedyno.results.publishing.rows import FigureRow, RunRow, TestRow, series_of, shortened


def row_of(run: RunRecord, trials: Sequence[TrialRecord], *, commit: str, ref: str) -> RunRow:
    """A run as the index holds it."""
    host = run.host
    return RunRow(
        id=run.id,
        path=report_path(run.id),
        started_at=run.started_at,
        source="kubedyno",
        status=str(run.verdict or "crashed"),
        commit=commit,
        ref=ref,
        versions={"kubedyno": run.kubedyno, **{name: program.version for name, program in run.programs.items()}},
        host=f"{host.cores} processors, {host.memory_bytes / 2**30:.0f} GiB, {host.architecture}",
        tests=tuple(_test(run, trial, summary.folder) for trial, summary in zip(trials, run.trials, strict=True)),
    )


def _test(run: RunRecord, trial: TrialRecord, folder: str) -> TestRow:
    configuration = configuration_of(run, trial)
    nodes = trial.parameters.get("nodes")
    return TestRow(
        name=trial.scenario,
        series=series_of({"name": trial.scenario, **configuration}),
        status=str(trial.verdict),
        duration_s=trial.duration_s,
        scheduler=trial.subject,
        engine=trial.engine,
        nodes=nodes if isinstance(nodes, int) else None,
        repeat=trial.repeat,
        tags=trial.tags,
        configuration=configuration,
        message=shortened(trial.message),
        folder=folder,
        figures=tuple(_figure(one) for one in (*trial.measurements, *trial.quality)),
    )


def configuration_of(run: RunRecord, trial: TrialRecord) -> dict[str, Any]:
    """What must be alike for two trials to be points of one line.

    Versions are not in it: how figures change with them is what a line shows.
    """
    return {
        "scheduler": trial.subject,
        "engine": trial.engine,
        "time": trial.time,
        "kubelet": trial.kubelet,
        "profile": trial.profile,
        "processors": run.host.cores,
        "architecture": run.host.architecture,
        **{f"-p {name}": value for name, value in sorted(trial.parameters.items())},
    }


def _figure(measurement: Measurement) -> FigureRow:
    return FigureRow(
        name=measurement.name,
        unit=measurement.unit,
        value=measurement.value,
        lower=measurement.lower,
        upper=measurement.upper,
    )
