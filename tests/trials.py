"""Trials of scenarios of the catalogue on small labs, and what their records say."""

from collections.abc import Mapping
from typing import Any

from kubedyno.lab.scenario import Scenario
from kubedyno.measure.records import TrialRecord
from kubedyno.testing.trying import try_scenario


def played(
    scenario: Scenario,
    *,
    engine: str = "embedded",
    scheduler: str = "reference",
    settings: Mapping[str, Mapping[str, str]] | None = None,
    **parameters: Any,
) -> TrialRecord:
    """Run a scenario once, in virtual time where there is one."""
    time = "virtual" if (engine, scheduler) == ("embedded", "reference") else "real"
    return try_scenario(scenario, engine=engine, scheduler=scheduler, time=time, settings=settings, **parameters)


def failed_checks(record: TrialRecord) -> list[str]:
    """Names of the checks that did not hold."""
    return [check.name for check in record.checks if not check.passed]


def measured(record: TrialRecord) -> dict[str, float]:
    """The values of what was measured, by name."""
    return {one.name: one.value for one in record.measurements}
