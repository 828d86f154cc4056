"""`kubedyno plot`."""

from pathlib import Path

import click

_FORMATS = ("png", "svg", "html")


@click.command("plot")
@click.option(
    "-o",
    "--output-dir",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder of the submission, with what `submit` and `sample` wrote there.",
)
@click.option(
    "--plot",
    "kind",
    type=click.Choice(("general", "detailed")),
    help="Which steps: the main ones, or all. Without it, general, unless the settings ask for details.",
)
@click.option(
    "--skip-errors/--no-skip-errors",
    default=True,
    show_default=True,
    help="Leave workloads with erroneous or missing times out of the pictures, or draw them, marked.",
)
@click.option("--head", type=click.IntRange(min=1), metavar="N", help="Only the first N workloads, as submitted.")
@click.option(
    "--tail", type=click.IntRange(min=1), metavar="N", help="Only the last N workloads; with --head, of those."
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(_FORMATS),
    default=("png",),
    show_default=True,
    help="Kind of picture; may be given several times.",
)
@click.option(
    "--settings",
    "settings_file",
    type=click.Path(path_type=Path),
    help="Settings file; without it settings.yaml of this folder, if it is there.",
)
def command(
    *,
    folder: Path,
    kind: str | None,
    skip_errors: bool,
    head: int | None,
    tail: int | None,
    formats: tuple[str, ...],
    settings_file: Path | None,
) -> None:
    """Draw the times of submitted workloads, and write them as a table.

    Writes times.csv and general.png or detailed.png into the folder of the submission: a row per step with the time
    since the step before it, over submission time and as a histogram; the last row is the total.
    """
    import msgspec

    from kubedyno.kit.clock import NS_PER_S
    from kubedyno.report.plotting import Wish, plot
    from kubedyno.report.ways import MICROSECOND_NS
    from kubedyno.workload import settings

    chosen = settings.load(settings_file)
    asked = {
        "plot": kind or ("detailed" if chosen.scheduling_details else "general"),
        "skip_errors": skip_errors,
        "head": head,
        "tail": tail,
        "formats": tuple(dict.fromkeys(formats)),
        "resolution_ns": NS_PER_S if chosen.resolution == "1s" else MICROSECOND_NS,
    }
    plotted = plot(folder, msgspec.convert(asked, Wish))
    table, *pictures = plotted.files
    click.echo(f"{table}: {plotted.workloads:,} workloads")
    for picture in pictures:
        click.echo(f"{picture}: {plotted.drawn:,} drawn{f'; {plotted.wrong}' if plotted.wrong else ''}")
