"""A run as a Ginkgo JSON report, as KAI's dashboard and others read it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.records import Measurement, RunRecord, TrialRecord, Verdict

_STATES: Final = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.INVALID: "failed",
    Verdict.SUSPECT: "failed",
    Verdict.NOT_APPLICABLE: "skipped",
    Verdict.ERROR: "panicked",
    Verdict.CRASHED: "panicked",
    Verdict.INTERRUPTED: "interrupted",
}
_FIGURES: Final = "Test Metrics"
"""The entry in which KAI's dashboard looks for what was measured."""


def ginkgo(run: RunRecord, trials: Sequence[TrialRecord], logs: Mapping[int, str]) -> list[dict[str, Any]]:
    """An array of one suite with a SpecReport per trial: its tags are the containers, measurements report entries.

    `logs` are the lines of logs that belong to a trial, by its place.
    """
    return [
        {
            "SuitePath": run.id,
            "SuiteDescription": "kubedyno",
            "SuiteSucceeded": run.verdict == Verdict.PASSED,
            "PreRunStats": {"TotalSpecs": len(trials), "SpecsThatWillRun": len(trials)},
            "StartTime": run.started_at,
            "EndTime": run.ended_at or run.started_at,
            "RunTime": round(sum(trial.duration_s for trial in trials) * NS_PER_S),
            "SpecReports": [_spec(trial, logs.get(place, "")) for place, trial in enumerate(trials)],
        }
    ]


def _spec(trial: TrialRecord, log: str) -> dict[str, Any]:
    measured = (*trial.measurements, *trial.quality)
    report: dict[str, Any] = {
        "ContainerHierarchyTexts": list(trial.tags),
        "ContainerHierarchyLabels": [[] for _ in trial.tags],
        "LeafNodeType": "It",
        "LeafNodeText": f"{trial.scenario} [{trial.subject}]",
        "LeafNodeLabels": list(trial.tags),
        "State": _STATES[trial.verdict],
        "StartTime": trial.started_at,
        "RunTime": round(trial.duration_s * NS_PER_S),
        "NumAttempts": 1,
        "ReportEntries": [_figures(trial, measured), *(_entry(one) for one in measured)],
    }
    if log:
        report["CapturedStdOutErr"] = log
    if trial.verdict != Verdict.PASSED:  # of a spec that was skipped it says why
        report["Failure"] = {"Message": trial.message or trial.verdict}
    return report


def _figures(trial: TrialRecord, measured: Sequence[Measurement]) -> dict[str, Any]:
    """All of it in one entry, JSON within JSON: what was configured, and figures with their units in their names."""
    told: dict[str, Any] = {"scheduler": trial.subject, "engine": trial.engine, **trial.parameters}
    if trial.timed_s is not None:
        told["time"] = go_duration(trial.timed_s)
    told |= labelled(measured)
    text = msgspec.json.encode(told).decode()
    return {"Name": _FIGURES, "Visibility": "always", "Value": {"AsJSON": text, "Representation": text}}


def labelled(measured: Sequence[Measurement]) -> dict[str, float]:
    """Values by name, with the unit in it."""
    return {f"{one.name} ({one.unit})" if one.unit else one.name: one.value for one in measured}


def _entry(measurement: Measurement) -> dict[str, Any]:
    return {
        "Name": measurement.name,
        "Visibility": "always",
        "Value": {"Representation": f"{measurement.value:.6f} {measurement.unit}"},
    }


def go_duration(duration_s: float) -> str:
    """Seconds as Go writes them from a second on: `6m37.77s`."""
    minutes, seconds = divmod(round(duration_s, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    written = f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{written}"
    return f"{minutes}m{written}" if minutes else written
