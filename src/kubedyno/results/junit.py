"""A run as JUnit XML. Pure."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kubedyno.kit.xmltext import for_xml
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict


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
        message = for_xml(trial.message)
        if trial.verdict == Verdict.FAILED:
            ET.SubElement(case, "failure", message=message)
        elif trial.verdict == Verdict.NOT_APPLICABLE:
            ET.SubElement(case, "skipped", message=message)
        elif trial.verdict != Verdict.PASSED:
            ET.SubElement(case, "error", message=message, type=trial.verdict)
    rendered: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return rendered
