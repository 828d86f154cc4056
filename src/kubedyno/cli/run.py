"""`kubedyno run`."""

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubedyno.cli import grounding, options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubedyno.lab.matrix import Order, Trial
    from kubedyno.lab.spec import LabSpec

_OF_THE_RUN = frozenset(
    {"scenarios", "parameters", "nodes", "seed", "repeat", "interleave", "thresholds", "out", "scheduler", "as_json"}
    | {"name", "kubeconfig", "context"}
)
"""Options that do not say what a lab is to be."""


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
@click.option(
    "-p",
    "parameters",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the scenario; several values with commas between are several trials.",
)
@click.option("--nodes", type=int, help="Short for -p nodes=N; NODE_COUNT in the environment is its default.")
@click.option("--seed", default=0, show_default=True, help="Seed of all randomness; repeats have the ones after it.")
@click.option("--repeat", default=1, show_default=True, metavar="K", help="Run every trial so often.")
@click.option("--interleave", is_flag=True, help="Repeat schedulers in turn: A B A B, not A A B B.")
@click.option(
    "--thresholds",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="YAML: scenario or glob, measurement, and what it must be at most (or at_most, at_least, percent).",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Where runs go.")
@click.option(
    "--time",
    default="real",
    show_default=True,
    help="real | virtual: one clock that jumps to the next timer; embedded engine, repeats exactly for a seed.",
)
@functools.partial(options.lab_options, several=True)
@click.option("--name", metavar="LAB", help="Run on this lab; what the run makes there is removed at the end.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Run on this cluster, likewise.")
@click.option("--context", help="One of the contexts of --kubeconfig.")
@click.option("--json", "as_json", is_flag=True, help="Print run.json instead of a table.")
def command(
    *,
    scenarios: tuple[str, ...],
    parameters: tuple[str, ...],
    nodes: int | None,
    seed: int,
    repeat: int,
    interleave: bool,
    thresholds: Path | None,
    time: str,
    out: Path,
    as_json: bool,
    scheduler: tuple[str, ...],
    name: str | None,
    kubeconfig: Path | None,
    context: str | None,
    **lab: Any,
) -> None:
    """Run scenarios on a lab of their own and keep what was measured.

    A SCENARIO is a name, a glob ('kai/*'), or a function of a file of yours (mine.py::fill); `kubedyno list` shows
    what there is.
    """
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.lab.matrix import Order
    from kubedyno.lab.selecting import Selection

    run_id = grounding.new_id(RealClock().wall_ns())
    ground = None
    if name or kubeconfig or context:
        ground = Selection(name=name, kubeconfig=kubeconfig, context=context)
        specs = [grounding.others_spec(ground, scheduler, seed, of_the_run=_OF_THE_RUN)]
    else:
        specs = _specs(run_id, scheduler, {"time": time, "seed": seed, **lab})
    order = Order(repeat=repeat, interleave=interleave, run_id=run_id)
    trials = _trials(scenarios, parameters, specs, order, nodes=nodes, thresholds=thresholds)
    if not as_json:
        click.echo(grounding.headline(run_id, specs, trials, ground))
    from kubedyno.cli.performing import Run, perform  # loads much that a wrong command line does not need

    run = Run(id=run_id, trials=trials, out=out, as_json=as_json, others=ground)
    sys.exit(tasks.run(lambda: perform(run), virtual=run.is_virtual))


def _specs(run_id: str, schedulers: tuple[str, ...], lab: "Mapping[str, Any]") -> "list[LabSpec]":
    """The lab of each scheduler with each way to replicate its control plane, checked."""
    from kubedyno.kit.errors import UsageError
    from kubedyno.lab import planning
    from kubedyno.lab.spec import NO_SCHEDULER

    if len(set(schedulers)) < len(schedulers):
        raise UsageError(f"--scheduler {schedulers[0]}: it stands there twice; --repeat runs a trial several times")
    specs: list[LabSpec] = [
        options.lab_spec(name=f"run-{run_id}", nodes=0, scheduler=scheduler, **{**lab, "ha": ha})
        for scheduler in schedulers or (None,)
        for ha in dict.fromkeys(lab["ha"].split(","))
    ]
    if any(spec.scheduler == NO_SCHEDULER for spec in specs):
        raise UsageError("--scheduler none: a scenario needs a scheduler to measure")
    return planning.settings_where_they_belong(specs)


def _trials(
    names: tuple[str, ...],
    parameters: tuple[str, ...],
    specs: "list[LabSpec]",
    order: "Order",
    *,
    nodes: int | None = None,
    thresholds: Path | None = None,
) -> "list[Trial]":
    """What is to be run, checked before anything starts."""
    from kubedyno.lab import choosing, matrix
    from kubedyno.lab import thresholds as limits
    from kubedyno.lab.scenario import parse_parameters
    from kubedyno.scenarios import ALIASES, SCENARIOS

    given = parse_parameters(parameters)
    found = {one.name: one for name in names for one in choosing.choose(name, SCENARIOS, ALIASES)}
    chosen = [
        (
            one,
            matrix.chosen_parameters(one, given, nodes=nodes, node_count=os.environ.get("NODE_COUNT")),
        )
        for one in found.values()
    ]
    bounds = limits.read(thresholds, {*SCENARIOS, *found}) if thresholds is not None else {}
    return matrix.trials(chosen, specs, order, bounds)
