"""`kubedyno down`."""

from functools import partial

import click


@click.command("down")
@click.option("--name", help="The lab's name; not needed when there is only one.")
@click.option("--all", "every", is_flag=True, help="All labs.")
def command(*, name: str | None, every: bool) -> None:
    """End a lab: no process and no port is left."""
    from kubedyno.kit import places, tasks
    from kubedyno.lab import folders, launching

    state = places.state_dir()
    for folder in list(folders.labs(state)) if every else [folders.choose(state, name)]:
        ran = tasks.run(partial(launching.end, folder))
        click.echo(f"lab {folder.name} is down" if ran else f"lab {folder.name} was not running; its folder is removed")
