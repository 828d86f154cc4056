from collections.abc import Callable
from xml.etree import ElementTree as ET

import msgspec
import pytest

from kubedyno.measure.records import RunRecord, TrialRecord, Verdict
from kubedyno.results.exports import ginkgo, junit

pytestmark = pytest.mark.unit

Trial = Callable[..., TrialRecord]


@pytest.fixture
def trials(trial: Trial) -> list[TrialRecord]:
    return [
        trial(),
        trial(scenario="b", verdict=Verdict.FAILED, message='n-1 is <crowded> & "full"\nsecond line'),
        trial(scenario="c", verdict=Verdict.ERROR, message="etcd exited"),
        trial(scenario="d", verdict=Verdict.INVALID, message="stalled"),
        trial(scenario="e", verdict=Verdict.INTERRUPTED, tags=()),
        trial(scenario="f", verdict=Verdict.CRASHED),
    ]


def test_the_ginkgo_report_has_a_spec_for_each_trial(run: RunRecord, trials: list[TrialRecord]) -> None:
    (suite,) = msgspec.json.decode(msgspec.json.encode(ginkgo(run, trials)))
    assert (suite["SuitePath"], suite["SuiteDescription"]) == (run.id, "kubedyno")
    assert suite["SuiteSucceeded"] is False
    assert (suite["StartTime"], suite["EndTime"]) == (run.started_at, run.started_at)
    assert suite["RunTime"] == 9_000_000_000
    assert suite["SpecReports"][0] == {
        "ContainerHierarchyTexts": ["first-steps"],
        "ContainerHierarchyLabels": [[]],
        "LeafNodeType": "It",
        "LeafNodeText": "hello [kai]",
        "LeafNodeLabels": ["first-steps"],
        "State": "passed",
        "StartTime": "2026-01-02T03:04:06.000000Z",
        "RunTime": 1_500_000_000,
        "NumAttempts": 1,
        "ReportEntries": [
            {"Name": "time", "Visibility": "always", "Value": {"Representation": "1.250000 s"}},
        ],
    }
    states = [spec["State"] for spec in suite["SpecReports"]]
    assert states == ["passed", "failed", "panicked", "failed", "interrupted", "panicked"]
    messages = [spec["Failure"]["Message"] for spec in suite["SpecReports"][1:]]
    assert messages[1:] == ["etcd exited", "stalled", "interrupted", "crashed"]


def test_a_run_without_blemish_succeeded(run: RunRecord, trial: Trial) -> None:
    ended = msgspec.structs.replace(run, verdict=Verdict.PASSED, ended_at="2026-01-02T04:00:00.000000Z")
    (suite,) = ginkgo(ended, [trial()])
    assert suite["SuiteSucceeded"] is True
    assert suite["EndTime"] == "2026-01-02T04:00:00.000000Z"


def test_every_verdict_has_a_ginkgo_state(run: RunRecord, trial: Trial) -> None:
    for verdict in Verdict:
        (suite,) = ginkgo(run, [trial(verdict=verdict)])
        assert suite["SpecReports"][0]["State"] in {"passed", "failed", "panicked", "interrupted", "skipped"}


def test_what_does_not_apply_is_skipped_with_its_reason(run: RunRecord, trial: Trial) -> None:
    one = trial(verdict=Verdict.NOT_APPLICABLE, message="it has no queues")
    (suite,) = ginkgo(run, [one])
    (spec,) = suite["SpecReports"]
    assert (spec["State"], spec["Failure"]) == ("skipped", {"Message": "it has no queues"})
    parsed = ET.fromstring(junit(run, [one]))  # noqa: S314 - our own
    assert {key: parsed.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "1",
        "failures": "0",
        "errors": "0",
        "skipped": "1",
    }
    skipped = parsed.find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == "it has no queues"


def test_junit_parses_and_counts(run: RunRecord, trials: list[TrialRecord]) -> None:
    suite = ET.fromstring(junit(run, trials))  # noqa: S314 - our own
    assert suite.tag == "testsuite"
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "time")} == {
        "name": "kubedyno",
        "tests": "6",
        "failures": "1",
        "errors": "4",
        "time": "9.000000",
    }
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == ["hello", "b", "c", "d", "e", "f"]
    assert {case.get("classname") for case in cases} == {"local.kai"}
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures", ""))
    assert len(suite.findall("testcase/error")) == int(suite.get("errors", ""))
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.get("message") == 'n-1 is <crowded> & "full"\nsecond line'
    assert list(cases[0]) == []
    assert [error.get("type") for error in suite.findall("testcase/error")] == [
        "error",
        "invalid",
        "interrupted",
        "crashed",
    ]


@pytest.mark.parametrize("message", ["\x1b[31mred\x1b[0m", "nul \x00 bell \x07", "\ud800 half a pair", "\uffff"])
def test_junit_parses_whatever_a_log_said(run: RunRecord, trial: Trial, message: str) -> None:
    suite = ET.fromstring(junit(run, [trial(verdict=Verdict.ERROR, message=f"etcd said: {message}")]))  # noqa: S314 - our own
    error = suite.find("testcase/error")
    assert error is not None
    assert str(error.get("message")).startswith("etcd said: ")
