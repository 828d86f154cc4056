"""The runner: one lab per trial, the scenario on it, and what came out, told to the sink."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kubedyno import __version__
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kit.errors import CheckFailed, ExitCode, InvalidRun, KubedynoError
from kubedyno.kit.progress import Progress, told
from kubedyno.lab import installing, lagging, operating, planning
from kubedyno.lab.folders import RECORDS, LabFolder
from kubedyno.lab.lab import Lab
from kubedyno.lab.planning import LabPlan
from kubedyno.lab.programs import Provided
from kubedyno.lab.recording import recording
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.sink import Sink
from kubedyno.lab.spec import LabSpec
from kubedyno.lab.starting import RunningLab, started
from kubedyno.measure import host, spool
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.following import Following
from kubedyno.measure.host import Usage
from kubedyno.measure.records import FORMAT, AuditLine, Program, RunRecord, TrialRecord, Verdict
from kubedyno.model.dialects import Dialect
from kubedyno.model.samples import Recording
from kubedyno.model.settings import Setting
from kubedyno.plane.ports import free_ports
from kubedyno.schedulers import SCHEDULERS

_STALL_LIMIT_S = 1.0  # beyond the resolution of the server's own stamps
_STALL_PROBE_S = 0.02


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run: a scenario with all its parameters."""

    scenario: Scenario
    parameters: Mapping[str, Any]
    seed: int


class _Outcome(msgspec.Struct, kw_only=True):
    """What a trial has come to so far: kept apart, so that a failure loses nothing."""

    lab: Lab | None = None
    usage: Usage | None = None
    records: Path | None = None
    """Folder of the recording."""
    recording: Recording | None = None
    settings: tuple[Setting, ...] = ()
    begun_ns: int = 0
    ready_ns: int = 0
    ended_ns: int = 0
    longest_stall_s: float = 0.0
    lag: Mapping[str, Any] | None = None


async def run_trial(
    trial: Trial,
    *,
    spec: LabSpec,
    provided: Provided,
    folder: LabFolder,
    sink: Sink,
    clock: Clock,
    progress: Progress,
) -> Verdict:
    """Bring a lab up, run the scenario, take the lab down, and tell the sink; errors become the verdict.

    An interruption is told and then goes on its way.
    """
    outcome = _Outcome(begun_ns=clock.wall_ns())
    plan = planning.plan(spec, folder=folder.path, draw_port=free_ports())
    error: BaseException | None = None
    try:
        await _run(trial, outcome, plan=plan, provided=provided, clock=clock, progress=progress)
    except (KubedynoError, asyncio.CancelledError) as caught:
        error = caught
    outcome.ended_ns = outcome.ended_ns or clock.wall_ns()
    record = _record(trial, spec, outcome, error)
    sink.trial(
        record,
        objects=spool.read_objects(outcome.records) if outcome.records else (),
        series=_series(outcome),
        logs=folder.path / "logs",
    )
    if isinstance(error, asyncio.CancelledError):
        raise error
    return record.verdict


async def _run(
    trial: Trial, outcome: _Outcome, *, plan: LabPlan, provided: Provided, clock: Clock, progress: Progress
) -> None:
    async with started(plan, provided=provided, clock=clock, progress=progress) as lab:
        outcome.settings = lab.settings
        namespace = trial.scenario.name.replace("/", "-")
        await installing.ensure_namespace(lab.client, namespace)
        dialect = SCHEDULERS.get(plan.spec.scheduler).dialect
        outcome.usage = Usage(lambda: _pids(lab), clock)
        async with (
            _recording(outcome, lab, dialect, namespace=namespace) as recorded,
            tasks.owning() as group,
        ):
            watchers = [
                group.create_task(outcome.usage.follow(), name="sample the processes"),
                group.create_task(_watch_loop(outcome, clock), name="watch the event loop"),
            ]
            outcome.lab = Lab(
                client=lab.client,
                following=recorded,
                dialect=dialect,
                scheduler=lab.scheduler,
                namespace=namespace,
                clock=clock,
                kubelet=plan.spec.kubelet,
                seed=trial.seed,
            )
            outcome.ready_ns = clock.wall_ns()
            with told(progress, clock, f"running {trial.scenario.name}"):
                await trial.scenario.function(outcome.lab, **trial.parameters)
            outcome.ended_ns = clock.wall_ns()
            outcome.usage.sample()
            outcome.recording = await recorded.prove()
            outcome.lag = await lagging.lag_of(lab.activities.running, plan.kubelet_components, lab.reader)
            for watcher in watchers:
                watcher.cancel()
    for check in outcome.lab.checks:
        if not check.passed:
            raise CheckFailed(f"{check.name}: {check.detail}" if check.detail else check.name)
    if not outcome.recording.whole:
        raise InvalidRun(f"the recording is not whole. {outcome.recording.proof}")
    for line in _audit(outcome):
        if not line.acceptable:
            raise InvalidRun(
                f"{line.name} was {line.value:g} {line.unit}, above {line.limit:g}: kubedyno itself was the bottleneck"
            )


@contextlib.asynccontextmanager
async def _recording(
    outcome: _Outcome, lab: RunningLab, dialect: Dialect, *, namespace: str
) -> AsyncIterator[Following]:
    """Record the objects of the trial's namespace while the block runs."""
    async with recording(
        lab.client,
        dialect.lifecycle.kinds,
        lab.plan.site.folder / RECORDS,
        namespace=namespace,
        is_virtual=lab.plan.spec.time == "virtual",
    ) as (recorded, kept):
        outcome.records = kept.folder
        try:
            yield recorded
        finally:
            outcome.recording = outcome.recording or recorded.recording()


def _series(outcome: _Outcome) -> Iterator[Sequence[SeriesRow]]:
    if outcome.records is not None:
        yield from spool.read_series(outcome.records)
    if outcome.usage is not None:
        yield outcome.usage.rows


def _pids(lab: RunningLab) -> dict[str, int]:
    return {name: process.pid for name, process in lab.supervisor.processes.items()}


async def _watch_loop(outcome: _Outcome, clock: Clock) -> None:
    """Notice when this process could not look at its events in time: then stamps of arrival are late."""
    while True:
        before_ns = clock.monotonic_ns()
        await clock.sleep(_STALL_PROBE_S)
        late_s = (clock.monotonic_ns() - before_ns) / NS_PER_S - _STALL_PROBE_S
        outcome.longest_stall_s = max(outcome.longest_stall_s, late_s)


def _audit(outcome: _Outcome) -> tuple[AuditLine, ...]:
    lines = [AuditLine(name="longest event-loop stall", value=outcome.longest_stall_s, unit="s", limit=_STALL_LIMIT_S)]
    if (recording := outcome.recording) is not None:
        relists, cuts = (sum(getattr(watch, name) for watch in recording.watches) for name in ("relists", "cuts"))
        lines.append(AuditLine(name="watch relists", value=relists, unit="lists", limit=0))
        lines.append(AuditLine(name="watch streams cut", value=cuts, unit="streams", limit=None))
        if recording.lag is not None:
            lines.append(AuditLine(name="watch lag p99", value=recording.lag.p99_s, unit="s", limit=None))
    if outcome.usage is not None:
        own_s = outcome.usage.cpu_used_s(host.INSTRUMENT)
        lines.append(AuditLine(name="CPU used by kubedyno", value=own_s, unit="s", limit=None))
    return (*lines, *lagging.audit(outcome.lag))


def verdict_of(error: BaseException | None) -> Verdict:
    """What an error makes of a trial."""
    if error is None:
        return Verdict.PASSED
    if isinstance(error, CheckFailed):
        return Verdict.FAILED
    if isinstance(error, InvalidRun):
        return Verdict.INVALID
    return Verdict.INTERRUPTED if isinstance(error, asyncio.CancelledError) else Verdict.ERROR


def _record(trial: Trial, spec: LabSpec, outcome: _Outcome, error: BaseException | None) -> TrialRecord:
    lab = outcome.lab
    ready_ns = outcome.ready_ns or outcome.ended_ns
    return TrialRecord(
        format=FORMAT,
        scenario=trial.scenario.name,
        description=trial.scenario.description,
        tags=trial.scenario.tags,
        parameters=dict(trial.parameters),
        seed=trial.seed,
        time=spec.time,
        engine=spec.engine,
        scheduler=spec.scheduler,
        kubelet=spec.kubelet,
        profile=spec.profile,
        simulated=tuple(operating.NAMES[operator] for operator in spec.operators),
        started_at=rfc3339(outcome.begun_ns),
        setup_s=(ready_ns - outcome.begun_ns) / NS_PER_S,
        duration_s=(outcome.ended_ns - ready_ns) / NS_PER_S,
        settings=outcome.settings,
        measurements=tuple(lab.measurements) if lab else (),
        checks=tuple(lab.checks) if lab else (),
        audit=_audit(outcome),
        verdict=verdict_of(error),
        message=str(error) if isinstance(error, KubedynoError) else "",
    )


def run_record(run_id: str, *, command: tuple[str, ...], provided: Provided, clock: Clock) -> RunRecord:
    """The record of a run that starts now."""
    return RunRecord(
        format=FORMAT,
        id=run_id,
        kubedyno=__version__,
        command=command,
        started_at=rfc3339(clock.wall_ns()),
        ended_at=None,
        host=host.describe(),
        programs={
            name: Program(version=found.version, source=found.source, path=str(found.path))
            for name, found in provided.found.items()
        },
        trials=(),
        verdict=None,
        exit_code=None,
    )


_EXIT_CODES = {
    Verdict.PASSED: ExitCode.PASSED,
    Verdict.FAILED: ExitCode.CHECK_FAILED,
    Verdict.INVALID: ExitCode.INVALID,
    Verdict.ERROR: ExitCode.ENGINE,
    Verdict.CRASHED: ExitCode.ENGINE,
    Verdict.INTERRUPTED: ExitCode.INTERRUPTED,
}
_WORST_FIRST = (
    Verdict.INTERRUPTED,
    Verdict.CRASHED,
    Verdict.ERROR,
    Verdict.FAILED,
    Verdict.INVALID,
    Verdict.PASSED,
)


def overall(verdicts: list[Verdict]) -> tuple[Verdict, ExitCode]:
    """The verdict of a run, the worst of its trials, and its exit code."""
    worst = next((verdict for verdict in _WORST_FIRST if verdict in verdicts), Verdict.PASSED)
    return worst, _EXIT_CODES[worst]
