"""`kubedyno sample`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubedyno.cli.selection import cluster_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubedyno.measure.sampling import Summary
    from kubedyno.model.samples import SampledFile


@click.command("sample")
@click.option(
    "-o",
    "--output-dir",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder of the submission; it gets sampled.json.",
)
@click.option("-t", "--workload-type", metavar="TYPE", help="Type of its workloads; it must be that of the submission.")
@click.option("-p", "--project", help="Sample this project only; the others stay as an earlier sample has them.")
@click.option("--scheduler", metavar="DIALECT", help="Read their way in this dialect; without it, the submission's.")
@click.option("--follow", is_flag=True, help="Go on recording until all workloads run, or until ctrl-C.")
@click.option("--settings", type=click.Path(path_type=Path), help="Settings; without it, settings.yaml if it is here.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@cluster_options
def command(
    *,
    output_dir: Path,
    workload_type: str | None,
    project: str | None,
    scheduler: str | None,
    follow: bool,
    settings: Path | None,
    as_json: bool,
    **cluster: Any,
) -> None:
    """Write down when submitted workloads reached each step.

    What was recorded is merged with what the cluster says now and with earlier samples. It can be run again and again
    while the submission goes on.
    """
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.lab.sampling import SAMPLED, Sampler
    from kubedyno.lab.selecting import Selection
    from kubedyno.report.reading import read_sampled
    from kubedyno.workload import journal
    from kubedyno.workload import settings as file

    path, clock = output_dir / SAMPLED, RealClock()
    sampler = Sampler(
        output_dir,
        selection=Selection(**cluster),
        clock=clock,
        workload_type=workload_type,
        project=project,
        scheduler=scheduler,
        settings=file.load(settings),
    )
    # Read before anything is asked for: what is wrong with it is told at once.
    earlier = read_sampled(output_dir, journal.read_folder(output_dir)) if path.exists() else None
    if follow:
        from kubedyno.cli import following

        gathered = tasks.run(lambda: sampler.follow(following.shown(clock)))
    else:
        gathered = tasks.run(sampler.look)
    sampled = sampler.sample(gathered, earlier)
    _write(path, sampled)
    _tell(path, sampled, gathered.notes, as_json=as_json)


def _write(path: Path, sampled: "SampledFile") -> None:
    import msgspec

    from kubedyno.kit.durable import write_atomic
    from kubedyno.kit.errors import EngineError

    try:
        write_atomic(path, msgspec.json.format(msgspec.json.encode(sampled), indent=1))
    except OSError as error:
        raise EngineError(f"{path} cannot be written: {error.strerror}; free some space there") from error


def _tell(path: Path, sampled: "SampledFile", notes: "Sequence[str]", *, as_json: bool) -> None:
    import msgspec

    from kubedyno.measure import sampling

    figures = sampling.summary(sampled)
    if as_json:
        told = {"file": str(path), **msgspec.to_builtins(figures), "samples": sampled.samples, "notes": notes}
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        click.echo(_table(path, sampled, figures))
    for note in notes:
        click.echo(f"kubedyno: {note}", err=True)


def _table(path: Path, sampled: "SampledFile", figures: "Summary") -> str:
    """Counts and times of the steps, and how far they can be believed."""
    from kubedyno.cli.following import time_text

    pods = f"{figures.pods} pod{'' if figures.pods == 1 else 's'}"
    lines = [f"{path}: {figures.workloads} workloads with {pods}, sample {sampled.samples}"]
    rows = [("step", "reached", "p50", "p99")]
    rows += [(step.title, str(step.workloads), time_text(step.p50_s), time_text(step.p99_s)) for step in figures.steps]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines += [
        "  ".join(
            (row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)))
        )
        for row in rows
    ]
    troubles = {"refused": figures.refused, "with errors": figures.erroneous - figures.refused}
    counted = [f"{number} {what}" for what, number in troubles.items() if number]
    if figures.evictions:
        counted.append(f"{figures.evictions} pods evicted")
    if counted:
        lines.append(", ".join(counted))
    lag = figures.lag
    if lag is not None:
        p50, p99, longest = (time_text(value) for value in (lag.p50_s, lag.p99_s, lag.max_s))
        lines.append(f"news arrived after {p50} (p50), {p99} (p99), {longest} at most")
    lines.append(f"{'whole' if figures.whole else 'not proven whole'}: {figures.proof}")
    return "\n".join(lines)
