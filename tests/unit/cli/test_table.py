"""What a person is told of a run of several trials."""

import msgspec
import pytest
from tests import records

from kubedyno.cli import table
from kubedyno.measure.records import TrialRecord

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


def test_trials_that_differ_in_nothing_are_not_compared() -> None:
    assert len(list(table.of_run([records.TRIAL, records.TRIAL]))) == 1
