"""`kubedyno run`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubedyno.cli import options

if TYPE_CHECKING:
    from kubedyno.kit.errors import ExitCode
    from kubedyno.lab.running import Trial
    from kubedyno.lab.spec import LabSpec


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
@click.option("-p", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter of the scenario.")
@click.option("--nodes", type=int, help="Short for -p nodes=N; NODE_COUNT in the environment is its default.")
@click.option("--seed", default=0, show_default=True, help="Seed of all randomness.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Where runs go.")
@click.option(
    "--time",
    default="real",
    show_default=True,
    help="real | virtual: one clock that jumps to the next timer; embedded engine, repeats exactly for a seed.",
)
@options.lab_options
@click.option("--json", "as_json", is_flag=True, help="Print run.json instead of a table.")
def command(
    *,
    scenarios: tuple[str, ...],
    parameters: tuple[str, ...],
    nodes: int | None,
    seed: int,
    time: str,
    out: Path,
    as_json: bool,
    **lab: Any,
) -> None:
    """Run scenarios on a lab of their own and keep what was measured."""
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock

    run_id = _new_id(RealClock().wall_ns())
    spec = options.lab_spec(name=f"run-{run_id}", nodes=0, time=time, seed=seed, **lab)
    trials = _trials(scenarios, parameters, nodes, seed, spec)
    if not as_json:
        simulated = ", virtual time" if spec.time == "virtual" else ""
        click.echo(f"run {run_id}: engine {spec.engine}, scheduler {spec.scheduler}, profile {spec.profile}{simulated}")
    is_virtual = spec.time == "virtual"
    code = tasks.run(lambda: _run(run_id, spec, trials, out, as_json=as_json), virtual=is_virtual)
    sys.exit(code)


def _trials(
    names: tuple[str, ...], parameters: tuple[str, ...], nodes: int | None, seed: int, spec: "LabSpec"
) -> list["Trial"]:
    """What is to be run, checked before anything starts."""
    from kubedyno.kit.errors import UsageError
    from kubedyno.lab.running import Trial
    from kubedyno.lab.scenario import parse_parameters
    from kubedyno.lab.spec import NO_SCHEDULER
    from kubedyno.scenarios import SCENARIOS

    if spec.scheduler == NO_SCHEDULER:
        raise UsageError("--scheduler none: a scenario needs a scheduler to measure")
    given = parse_parameters(parameters)
    if nodes is not None:
        if "nodes" in given:
            raise UsageError("--nodes and -p nodes=...: give one of them")
        given["nodes"] = str(nodes)
    trials = []
    for name in names:
        scenario = SCENARIOS.get(name)
        own = dict(given)
        takes_nodes = any(parameter.name == "nodes" for parameter in scenario.parameters)
        if takes_nodes and "NODE_COUNT" in os.environ:
            own.setdefault("nodes", os.environ["NODE_COUNT"])
        chosen = scenario.with_defaults(own)
        if takes_nodes and chosen["nodes"] < 1:
            raise UsageError(f"-p nodes={chosen['nodes']}: scenario {name} needs at least one node")
        trials.append(Trial(scenario=scenario, parameters=chosen, seed=seed))
    return trials


async def _run(run_id: str, spec: "LabSpec", trials: list["Trial"], out: Path, *, as_json: bool) -> "ExitCode":
    import asyncio

    import msgspec

    from kubedyno.cli.progress import renderer
    from kubedyno.kit import places
    from kubedyno.kit.clock import Clock, RealClock, rfc3339
    from kubedyno.kit.virtualtime import LoopClock
    from kubedyno.lab import folders, planning, running
    from kubedyno.lab.programs import provide
    from kubedyno.measure.records import Verdict
    from kubedyno.plane.ports import counted_ports
    from kubedyno.results import folder as results

    clock: Clock = LoopClock(asyncio.get_running_loop()) if spec.time == "virtual" else RealClock()
    drawn = renderer()
    for path in results.finish_abandoned(out):
        click.echo(f"{path} was abandoned by an earlier run; it is finished as crashed", err=True)
    lab_folder = folders.run_folder(places.state_dir(), run_id)
    needed = planning.plan(spec, folder=lab_folder.path, draw_port=counted_ports(1))
    provided = await provide(needed, cache=places.cache_dir(), env=os.environ, progress=drawn)
    record = running.run_record(run_id, command=tuple(sys.argv), provided=provided, clock=clock)
    verdicts: list[Verdict] = []
    with results.held(out, run_id):
        sink = results.RunFolder(out, run_id)
        sink.begin(record)
        try:
            for trial in trials:
                with lab_folder.hold():
                    try:
                        verdicts.append(
                            await running.run_trial(
                                trial,
                                spec=spec,
                                provided=provided,
                                folder=lab_folder,
                                sink=sink,
                                clock=clock,
                                progress=drawn,
                            )
                        )
                    finally:
                        lab_folder.remove()
        except asyncio.CancelledError:
            verdicts.append(Verdict.INTERRUPTED)
            raise
        finally:
            verdict, code = running.overall(verdicts)
            ended = msgspec.structs.replace(
                record, ended_at=rfc3339(clock.wall_ns()), verdict=verdict, exit_code=int(code)
            )
            path = sink.end(ended)
    _show(path, as_json=as_json)
    return code


def _show(path: Path, *, as_json: bool) -> None:
    """A table that a person understands, or the run's record."""
    import msgspec

    from kubedyno.measure.records import RunRecord, TrialRecord, Verdict

    text = (path / "run.json").read_text()
    if as_json:
        click.echo(text, nl=False)
        return
    run: RunRecord = msgspec.json.decode(text, type=RunRecord)
    for summary in run.trials:
        trial = msgspec.json.decode((path / summary.folder / "trial.json").read_bytes(), type=TrialRecord)
        click.echo(f"\n{trial.scenario}: {trial.verdict} in {trial.duration_s:.2f} s (lab up in {trial.setup_s:.1f} s)")
        if trial.verdict != Verdict.PASSED:
            click.echo(f"  {trial.message}")
        for one in trial.measurements:
            click.echo(
                f"  {one.name:<32} {one.value:9.3f} {one.unit}   between {one.lower:.3f} and {one.upper:.3f}, "
                f"n={len(one.samples)}"
            )
        for check in trial.checks:
            click.echo(f"  {'✓' if check.passed else '✗'} {check.name}" + (f": {check.detail}" if check.detail else ""))
    click.echo(f"\n{run.verdict}; everything is in {path}")


def _new_id(wall_ns: int) -> str:
    """Sorts by time, and is unique: `20260102-030405-a1b2c3`."""
    import secrets
    from datetime import UTC, datetime

    stamp = datetime.fromtimestamp(wall_ns // 10**9, tz=UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-{secrets.token_hex(3)}"
