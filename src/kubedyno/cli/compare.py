"""`kubedyno compare`."""

import click


@click.command("compare")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--threshold",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="A change for the worse by more than this is a regression.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.pass_context
def command(ctx: click.Context, *, first: str, second: str, threshold: float, as_json: bool) -> None:
    """Compare the trials of B with those of A: what got faster or slower, and how sure that is.

    A and B are folders of runs, or folders that hold several; FOLDER@SCHEDULER takes those on one scheduler. Each
    repeat of a trial is one sample. The exit code is 1 if something got worse by more than the threshold.
    """
    import msgspec

    from kubedyno.cli.comparison import in_words
    from kubedyno.kit.errors import ExitCode
    from kubedyno.results.comparison.comparing import compare
    from kubedyno.results.comparison.reading import read_set

    found = compare(read_set(first), read_set(second), threshold=threshold / 100)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        for line in in_words(found):
            click.echo(line)
    if found.regressed:
        ctx.exit(ExitCode.CHECK_FAILED)
