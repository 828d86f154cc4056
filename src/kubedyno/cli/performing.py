"""Performing a run: trial after trial on its ground, its folder written, its story told."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import click
import msgspec

from kubedyno.cli import table
from kubedyno.cli.progress import renderer
from kubedyno.kit import places
from kubedyno.kit.clock import Clock, RealClock, rfc3339
from kubedyno.kit.errors import ExitCode
from kubedyno.kit.progress import Progress
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.lab import folders, grounds, judging, planning, running
from kubedyno.lab.applying import why_not
from kubedyno.lab.grounds import Ground
from kubedyno.lab.matrix import Trial
from kubedyno.lab.programs import Provided, provide
from kubedyno.lab.selecting import Selection
from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.plane.ports import counted_ports
from kubedyno.results import folder as results


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be performed."""

    id: str
    trials: list[Trial]
    out: Path
    as_json: bool = False
    others: Selection | None = None
    """The lab or cluster to run on; None: each trial has a lab of its own."""

    @property
    def is_virtual(self) -> bool:
        """Whether its time is simulated."""
        return self.trials[0].spec.time == "virtual"


async def perform(run: Run) -> ExitCode:
    """Run all trials; whatever happens, the folder tells how far it came."""
    clock: Clock = LoopClock(asyncio.get_running_loop()) if run.is_virtual else RealClock()
    drawn = renderer()
    for path in results.finish_abandoned(run.out):
        click.echo(f"{path} was abandoned by an earlier run; it is finished as crashed", err=True)
    folder = folders.run_folder(places.state_dir(), run.id)
    provided = {} if run.others else await _provided(run.trials, folder.path, drawn)
    record = running.run_record(run.id, command=tuple(sys.argv), provided=provided.values(), clock=clock)
    made: list[TrialRecord] = []
    is_interrupted = False
    with results.held(run.out, run.id):
        sink = results.RunFolder(run.out, run.id)
        sink.begin(record)
        try:
            for trial in run.trials:
                with folder.hold():
                    try:
                        ground = _ground(run, trial, provided, folder=folder.path, clock=clock, progress=drawn)
                        done = await running.run_trial(
                            trial, ground=ground, folder=folder.path, sink=sink, clock=clock, progress=drawn
                        )
                    finally:
                        folder.remove()
                made.append(done)
                if not run.as_json:
                    click.echo("\n" + table.of_trial(done, alone=len(run.trials) == 1))
        except asyncio.CancelledError:
            is_interrupted = True
            raise
        finally:
            verdicts = [one.verdict for one in made]
            verdict, code = judging.overall([*verdicts, Verdict.INTERRUPTED] if is_interrupted else verdicts)
            ended = msgspec.structs.replace(
                record, ended_at=rfc3339(clock.wall_ns()), verdict=verdict, exit_code=int(code)
            )
            path = sink.end(ended)
            if is_interrupted:
                click.echo(f"what was measured until then is in {path}", err=True)
    _finish(path, made, as_json=run.as_json)
    return code


def _ground(
    run: Run, trial: Trial, provided: Mapping[str, Provided], *, folder: Path, clock: Clock, progress: Progress
) -> AbstractAsyncContextManager[Ground]:
    if run.others is not None:
        return grounds.others_ground(trial, selection=run.others, clock=clock)
    mine = provided[trial.spec.scheduler]
    return grounds.own_ground(trial, folder=folder, provided=mine, clock=clock, progress=progress)


async def _provided(trials: Sequence[Trial], folder: Path, progress: Progress) -> dict[str, Provided]:
    """The programs of each scheduler's lab; none for a scheduler that no trial can be run on."""
    found = dict.fromkeys((trial.spec.scheduler for trial in trials), Provided(found={}, crd_folders=()))
    needed = {trial.spec.scheduler: trial.spec for trial in trials if not why_not(trial.scenario, trial.spec.scheduler)}
    for name, spec in needed.items():
        plan = planning.plan(spec, folder=folder, draw_port=counted_ports(1))
        found[name] = await provide(plan, cache=places.cache_dir(), env=os.environ, progress=progress)
    return found


def _finish(path: Path, trials: Sequence[TrialRecord], *, as_json: bool) -> None:
    """Write the page; show what the trials came to together, and where everything is."""
    from kubedyno.report import run_page  # takes a while to load, and a run begins without

    page = run_page.write(path)
    if as_json:
        click.echo((path / "run.json").read_text(), nl=False)
        return
    for part in table.of_run(trials):
        click.echo("\n" + part)
    pictures = sorted(path.glob("trials/*/general.png"))
    plot = f", plot {pictures[0]}" if len(pictures) == 1 else ""
    click.echo(f"\n{table.verdict(trials)}; page {page}{plot}\neverything is in {path}")
