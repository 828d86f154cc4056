"""Changes along the history of a store as text for a person."""

from collections.abc import Iterator

from kubedyno.cli.aligning import aligned, number
from kubedyno.cli.comparison import share_in_words
from kubedyno.results.comparison.history import Turn, Turns


def in_words(found: Turns) -> Iterator[str]:
    """The lines that are printed."""
    if found.regressions:
        head = ("since", "commit", "test", "figure", "", "before", "after", "change", "")
        yield aligned([head, *(_row(turn) for turn in found.regressions)], numbers=4)
        yield ""
    regressed = [turn for turn in found.regressions if turn.regressed and turn.is_last]
    if not regressed:
        yield f"no regression along {found.lines:,} lines"
        return
    yield f"regressed: {len(regressed)} of {found.lines:,} lines are at a level that is worse than the one before"


def _row(turn: Turn) -> tuple[str, ...]:
    return (
        turn.began[:16],
        f"{turn.commit_before[:9] or '?'}..{turn.commit[:9] or '?'}",
        f"{turn.name} on {turn.scheduler}" if turn.scheduler else turn.name,
        turn.figure,
        turn.unit,
        number(turn.before),
        number(turn.after),
        share_in_words(turn.change),
        f"{turn.outcome}{'' if turn.is_last else ', until later'}",
    )
