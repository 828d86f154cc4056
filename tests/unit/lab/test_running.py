import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import CheckFailed, EngineError, ExitCode, InvalidRun, UsageError
from kubedyno.lab.running import overall, verdict_of
from kubedyno.measure.records import Verdict

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (None, "passed"),
        (CheckFailed("x"), "failed"),
        (InvalidRun("x"), "invalid"),
        (EngineError("x"), "error"),
        (UsageError("x"), "error"),
        (asyncio.CancelledError(), "interrupted"),
    ],
)
def test_an_error_becomes_a_verdict(error: BaseException | None, verdict: str) -> None:
    assert verdict_of(error) == verdict


@pytest.mark.parametrize(
    ("verdicts", "worst", "code"),
    [
        (["passed", "passed"], "passed", 0),
        (["passed", "invalid"], "invalid", 4),
        (["failed", "invalid", "passed"], "failed", 1),
        (["error", "failed"], "error", 3),
        (["failed", "interrupted", "error"], "interrupted", 130),
    ],
)
def test_the_worst_trial_decides(verdicts: list[str], worst: str, code: int) -> None:
    assert overall([Verdict(verdict) for verdict in verdicts]) == (worst, code)


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1))
def test_only_a_run_without_any_blemish_passes(verdicts: list[Verdict]) -> None:
    verdict, code = overall(verdicts)
    assert verdict in verdicts
    assert (code == ExitCode.PASSED) == (set(verdicts) == {Verdict.PASSED})
    assert overall(verdicts[::-1]) == (verdict, code)
