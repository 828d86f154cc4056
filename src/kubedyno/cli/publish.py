"""`kubedyno publish`."""

from pathlib import Path

import click


@click.command("publish")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "url", required=True, metavar="URL", help="The store: s3://BUCKET/PREFIX, or a folder.")
@click.option(
    "--commit",
    envvar="GITHUB_SHA",
    default="",
    help="The commit that was tested; without it GITHUB_SHA, if it is set.",
)
@click.option(
    "--ref",
    envvar="GITHUB_REF_NAME",
    default="",
    help="Its branch or tag; without it GITHUB_REF_NAME, if it is set.",
)
@click.option(
    "--prune-older-than",
    "days",
    type=click.IntRange(min=1),
    metavar="DAYS",
    help="Afterwards take runs out of the store that began longer ago.",
)
def command(*, folders: tuple[Path, ...], url: str, commit: str, ref: str, days: int | None) -> None:
    """Publish runs to a store that lasts: on S3, or in a folder.

    Region, endpoint and credentials of S3 come from AWS_REGION, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and so on. Many may
    publish at once; a run that is there already is left as it is.
    """
    from datetime import timedelta

    from kubedyno.cli.stores import now, open_store
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock

    clock = RealClock()
    store = open_store(url, clock)

    async def publish() -> None:
        for folder in folders:
            done = await store.publish(folder, commit=commit, ref=ref)
            told = f"{done.files} files" if done.files else "was there already"
            click.echo(f"{store.place.url}/{done.entry.path}: {told}")
        if days is not None:
            gone = await store.prune(older_than=now(clock) - timedelta(days=days))
            click.echo(f"{len(gone)} runs older than {days} days were taken out")

    tasks.run(publish)
