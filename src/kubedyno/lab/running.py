"""The runner: one lab per trial, the scenario on it, and what came out, told to the sink."""

import asyncio
import contextlib
import traceback
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec

from kubedyno import __version__
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kit.collecting import collecting_hardly
from kubedyno.kit.errors import CheckFailed, EngineError, KubedynoError, NotApplicable, UsageError
from kubedyno.kit.progress import Progress, told
from kubedyno.lab import installing, judging, matrix, measuring, operating, thresholds
from kubedyno.lab.applying import why_not
from kubedyno.lab.auditing import Auditor
from kubedyno.lab.communicating import Communicating
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.lab.exporters import access_of, exporting
from kubedyno.lab.folders import RECORDS
from kubedyno.lab.grounds import Ground
from kubedyno.lab.judging import Evidence
from kubedyno.lab.lab import Lab
from kubedyno.lab.matrix import Trial
from kubedyno.lab.programs import Provided
from kubedyno.lab.recording import recording
from kubedyno.lab.scraping import Scraper
from kubedyno.lab.sink import Sink
from kubedyno.measure import host, spool, statistics
from kubedyno.measure.audit import Audit
from kubedyno.measure.columns import Lived, SeriesRow
from kubedyno.measure.following import Following
from kubedyno.measure.invariants.observing import watching
from kubedyno.measure.lived import lived
from kubedyno.measure.lives import Lives
from kubedyno.measure.quality import Quality, quality_of
from kubedyno.measure.records import (
    FORMAT,
    Communication,
    Measurement,
    Program,
    RunRecord,
    TrialRecord,
    Verdict,
    Violation,
)
from kubedyno.model.samples import Recording
from kubedyno.model.settings import Setting
from kubedyno.schedulers import SCHEDULERS

_TELL_EVERY_S = 0.5


class Outcome(msgspec.Struct, kw_only=True):
    """What a trial has come to so far: kept apart, so that a failure loses nothing."""

    doing: str = "while the lab was being started"
    error: BaseException | None = None
    lab: Lab | None = None
    records: Path | None = None
    """Folder of the recording."""
    recording: Recording | None = None
    settings: tuple[Setting, ...] = ()
    begun_ns: int = 0
    ready_ns: int = 0
    ended_ns: int = 0
    audit: Audit = Audit()
    communications: tuple[Communication, ...] = ()
    violations: tuple[Violation, ...] = ()
    quality: Quality = Quality((), ())
    lived: Lived = Lived()
    usage: Sequence[SeriesRow] = ()


async def run_trial(
    trial: Trial,
    *,
    ground: AbstractAsyncContextManager[Ground],
    folder: Path,
    sink: Sink,
    clock: Clock,
    progress: Progress,
) -> TrialRecord:
    """Enter the ground, run the scenario, leave the ground, and tell the sink; errors become the verdict.

    Recordings and logs are below `folder`. An interruption is told and then goes on its way.
    """
    outcome = Outcome(begun_ns=clock.wall_ns())
    try:
        if (reason := why_not(trial.scenario, trial.spec.scheduler)) is not None:
            raise NotApplicable(reason)
        with collecting_hardly():
            async with ground as entered:
                await _run(trial, outcome, entered, records=folder / RECORDS, clock=clock, progress=progress)
    except (KubedynoError, asyncio.CancelledError) as caught:
        # What ended the lab says more than what the scenario felt of it; only an interruption goes before everything.
        is_interrupted = isinstance(caught, asyncio.CancelledError) or tasks.is_being_cancelled()
        found = outcome.error if isinstance(caught, asyncio.CancelledError) else caught
        if is_interrupted and found is not None:
            outcome.doing = f"{outcome.doing}; {found}"
        outcome.error = asyncio.CancelledError() if is_interrupted else caught
    outcome.ended_ns = outcome.ended_ns or clock.wall_ns()
    record = _record(trial, outcome)
    sink.trial(
        record,
        objects=spool.read_objects(outcome.records) if outcome.records else (),
        series=_series(outcome),
        lived=outcome.lived,
        summaries=outcome.lab.summaries if outcome.lab is not None else {},
        logs=folder / "logs",
    )
    if isinstance(outcome.error, asyncio.CancelledError):
        raise outcome.error
    return record


async def _run(
    trial: Trial, outcome: Outcome, ground: Ground, *, records: Path, clock: Clock, progress: Progress
) -> None:
    async with observed(trial, outcome, ground, records=records, clock=clock) as lab, tasks.owning() as group:
        outcome.doing = "in the scenario"
        with told(progress, clock, f"running {trial.title}"):
            telling = group.create_task(_tell(lab, clock, progress), name="tell how far it is")
            await _play(trial, outcome, lab)
            telling.cancel()
        outcome.doing = "while the trial was being finished"


@contextlib.asynccontextmanager
async def observed(
    trial: Trial, outcome: Outcome, ground: Ground, *, records: Path, clock: Clock
) -> AsyncIterator[Lab]:
    """The Lab of a trial, recorded, watched and audited while the block runs; the outcome has all that was seen."""
    outcome.settings = ground.settings
    await installing.ensure_namespace(ground.client, ground.namespace, labels={RUN_LABEL: trial.run_id})
    namespace = None if trial.scenario.namespaces else ground.namespace
    # Where others were before, their pods are no part of the record.
    only = trial.scenario.namespaces if trial.scenario.namespaces and ground.cleaner is not None else None
    kinds = SCHEDULERS.get(trial.spec.scheduler).dialect.lifecycle.kinds
    is_virtual = trial.spec.time == "virtual"
    async with (
        Auditor(ground.running, clock) as auditor,
        watching(ground.client, kinds, namespace=namespace, only=only) as watched,
        recording(
            ground.client, kinds, records, namespace=namespace, only=only, is_virtual=is_virtual, observer=watched
        ) as (recorded, spooled),
        exporting(ground, seed=trial.seed, run_id=trial.run_id, clock=clock) as (exporters, ledgers),
    ):
        outcome.records = spooled.folder
        lab = outcome.lab = _lab(trial, ground, recorded, clock)
        lab.on_delete = lambda names: watched.excuse(names, clock.wall_ns())
        lab.exporters, lab.ledgers = exporters, ledgers
        lab.creator.on_accepted = watched.accepted
        lab.creator.on_deleting = lambda pods: watched.excuse_pods(pods, clock.wall_ns())
        lab.creator.on_paced = auditor.lateness.note
        await auditor.begin()
        if matrix.is_communicating(trial.scenario, trial.spec):
            lab.communicating = Communicating(ground.running, auditor, clock, report=exporters.refresh)
            await lab.communicating.begin()
        outcome.ready_ns = clock.wall_ns()
        try:
            yield lab
            outcome.ended_ns = clock.wall_ns()
            outcome.recording = await recorded.prove()
            if lab.communicating is not None:
                outcome.communications = await lab.communicating.end()
            await watched.end(clock.wall_ns())
            outcome.audit = await auditor.end(recording=outcome.recording, timed=lab.timed_span)
            outcome.settings = outcome.audit.settings or outcome.settings
            lives = watched.lives()
            outcome.quality = _quality(lives, lab, outcome.recording)
            outcome.lived = lived(lives)
        finally:
            if outcome.recording is None:
                outcome.recording = recorded.recording()
            if lab.communicating is not None:
                lab.communicating.close()
            outcome.violations = watched.violations()
            outcome.usage = auditor.rows


def _quality(lives: Lives, lab: Lab, recorded: Recording) -> Quality:
    since_ns, until_ns = lab.timed_span or (None, None)
    lag_s = recorded.lag.p99_s if recorded.lag is not None else 0.0
    return quality_of(lives, since_ns=since_ns, until_ns=until_ns, lag_s=lag_s)


def _lab(trial: Trial, ground: Ground, recorded: Following, clock: Clock) -> Lab:
    scheduler = SCHEDULERS.get(trial.spec.scheduler)
    lab = Lab(
        client=ground.client,
        following=recorded,
        dialect=scheduler.dialect,
        scheduler=ground.scheduler,
        namespace=ground.namespace,
        clock=clock,
        kubelet=trial.spec.kubelet,
        seed=trial.seed,
        lacks=ground.lacks,
        run_id=trial.run_id,
        settings=ground.settings,
        cleaner=ground.cleaner,
        keeps_apart=ground.keeps_apart,
    )
    lab.is_foreign, lab.drives_nodes = ground.is_foreign, ground.drives_nodes
    lab.spec, lab.access, lab.scraper = trial.spec, access_of(ground), Scraper(ground.running)
    ground.scheduler.is_idle = lab.is_idle
    return lab


async def _play(trial: Trial, outcome: Outcome, lab: Lab) -> None:
    """Run the scenario. What it finds wrong is kept, so that the rest of the trial is still measured and checked."""
    try:
        await trial.scenario.function(lab, **trial.parameters)
    except (CheckFailed, UsageError) as error:
        outcome.error = error
    except AssertionError as error:
        outcome.error = CheckFailed(f"an assertion of the scenario does not hold{_where(error)}: {error}")
    except KubedynoError:
        raise
    except Exception as error:  # a scenario may be anybody's
        raise EngineError(
            f"scenario {trial.scenario.name} broke off with {type(error).__name__}: {error}{_where(error)}"
        ) from error


def _where(error: BaseException) -> str:
    """File and line that an error comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


async def _tell(lab: Lab, clock: Clock, progress: Progress) -> None:
    """Say how many pods are bound, and how fast that goes, until cancelled."""
    bound = 0
    while True:
        await clock.sleep(_TELL_EVERY_S)
        rate = (lab.standing.bound - bound) / _TELL_EVERY_S
        bound = lab.standing.bound
        progress.note(f"{bound}/{lab.submitted_pods} pods bound, {rate:.0f}/s")


def _series(outcome: Outcome) -> Iterator[Sequence[SeriesRow]]:
    if outcome.records is not None:
        yield from spool.read_series(outcome.records)
    yield outcome.usage
    yield outcome.quality.series


def evidence(trial: Trial, outcome: Outcome) -> Evidence:
    """What the verdict of a trial is made from. Thresholds are judged when the scenario has come to its end."""
    lab = outcome.lab
    if lab is None:
        return Evidence(error=outcome.error)
    has_ended = outcome.error is None
    known = (*_measurements(lab), *outcome.quality.measurements)
    judged = thresholds.judge((*lab.thresholds, *trial.thresholds), known) if has_ended else []
    lines = outcome.audit.lines
    return Evidence(
        error=outcome.error,
        checks=(*lab.checks, *judged),
        violations=outcome.violations,
        audit=judging.beyond_limits(lines) if judging.OVERLOAD in trial.scenario.tags else lines,
        findings=outcome.audit.findings,
        doubt=_doubt(outcome.recording) if has_ended else "",
    )


def _record(trial: Trial, outcome: Outcome) -> TrialRecord:
    lab, spec = outcome.lab, trial.spec
    ready_ns = outcome.ready_ns or outcome.ended_ns
    came_to = evidence(trial, outcome)
    verdict, message = judging.judge(came_to)
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
        ha=spec.ha,
        profile=spec.profile,
        simulated=tuple(operating.NAMES[operator] for operator in spec.operators),
        started_at=rfc3339(outcome.begun_ns),
        setup_s=(ready_ns - outcome.begun_ns) / NS_PER_S,
        duration_s=(outcome.ended_ns - ready_ns) / NS_PER_S,
        timed_s=lab.timed_ns / NS_PER_S if lab and lab.timed_ns is not None else None,
        repeat=trial.repeat,
        settings=outcome.settings,
        measurements=_measurements(lab),
        quality=outcome.quality.measurements,
        thresholds=(*(lab.thresholds if lab else ()), *trial.thresholds),
        violations=outcome.violations,
        findings=outcome.audit.findings,
        checks=tuple(came_to.checks),
        cases=tuple(lab.cases) if lab else (),
        curves=tuple(lab.curves) if lab else (),
        knees=tuple(lab.knees) if lab else (),
        audit=tuple(came_to.audit),
        communications=outcome.communications,
        verdict=verdict,
        message=f"interrupted {outcome.doing}" if verdict == Verdict.INTERRUPTED else message,
    )


def _measurements(lab: Lab | None) -> tuple[Measurement, ...]:
    """What the scenario measured, with percentiles; what a start of the scheduler costs stands beside it."""
    if lab is None:
        return ()
    found: Iterable[Measurement] = lab.measurements
    if lab.scheduler.start_up_s is not None:
        found = (*found, measuring.sampled("scheduler start-up", "s", (lab.scheduler.start_up_s,)))
    return tuple(
        one if one.percentiles else msgspec.structs.replace(one, percentiles=statistics.percentiles(one.samples))
        for one in found
    )


def _doubt(recorded: Recording | None) -> str:
    return "" if recorded is None or recorded.whole else recorded.proof


def run_record(run_id: str, *, command: tuple[str, ...], provided: Iterable[Provided], clock: Clock) -> RunRecord:
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
            for one in provided
            for name, found in one.found.items()
        },
        trials=(),
        verdict=None,
        exit_code=None,
    )
