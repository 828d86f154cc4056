"""`kubedyno compare`."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kubedyno.results.comparison.comparing import Trial


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

    A and B are folders of runs, or folders that hold several; FOLDER@SCHEDULER takes those on one scheduler. Of a store
    URL#NAME takes the runs of a branch, a tag or a commit, or one run. Each repeat of a trial is one sample. The exit
    code is 1 if something got worse by more than the threshold.
    """
    import msgspec

    from kubedyno.cli.comparison import in_words
    from kubedyno.kit.errors import ExitCode
    from kubedyno.results.comparison.comparing import compare

    found = compare(_trials(first), _trials(second), threshold=threshold / 100)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        for line in in_words(found):
            click.echo(line)
    if found.regressed:
        ctx.exit(ExitCode.CHECK_FAILED)


def _trials(reference: str) -> "tuple[Trial, ...]":
    from kubedyno.cli.stores import open_store
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.results.comparison.reading import read_set
    from kubedyno.results.comparison.stored import read_stored

    url, mark, chosen = reference.rpartition("#")
    if not mark:
        return read_set(reference)
    return tasks.run(lambda: read_stored(open_store(url, RealClock()), chosen))
