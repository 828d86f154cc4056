"""`kubedyno up`."""

import shlex
from typing import Any

import click

from kubedyno.cli import options


@click.command("up")
@click.option("--name", default="default", show_default=True, help="The lab's name.")
@click.option("--nodes", default=0, show_default=True, help="Nodes of pool `default`: 8 GPUs, 32 CPU, 256Gi each.")
@options.lab_options
@click.option("--dry-run", is_flag=True, help="Print the plan and start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the lab's status as JSON.")
def command(*, name: str, nodes: int, dry_run: bool, as_json: bool, **lab: Any) -> None:
    """Make a lab that stays, and print how to reach it.

    Ends by printing `export KUBECONFIG=...`; plain kubectl works on the lab.
    """
    from kubedyno.cli.progress import renderer
    from kubedyno.kit import places, tasks
    from kubedyno.lab import folders, launching

    spec = options.lab_spec(name=name, nodes=nodes, **lab)
    folder = folders.folder(places.state_dir(), name)
    if dry_run:
        from kubedyno.lab import planning
        from kubedyno.plane.ports import counted_ports

        click.echo(planning.render(planning.plan(spec, folder=folder.path, draw_port=counted_ports(10000))), nl=False)
        return
    kubeconfig = tasks.run(lambda: launching.launch(folder, spec, renderer()))
    if as_json:
        click.echo((folder.path / "status.json").read_text())
    else:
        click.echo(f"export KUBECONFIG={shlex.quote(str(kubeconfig))}")
