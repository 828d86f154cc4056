"""`kubedyno report`."""

from pathlib import Path

import click


@click.command("report")
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
def command(*, folders: tuple[Path, ...]) -> None:
    """Make the page and the plots of runs anew, from their folders alone.

    Writes index.html into each folder, and general.png and detailed.png into those of its trials. `run` does so, too:
    this is for folders that an older version wrote, or that were copied without them.
    """
    from kubedyno.report import run_page

    for folder in folders:
        click.echo(run_page.write(folder))
