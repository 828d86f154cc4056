from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from kubedyno.measure.records import RunRecord, TrialRecord, Verdict
from kubedyno.results.ginkgo import ginkgo, go_duration
from kubedyno.results.junit import junit
from kubedyno.results.kai_results import kai_results
from kubedyno.results.log_lines import complaints
from kubedyno.results.markdown import markdown
from kubedyno.results.publishing.foreign_rows import foreign_row
from kubedyno.results.publishing.manifest import Entry

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
    (suite,) = msgspec.json.decode(msgspec.json.encode(ginkgo(run, trials, {})))
    assert (suite["SuitePath"], suite["SuiteDescription"]) == (run.id, "kubedyno")
    assert suite["SuiteSucceeded"] is False
    assert (suite["StartTime"], suite["EndTime"]) == (run.started_at, run.started_at)
    assert suite["RunTime"] == 9_000_000_000
    figures = '{"scheduler":"kai","engine":"local","nodes":4,"time (s)":1.25}'
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
            {"Name": "Test Metrics", "Visibility": "always", "Value": {"AsJSON": figures, "Representation": figures}},
            {"Name": "time", "Visibility": "always", "Value": {"Representation": "1.250000 s"}},
        ],
    }
    states = [spec["State"] for spec in suite["SpecReports"]]
    assert states == ["passed", "failed", "panicked", "failed", "interrupted", "panicked"]
    messages = [spec["Failure"]["Message"] for spec in suite["SpecReports"][1:]]
    assert messages[1:] == ["etcd exited", "stalled", "interrupted", "crashed"]


def test_a_run_without_blemish_succeeded(run: RunRecord, trial: Trial) -> None:
    ended = msgspec.structs.replace(run, verdict=Verdict.PASSED, ended_at="2026-01-02T04:00:00.000000Z")
    (suite,) = ginkgo(ended, [trial()], {})
    assert suite["SuiteSucceeded"] is True
    assert suite["EndTime"] == "2026-01-02T04:00:00.000000Z"


def test_every_verdict_has_a_ginkgo_state(run: RunRecord, trial: Trial) -> None:
    for verdict in Verdict:
        (suite,) = ginkgo(run, [trial(verdict=verdict)], {})
        assert suite["SpecReports"][0]["State"] in {"passed", "failed", "panicked", "interrupted", "skipped"}


def test_what_does_not_apply_is_skipped_with_its_reason(run: RunRecord, trial: Trial) -> None:
    one = trial(verdict=Verdict.NOT_APPLICABLE, message="it has no queues")
    (suite,) = ginkgo(run, [one], {})
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


def test_what_logs_complain_of_is_with_the_trial(run: RunRecord, trial: Trial) -> None:
    (suite,) = ginkgo(run, [trial(), trial(verdict=Verdict.FAILED)], {1: "E0102 it broke"})
    assert [spec.get("CapturedStdOutErr") for spec in suite["SpecReports"]] == [None, "E0102 it broke"]


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [(0.25, "0.25s"), (4, "4s"), (397.77, "6m37.77s"), (3600, "1h0m0s"), (59.9999, "1m0s"), (7325.5, "2h2m5.5s")],
)
def test_durations_are_written_as_go_does(duration_s: float, text: str) -> None:
    assert go_duration(duration_s) == text


def test_kais_shape_has_kais_names_where_a_scenario_mirrors_a_spec(trial: Trial) -> None:
    fill = trial(scenario="kai/fill", parameters={"nodes": 500}, timed_s=397.77)
    waiting = trial(scenario="kai/fill-with-pending", parameters={"nodes": 500})
    many = trial(scenario="kai/reclaim-many", parameters={"nodes": 500}, verdict=Verdict.FAILED, message="no")
    skipped = trial(scenario="kai/fractions", verdict=Verdict.NOT_APPLICABLE)
    found = kai_results([fill, waiting, many, skipped])
    assert found["status"] == "failure"
    assert [(test["test_name"], test["status"]) for test in found["tests"]] == [
        ("Fill Cluster with single GPU Jobs", "success"),
        ("Fill Cluster with single GPU Jobs with 400 pending tasks in background", "success"),
        ("Reclaim 4000 single GPU Jobs", "failure"),
    ]
    assert found["tests"][0]["details"] == {
        "scenario": "kai/fill",
        "scheduler": "kai",
        "engine": "local",
        "nodes": 500,
        "time (s)": 1.25,
        "time": "6m37.77s",
    }


def test_what_we_write_for_others_we_read_ourselves(run: RunRecord, trial: Trial) -> None:
    entry = Entry(timestamp=run.started_at, path="Public/x/report.json")
    trials = [trial(timed_s=4.0), trial(scenario="b", verdict=Verdict.FAILED, message="n-1 is crowded")]
    for document, source in ((ginkgo(run, trials, {}), "ginkgo"), (kai_results(trials), "kai")):
        row = foreign_row(msgspec.json.encode(document), entry)
        assert (row.source, row.status, [test.status for test in row.tests]) == (source, "failed", ["passed", "failed"])
        assert {one.name: one.value for one in row.tests[0].figures} == {"time": 4.0, "time (s)": 1.25}


def test_markdown_is_a_table_whose_cells_are_text(run: RunRecord, trial: Trial) -> None:
    failed = trial(scenario="a|b<script>", verdict=Verdict.FAILED, message="first\n# second")
    text = markdown(msgspec.structs.replace(run, verdict=Verdict.FAILED), [trial(), failed])
    assert text.startswith("## kubedyno: failed\n\n`20260102-030405-a1b2c3`, 2026-01-02T03:04:05.000000Z, kubedyno 0.1")
    assert "| hello | kai | local | passed | 1.5 s |" in text
    assert "| a\\|b&lt;script&gt; | kai | local | failed | 1.5 s |" in text
    assert "\n    first\n    # second\n" in text
    assert "| time | s | 1.25 | 1 to 1.5 |" in text
    assert "<script>" not in text


def test_of_logs_the_last_complaints_are_taken_without_reading_them_whole(tmp_path: Path) -> None:
    (tmp_path / "quiet.log").write_text("I0102 all is well\n")
    klog = [f"E0102 03:04:05 {number} it broke" for number in range(50)]
    (tmp_path / "api.log").write_text("\n".join(["I0102 begin", *klog, "I0102 end"]))
    with (tmp_path / "big.log").open("wb") as file:
        file.write(b"panic: long ago\n")
        file.truncate(600 * 2**20)  # a hole: it takes no space on the disk
        file.seek(0, 2)
        file.write(b"\n\x1b[31mERROR\x1b[0m " + b"x" * 500 + b"\n")
    (tmp_path / "zap.log").write_text('{"level":"error","msg":"etcd"}\n{"level":"info"}\n')
    lines = complaints(tmp_path).splitlines()
    assert [line for line in lines if line.startswith("==>")] == [
        "==> api.log <==",
        "==> big.log <==",
        "==> zap.log <==",
    ]
    assert lines[1:41] == klog[10:]
    assert lines[42] == f"ERROR {'x' * 394}…"
    assert "long ago" not in complaints(tmp_path)
