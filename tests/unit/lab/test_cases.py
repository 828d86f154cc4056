"""Test cases of a trial: recorded, checked, and shown on the page and in the terminal."""

from types import SimpleNamespace

import msgspec
import pytest
from tests import records

from kubedyno.cli import table
from kubedyno.kit.clock import VirtualClock
from kubedyno.lab.lab import Lab
from kubedyno.measure.recorder import Recorder
from kubedyno.measure.records import Case, TrialRecord
from kubedyno.report import run_tables

pytestmark = pytest.mark.unit

PLAIN = Case(
    target="stale <reports>",
    component="exporter",
    failure="frozen",
    expected="pods wait",
    observed="9 wait",
    breaks=(2,),
)
KNOWN = msgspec.structs.replace(PLAIN, failure="dead", finding="it believes anything", breaks=(1, 2))
WRONG = msgspec.structs.replace(PLAIN, observed="9 refused", passed=False)


def lab() -> Lab:
    unused: object = None
    return Lab(
        client=unused,  # type: ignore[arg-type]
        following=SimpleNamespace(recorder=Recorder()),  # type: ignore[arg-type]
        dialect=unused,  # type: ignore[arg-type]
        scheduler=unused,  # type: ignore[arg-type]
        namespace="ns",
        clock=VirtualClock(),
    )


def trial(*cases: Case) -> TrialRecord:
    return msgspec.structs.replace(records.TRIAL, cases=cases)


def test_a_case_is_kept_and_is_a_check() -> None:
    made = lab()
    made.case(
        target="stale <reports>",
        component="exporter",
        failure="frozen",
        expected="pods wait",
        observed="9 refused",
        holds=False,
        breaks=(2,),
    )
    assert made.cases == [WRONG]
    [check] = made.checks
    assert (check.name, check.passed) == ("stale <reports>: frozen", False)
    assert check.detail == "expected pods wait; observed 9 refused"


def test_a_case_holds_unless_it_is_said_not_to() -> None:
    made = lab()
    made.case(target="t", component="c", failure="f", expected="e", observed="o", finding="known")
    assert (made.cases[0].passed, made.cases[0].finding, made.checks[0].passed) == (True, "known", True)


def test_the_page_has_a_table_of_them() -> None:
    page = run_tables.cases(trial(PLAIN, KNOWN, WRONG))
    assert "<h3>Test cases</h3>" in page
    assert "stale &lt;reports&gt;" in page
    assert page.count("<tr>") == 4
    for words in ("as expected", "known fault: it believes anything", "not as expected", "1, 2", "9 refused"):
        assert words in page
    assert run_tables.cases(records.TRIAL) == ""


@pytest.mark.parametrize(
    ("cases", "line"),
    [
        ((PLAIN,), "  1 of 1 test cases came out as expected"),
        ((PLAIN, KNOWN, WRONG), "  2 of 3 test cases came out as expected, 1 of them known faults"),
    ],
)
def test_the_terminal_has_a_line_for_them(cases: tuple[Case, ...], line: str) -> None:
    assert line in table.of_trial(trial(*cases), alone=True).splitlines()
    assert "test cases" not in table.of_trial(records.TRIAL, alone=True)


def test_records_without_cases_can_still_be_read() -> None:
    written = msgspec.to_builtins(trial(KNOWN))
    assert msgspec.convert(written, TrialRecord).cases == (KNOWN,)
    del written["cases"]
    assert msgspec.convert(written, TrialRecord).cases == ()
