"""What a person is told of a run of several trials."""

import msgspec
import pytest
from tests import records

from kubedyno.cli import table
from kubedyno.measure.records import Check, TrialRecord

pytestmark = pytest.mark.unit


def lines_of(*trials: TrialRecord) -> list[list[str]]:
    return [line.split() for part in table.of_run(trials) for line in part.splitlines()]


def test_what_replicas_cost_stands_beside_what_one_control_plane_does() -> None:
    alone = msgspec.structs.replace(records.TRIAL, scheduler="plugins")
    replicated = msgspec.structs.replace(alone, ha="stacked")
    lines = lines_of(alone, replicated)
    assert any(line[-3:] == ["plugins", "plugins", "(stacked)"] for line in lines)
    (name, *_) = alone.measurements
    assert any(line[0] == name.name.split()[0] for line in lines)


def test_a_check_that_nobody_could_make_is_told_and_does_not_count_as_held() -> None:
    held = [Check(name=f"held {number}", passed=True, detail="") for number in range(7)]
    skipped = Check(name="metrics", passed=True, detail="nobody serves them", skipped=True)
    told = table.of_trial(msgspec.structs.replace(records.TRIAL, checks=(*held, skipped)), alone=True).splitlines()
    assert told[-2:] == ["  ✓ 7 checks hold", "  - metrics was skipped: nobody serves them"]


def test_checks_that_were_skipped_for_one_reason_are_told_together() -> None:
    def skipped(name: str, why: str) -> Check:
        return Check(name=name, passed=True, detail=why, skipped=True)

    checks = (skipped("a", "none there"), skipped("b", "too old"), skipped("c", "none there"))
    told = table.of_trial(msgspec.structs.replace(records.TRIAL, checks=checks), alone=True).splitlines()
    assert told[-2:] == ["  - a and 1 more were skipped: none there", "  - b was skipped: too old"]


def test_trials_that_differ_in_nothing_are_not_compared() -> None:
    assert len(list(table.of_run([records.TRIAL, records.TRIAL]))) == 1
