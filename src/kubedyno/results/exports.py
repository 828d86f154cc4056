"""A run as other tools read it: a Ginkgo JSON report and JUnit XML."""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict

# Logs are quoted in messages, and may hold what XML cannot, not even escaped: the colours of a terminal, for one.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_GINKGO_STATES = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.INVALID: "failed",
    Verdict.SUSPECT: "failed",
    Verdict.NOT_APPLICABLE: "skipped",
    Verdict.ERROR: "panicked",
    Verdict.CRASHED: "panicked",
    Verdict.INTERRUPTED: "interrupted",
}


def ginkgo(run: RunRecord, trials: Sequence[TrialRecord]) -> list[dict[str, Any]]:
    """An array of one suite with a SpecReport per trial: its tags are the containers, measurements report entries."""
    return [
        {
            "SuitePath": run.id,
            "SuiteDescription": "kubedyno",
            "SuiteSucceeded": run.verdict == Verdict.PASSED,
            "StartTime": run.started_at,
            "EndTime": run.ended_at or run.started_at,
            "RunTime": round(sum(trial.duration_s for trial in trials) * NS_PER_S),
            "SpecReports": [_spec(trial) for trial in trials],
        }
    ]


def _spec(trial: TrialRecord) -> dict[str, Any]:
    report: dict[str, Any] = {
        "ContainerHierarchyTexts": list(trial.tags),
        "ContainerHierarchyLabels": [[] for _ in trial.tags],
        "LeafNodeType": "It",
        "LeafNodeText": f"{trial.scenario} [{trial.scheduler}]",
        "LeafNodeLabels": list(trial.tags),
        "State": _GINKGO_STATES[trial.verdict],
        "StartTime": trial.started_at,
        "RunTime": round(trial.duration_s * NS_PER_S),
        "NumAttempts": 1,
        "ReportEntries": [
            {
                "Name": measurement.name,
                "Visibility": "always",
                "Value": {"Representation": f"{measurement.value:.6f} {measurement.unit}"},
            }
            for measurement in (*trial.measurements, *trial.quality)
        ],
    }
    if trial.verdict != Verdict.PASSED:  # of a spec that was skipped it says why
        report["Failure"] = {"Message": trial.message or trial.verdict}
    return report


def junit(run: RunRecord, trials: Sequence[TrialRecord]) -> bytes:
    """One test suite with a test case per trial; a failed check is a failure, what does not apply is skipped."""
    failures, skipped = (
        sum(trial.verdict == one for trial in trials) for one in (Verdict.FAILED, Verdict.NOT_APPLICABLE)
    )
    errors = sum(trial.verdict != Verdict.PASSED for trial in trials) - failures - skipped
    suite = ET.Element(
        "testsuite",
        name="kubedyno",
        id=run.id,
        timestamp=run.started_at,
        tests=str(len(trials)),
        failures=str(failures),
        errors=str(errors),
        skipped=str(skipped),
        time=f"{sum(trial.duration_s for trial in trials):.6f}",
    )
    for trial in trials:
        case = ET.SubElement(
            suite,
            "testcase",
            name=trial.scenario,
            classname=f"{trial.engine}.{trial.scheduler}",
            time=f"{trial.duration_s:.6f}",
        )
        message = _NOT_IN_XML.sub("\ufffd", trial.message)
        if trial.verdict == Verdict.FAILED:
            ET.SubElement(case, "failure", message=message)
        elif trial.verdict == Verdict.NOT_APPLICABLE:
            ET.SubElement(case, "skipped", message=message)
        elif trial.verdict != Verdict.PASSED:
            ET.SubElement(case, "error", message=message, type=trial.verdict)
    rendered: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return rendered
