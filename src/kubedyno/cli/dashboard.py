"""`kubedyno dashboard`."""

from pathlib import Path

import click

_CONFIG = click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    help="A file with title, store, page of commits, days; without it, the usual.",
)


@click.group("dashboard")
def command() -> None:
    """The page over all runs of a store: trends, runs, failures, comparisons."""


@command.command("build")
@click.option(
    "--from",
    "url",
    envvar="SCALE_TESTS_S3_URL",
    metavar="URL",
    help="The store: http(s)://HOST/PATH is read by the page itself, s3://BUCKET/PREFIX or a folder is copied into the "
    "site. Without it SCALE_TESTS_S3_URL, then the config's.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("site"), show_default=True, help="The site.")
@_CONFIG
def build(*, url: str | None, out: Path, file: Path | None) -> None:
    """Write a static site, for GitHub Pages or any web server.

    A page that reads the store itself is up to date whenever it is opened; the store must let it (CORS, see
    docs/dashboard.md). One with a copy shows what was there when it was built.
    """
    from kubedyno.cli.stores import open_store
    from kubedyno.dashboard import building
    from kubedyno.dashboard.config import is_web, read_settings
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.kit.errors import UsageError

    settings = read_settings(file)
    where = url or settings.store
    if not where:
        raise UsageError("no store is named: write --from URL, set SCALE_TESTS_S3_URL, or `store` in the config")
    if is_web(where):
        done = building.build_live(where, out, settings)
        click.echo(f"{out}: reads {done.config.store}")
        return
    done = tasks.run(lambda: building.build_copy(open_store(where, RealClock()), out, settings))
    click.echo(f"{out}: {done.copied} files of {where}")
    for name in done.missing:
        click.echo(f"missing: {name}")


@command.command("serve")
@click.option(
    "--from", "folder", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="The store: a folder."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Of this machine; 0: any that is free."
)
@_CONFIG
def serve(*, folder: Path, port: int, file: Path | None) -> None:
    """Show the dashboard of a folder at once, on this machine only, until ctrl-C."""
    from kubedyno.dashboard.config import read_settings
    from kubedyno.dashboard.serving import forever, serving
    from kubedyno.kit import tasks

    settings = read_settings(file)

    async def show() -> None:
        async with serving(folder, settings, port=port) as address:
            click.echo(address)
            await forever()

    try:
        tasks.run(show)
    except tasks.Interrupted:
        click.echo("ended")
