"""`kubedyno status`."""

from functools import partial

import click


@click.command("status")
@click.option("--name", help="One lab only.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with all effective settings and their evidence.")
def command(*, name: str | None, as_json: bool) -> None:
    """The labs that are there, and their processes."""
    import msgspec

    from kubedyno.kit import places, tasks
    from kubedyno.lab import folders, launching

    state = places.state_dir()
    chosen = list(folders.labs(state)) if name is None else [folders.choose(state, name)]
    statuses = [status for folder in chosen if (status := tasks.run(partial(launching.live_status, folder)))]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(statuses)).decode())
        return
    if not statuses:
        click.echo("there is no lab: `kubedyno up` makes one")
    for status in statuses:
        click.echo(
            f"{status.name}: {status.state}, engine {status.engine}, scheduler {status.scheduler}, "
            f"profile {status.profile}, {status.nodes} nodes, since {status.started_at}"
        )
        if status.message:
            click.echo(f"  {status.message}")
        if status.kubeconfig:
            click.echo(f"  export KUBECONFIG={status.kubeconfig}")
        for component in status.components:
            ports = " ".join(f"{purpose}={port}" for purpose, port in component.ports.items())
            click.echo(f"  {component.name:<30} {component.version:<10} pid {component.pid:<8} {ports}")
