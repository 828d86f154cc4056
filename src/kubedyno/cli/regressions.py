"""`kubedyno regressions`."""

import click


@click.command("regressions")
@click.option("--from", "url", required=True, metavar="URL", help="The store: s3://BUCKET/PREFIX, or a folder.")
@click.option(
    "--threshold",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="A change for the worse by more than this is a regression.",
)
@click.option("--days", type=click.IntRange(min=1), help="Only runs that began in the last so many days.")
@click.option("--write", "writes", is_flag=True, help="Write them into the store, where the dashboard marks them.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_context
def command(ctx: click.Context, *, url: str, threshold: float, days: int | None, writes: bool, as_json: bool) -> None:
    """Find where figures changed their level along the history of a store, and in which run.

    Runs of one configuration make a line; levels of fewer than four runs do not count. The exit code is 1 if something
    got worse by more than the threshold, and still is.
    """
    from datetime import timedelta

    import msgspec

    from kubedyno.cli.stores import now, open_store
    from kubedyno.cli.turns import in_words
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.kit.errors import ExitCode
    from kubedyno.results.comparison.history import Turns, find_turns, lines_of
    from kubedyno.results.publishing.manifest import REGRESSIONS

    clock = RealClock()
    store = open_store(url, clock)

    async def look() -> Turns:
        since = None if days is None else now(clock) - timedelta(days=days)
        lines = lines_of(await store.rows(since=since))
        found = Turns(lines=len(lines), regressions=tuple(find_turns(lines, threshold=threshold / 100)))
        if writes:
            await store.place.write(REGRESSIONS, msgspec.json.encode(found))
        return found

    found = tasks.run(look)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        for line in in_words(found):
            click.echo(line)
    if any(turn.regressed and turn.is_last for turn in found.regressions):
        ctx.exit(ExitCode.CHECK_FAILED)
