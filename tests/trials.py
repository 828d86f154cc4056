"""Trials of scenarios of the catalogue on small labs, and what their records say."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from kubedyno.kit.clock import RealClock
from kubedyno.kit.progress import Quiet
from kubedyno.kube.resources import JOBS, NAMESPACES, PODS
from kubedyno.lab import matrix, running
from kubedyno.lab.cleaning import Cleaner
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.lab.grounds import Ground
from kubedyno.lab.matrix import Trial
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.testing.trying import Tried, try_scenario

_NUMBERS = itertools.count()


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


async def played_on(lab: RunningLab, scenario: Scenario, folder: Path, **parameters: Any) -> TrialRecord:
    """Run a scenario once on a lab without nodes that others use before and after; it is left as it was found."""
    texts = {name: str(value) for name, value in parameters.items()}
    known = scenario.with_defaults(texts)
    trial = Trial(
        scenario=scenario,
        parameters=known,
        spec=matrix.for_scenario(lab.plan.spec, scenario, known),
        run_id=f"shared-{next(_NUMBERS)}",
    )
    return await running.run_trial(
        trial, ground=_shared(lab, trial), folder=folder, sink=Tried(), clock=RealClock(), progress=Quiet()
    )


@contextlib.asynccontextmanager
async def _shared(lab: RunningLab, trial: Trial) -> AsyncIterator[Ground]:
    cleaner = Cleaner(lab.client, trial.run_id, RealClock())
    try:
        yield Ground(
            client=lab.client,
            scheduler=lab.scheduler,
            namespace=trial.run_id,
            settings=lab.settings,
            running=lab,
            cleaner=cleaner,
        )
    finally:
        await lab.scheduler.restore()
        await _clear(lab, trial.run_id)
        await cleaner.clean()


async def _clear(lab: RunningLab, namespace: str) -> None:
    """Delete the workloads at once, and the namespace some time: the controller of namespaces takes its time."""
    client = lab.client
    await client.delete_collection(JOBS, namespace=namespace, propagation="Background")
    await client.delete_collection(PODS, namespace=namespace, grace_s=0)
    await client.patch(NAMESPACES, namespace, {"metadata": {"labels": {RUN_LABEL: None}}}, kind="merge")
    await client.delete(NAMESPACES, namespace)


def failed_checks(record: TrialRecord) -> list[str]:
    """Names of the checks that did not hold."""
    return [check.name for check in record.checks if not check.passed]


def expect_passed(record: TrialRecord, figures: Mapping[str, float]) -> None:
    """It passed without a word, and came to these figures."""
    assert (record.message, record.violations, failed_checks(record)) == ("", (), [])
    assert record.verdict == Verdict.PASSED
    found = measured(record)
    assert {figure: found[figure] for figure in figures} == figures


def measured(record: TrialRecord) -> dict[str, float]:
    """The values of what was measured, by name."""
    return {one.name: one.value for one in record.measurements}
