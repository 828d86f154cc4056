import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import CheckFailed, EngineError, ExitCode, InvalidRun, NotApplicable, UsageError
from kubedyno.lab import lagging
from kubedyno.lab.judging import Evidence, beyond_limits, judge, overall, verdict_of
from kubedyno.measure.records import AuditLine, Check, Finding, Verdict, Violation

pytestmark = pytest.mark.unit

FAILED = Check(name="every pod has a node", passed=False, detail="3 of 4")
HELD = Check(name="nothing is lost", passed=True, detail="")
VIOLATION = Violation(
    invariant="over-commit", object="Node n-0", node="n-0", at_ns=1, evidence="node n-0: 9 GPUs bound, 8 allocatable"
)
STALL = AuditLine(name="longest event-loop stall", value=2.5, unit="s", limit=1.0)
FINE = AuditLine(name="watch lag p99", value=0.1, unit="s", limit=None)
DECLARED = Finding(name="limited by binder.qps", component="binder", declared=True, evidence="20 a second")
UNDECLARED = Finding(name="limited by binder.qps", component="binder", declared=False, evidence="20 a second")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (None, "passed"),
        (CheckFailed("x"), "failed"),
        (InvalidRun("x"), "invalid"),
        (EngineError("x"), "error"),
        (UsageError("x"), "error"),
        (NotApplicable("x"), "not applicable"),
        (asyncio.CancelledError(), "interrupted"),
    ],
)
def test_an_error_becomes_a_verdict(error: BaseException | None, verdict: str) -> None:
    assert verdict_of(error) == verdict


@pytest.mark.parametrize(
    ("evidence", "verdict", "message"),
    [
        (Evidence(), "passed", ""),
        (Evidence(checks=[HELD], audit=[FINE], findings=[DECLARED]), "passed", ""),
        (Evidence(checks=[FAILED, HELD]), "failed", "every pod has a node: 3 of 4"),
        (
            Evidence(violations=[VIOLATION]),
            "failed",
            "over-commit was violated: node n-0: 9 GPUs bound, 8 allocatable",
        ),
        (
            Evidence(error=CheckFailed("4 pods wait"), checks=[FAILED], audit=[STALL]),
            "failed",
            "4 pods wait; every pod has a node: 3 of 4",
        ),
        (Evidence(error=EngineError("etcd died"), checks=[FAILED]), "error", "etcd died"),
        (
            Evidence(audit=[STALL], findings=[UNDECLARED]),
            "invalid",
            "longest event-loop stall was 2.5 s, above 1: kubedyno itself was the bottleneck",
        ),
        (Evidence(doubt="3 pods were missed."), "invalid", "the recording is not whole. 3 pods were missed."),
        (
            Evidence(findings=[UNDECLARED]),
            "suspect",
            "limited by binder.qps, which nobody asked for: 20 a second",
        ),
        (Evidence(error=NotApplicable("no queues"), checks=[FAILED], audit=[STALL]), "not applicable", "no queues"),
        (Evidence(error=asyncio.CancelledError(), checks=[FAILED]), "interrupted", ""),
    ],
)
def test_the_worst_that_is_known_decides_and_is_told(evidence: Evidence, verdict: str, message: str) -> None:
    assert judge(evidence) == (verdict, message)


def test_of_many_violations_some_are_told_and_all_are_counted() -> None:
    _, message = judge(Evidence(violations=[VIOLATION] * 7))
    assert message.count("was violated") == 3
    assert message.endswith("; 7 violations (7 of over-commit) in all")


@pytest.mark.parametrize(
    ("verdicts", "worst", "code"),
    [
        (["passed", "passed"], "passed", 0),
        (["passed", "invalid"], "invalid", 4),
        (["passed", "suspect"], "suspect", 4),
        (["failed", "invalid", "passed"], "failed", 1),
        (["error", "failed"], "error", 3),
        (["failed", "interrupted", "error"], "interrupted", 130),
        (["passed", "not applicable"], "passed", 0),
        (["not applicable", "not applicable"], "not applicable", 2),
        (["not applicable", "failed"], "failed", 1),
    ],
)
def test_the_worst_trial_decides(verdicts: list[str], worst: str, code: int) -> None:
    assert overall(Verdict(verdict) for verdict in verdicts) == (worst, code)


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1))
def test_only_a_run_without_any_blemish_passes(verdicts: list[Verdict]) -> None:
    verdict, code = overall(verdicts)
    assert verdict in verdicts
    harmless = {Verdict.PASSED, Verdict.NOT_APPLICABLE}
    assert (code == ExitCode.PASSED) == (set(verdicts) <= harmless and Verdict.PASSED in verdicts)
    assert overall(verdicts[::-1]) == (verdict, code)


def test_a_trial_that_overloads_on_purpose_has_no_limits_but_for_two_simulators() -> None:
    lines = [
        AuditLine(name="leases renewed too late", value=7, unit="leases", limit=0),
        AuditLine(name=lagging.CONTESTED, value=2, unit="nodes", limit=0),
    ]
    assert judge(Evidence(audit=beyond_limits(lines[:1])))[0] == Verdict.PASSED
    assert judge(Evidence(audit=beyond_limits(lines)))[0] == Verdict.INVALID
