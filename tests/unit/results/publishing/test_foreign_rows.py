import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.results.publishing.foreign_rows import BROKEN, foreign_row
from kubedyno.results.publishing.manifest import Entry

pytestmark = pytest.mark.unit

ENTRY = Entry(timestamp="2026-07-03T00:00:00Z", path="Public/theirs/report.json")


def kai(*tests: object, status: str = "success", **metadata: object) -> bytes:
    return msgspec.json.encode({"metadata": metadata, "results": {"status": status, "tests": list(tests)}})


def test_results_of_kais_scale_tests_are_read() -> None:
    row = foreign_row(
        kai(
            {"test_name": "Fill", "status": "success", "details": {"nodes": 500, "jobs": 4000, "time": "6m37.77s"}},
            {
                "test_name": "Average",
                "status": "success",
                "details": {"pods": 10, "average time to unschedulable (seconds)": 249.5},
            },
            {
                "test_name": "NCCL",
                "status": "success",
                "details": {"time(seconds)": 5099, "completed pods": 12651, "pending pods": 0},
            },
            kai_scheduler_ref="main",
            kai_commit_hash="abc",
            kwok_node_count=500,
        ),
        ENTRY,
    )
    assert (row.id, row.source, row.status, row.commit, row.versions) == (
        "theirs",
        "kai",
        "passed",
        "abc",
        {"kai": "main"},
    )
    assert [[(one.name, one.unit, one.value) for one in test.figures] for test in row.tests] == [
        [("time", "s", pytest.approx(397.77))],
        [("average time to unschedulable (seconds)", "s", 249.5)],
        [("time(seconds)", "s", 5099.0), ("completed pods", "pods", 12651.0), ("pending pods", "pods", 0.0)],
    ]
    assert row.tests[0].configuration == {"nodes": 500, "jobs": 4000, "kwok_node_count": 500}
    assert [test.nodes for test in row.tests] == [500, 500, 500]


def test_only_tests_of_one_configuration_share_a_line() -> None:
    def series(nodes: int, time: str, ref: str, kwok: int = 500) -> str:
        test = {"test_name": "Fill", "status": "success", "details": {"nodes": nodes, "time": time}}
        return foreign_row(kai(test, kai_scheduler_ref=ref, kwok_node_count=kwok), ENTRY).tests[0].series

    assert series(500, "4s", "main") == series(500, "850ms", "v1")
    assert series(500, "4s", "main") != series(400, "4s", "main")
    assert series(500, "4s", "main") != series(500, "4s", "main", kwok=400)


def test_a_run_whose_last_test_passed_failed_if_one_before_did() -> None:
    row = foreign_row(
        kai({"test_name": "a", "status": "failure"}, {"test_name": "b", "status": "success"}, status="success"), ENTRY
    )
    assert row.status == "failed"


def test_results_without_metadata_are_read() -> None:
    data = msgspec.json.encode({"status": "failure", "tests": [{"test_name": "a", "status": "failure"}]})
    row = foreign_row(data, ENTRY)
    assert (row.source, row.status, [test.status for test in row.tests]) == ("kai", "failed", ["failed"])


def test_ginkgos_report_is_read() -> None:
    spec = {
        "ContainerHierarchyTexts": ["Scale", "Big"],
        "LeafNodeType": "It",
        "LeafNodeText": "fills",
        "LeafNodeLabels": ["scale"],
        "State": "failed",
        "RunTime": 4_500_000_000,
        "Failure": {"Message": "timed out"},
        "ReportEntries": [
            {"Name": "Test Metrics", "Value": {"AsJSON": '{"nodes": 10, "time": "4s"}'}},
            {"Name": "broken", "Value": {"AsJSON": "{"}},
            {"Name": "Test Metrics", "Value": {"AsJSON": "{"}},
        ],
    }
    hook = {"LeafNodeType": "BeforeSuite", "State": "passed"}
    skipped = {"LeafNodeText": "waits", "State": "skipped"}
    suite = {"SuiteSucceeded": False, "SpecReports": [hook, spec, skipped]}
    for data in (msgspec.json.encode([suite]), msgspec.json.encode(suite)):
        row = foreign_row(data, ENTRY)
        assert (row.source, row.status) == ("ginkgo", "failed")
        failed, waits = row.tests
        assert (failed.name, failed.status, failed.duration_s, failed.message) == (
            "Scale > Big > fills",
            "failed",
            4.5,
            "timed out",
        )
        assert (failed.nodes, failed.tags, [one.value for one in failed.figures]) == (10, ("scale",), [4.0])
        assert (waits.name, waits.status) == ("waits", "skipped")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is half-written or no JSON: Input data was truncated"),
        (b"<html>", "it is half-written or no JSON: JSON is malformed: invalid character (byte 0)"),
        (b"{}", "it is neither a report of Ginkgo nor one of KAI's scale tests"),
        (b"3", "it is neither a report of Ginkgo nor one of KAI's scale tests"),
        (b"[3]", "one of its suites has no `SpecReports`"),
        (b'[{"SpecReports": [{}]}]', "one of its specs has no `LeafNodeText`"),
        (b'{"tests": 3}', "its `tests` are no list"),
        (b'{"results": {"tests": [{"test_name": "a", "status": "x"}, {}]}}', "its test 2 has no name or no status"),
    ],
)
def test_what_cannot_be_read_is_a_row_that_says_why(data: bytes, reason: str) -> None:
    row = foreign_row(data, ENTRY)
    assert (row.id, row.status, row.reason, row.tests) == ("theirs", BROKEN, reason, ())


LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text(max_size=5)
KEYS = st.sampled_from(
    ["results", "metadata", "tests", "test_name", "status", "details", "SpecReports", "LeafNodeText", "time"]
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


@given(JSON)
def test_whatever_lies_there_is_a_row(document: object) -> None:
    row = foreign_row(msgspec.json.encode(document), ENTRY)
    assert row.path == ENTRY.path
    assert bool(row.reason) == (row.status == BROKEN)
