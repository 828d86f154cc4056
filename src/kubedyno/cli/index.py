"""`kubedyno index`."""

import click


@click.group("index")
def command() -> None:
    """The index of a store of results, by which runs are found."""


@command.command("rebuild")
@click.option("--from", "url", required=True, metavar="URL", help="The store: s3://BUCKET/PREFIX, or a folder.")
def rebuild(*, url: str) -> None:
    """Make index and manifest of a store anew, from the reports that lie there.

    Reports of Ginkgo and of KAI's scale tests count as well as ours. What cannot be read stays in it, as broken, and
    with the reason.
    """
    from kubedyno.cli.stores import open_store
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.results.publishing.foreign_rows import BROKEN

    found = tasks.run(open_store(url, RealClock()).rebuild)
    click.echo(f"{len(found)} runs")
    for row in found:
        if row.status == BROKEN:
            click.echo(f"broken: {row.path}: {row.reason}")
