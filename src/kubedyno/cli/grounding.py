"""On what a run is made, as its command line says: labs of its own, or a lab or cluster that is there."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kubedyno.lab.matrix import Trial
    from kubedyno.lab.selecting import Selection
    from kubedyno.lab.spec import LabSpec


def others_spec(
    selection: "Selection", schedulers: tuple[str, ...], seed: int, *, of_the_run: "Collection[str]"
) -> "LabSpec":
    """What a lab or cluster that is there already is; options that would make it another are refused.

    `of_the_run` are the names of those that would not.
    """
    import msgspec
    from click.core import ParameterSource

    from kubedyno.kit.errors import UsageError
    from kubedyno.lab import selecting
    from kubedyno.lab.spec import NO_SCHEDULER, LabSpec
    from kubedyno.schedulers import SCHEDULERS

    context = click.get_current_context()
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name not in of_the_run and source == ParameterSource.COMMANDLINE:
            raise UsageError(f"{option.opts[0]}: the lab is there already, and is what it is; leave it out")
    selecting.access(selection)  # says what is wrong with it
    lab = selecting.lab_of(selection)
    if lab is not None:
        spec = lab.read_spec()
        if spec.scheduler == NO_SCHEDULER:
            raise UsageError(f"lab {lab.name} has no scheduler to measure: start one with --scheduler")
        if schedulers not in {(), (spec.scheduler,)}:
            raise UsageError(f"--scheduler {schedulers[0]}: lab {lab.name} runs {spec.scheduler}")
    elif len(schedulers) == 1:
        spec = LabSpec(name="cluster", engine="cluster", scheduler=SCHEDULERS.get(schedulers[0]).name)
    else:
        raise UsageError("--scheduler: say which one this cluster has")
    return msgspec.structs.replace(spec, seed=seed)


def headline(run_id: str, specs: "Sequence[LabSpec]", trials: "Sequence[Trial]", others: "Selection | None") -> str:
    """What is run on what, in one line."""
    from kubedyno.measure.records import subject

    spec = specs[0]
    schedulers = ", ".join(subject(one.scheduler, one.ha) for one in specs)
    word = "schedulers" if len(specs) > 1 else "scheduler"
    simulated = ", virtual time" if spec.time == "virtual" else ""
    count = f", {len(trials)} trials" if len(trials) > 1 else ""
    where = "" if others is None else f", on {others.told}"
    return f"run {run_id}: engine {spec.engine}, {word} {schedulers}, profile {spec.profile}{simulated}{count}{where}"


def new_id(wall_ns: int) -> str:
    """Sorts by time, and is unique: `20260102-030405-a1b2c3`."""
    import secrets
    from datetime import UTC, datetime

    stamp = datetime.fromtimestamp(wall_ns // 10**9, tz=UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-{secrets.token_hex(3)}"
