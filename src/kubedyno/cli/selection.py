"""Which cluster a command works on: its options, and the work there."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kubedyno.client.rest import Client

Command = TypeVar("Command", bound=Callable[..., Any])
Result = TypeVar("Result")


def cluster_options(command: Command) -> Command:
    """`--kubeconfig`, `--context` and `--name`: the command gets them as `kubeconfig`, `context` and `name`."""
    options = [
        click.option("--kubeconfig", type=click.Path(path_type=Path), help="The file of the cluster."),
        click.option("--context", help="One of the contexts of --kubeconfig or KUBECONFIG."),
        click.option(
            "--name", help="A lab. Without all three: KUBECONFIG, else the only lab that runs.", metavar="LAB"
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def in_cluster(
    work: "Callable[[Client], Awaitable[Result]]", cluster: Mapping[str, Any], *, what: str | None = None
) -> Result:
    """What the work on the cluster of these options gives. With `what`, a terminal sees that it goes on."""
    from kubedyno.cli.progress import renderer
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.kit.progress import told
    from kubedyno.lab import selecting

    chosen = selecting.Selection(**cluster)

    async def run() -> Result:
        clock = RealClock()
        async with selecting.selected(chosen, clock=clock) as client:
            if what is None:
                return await work(client)
            with told(renderer(), clock, what):
                return await work(client)

    return tasks.run(run)
