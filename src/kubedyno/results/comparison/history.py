"""What got slower along the history of a store, with the run in which it began. Pure."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from kubedyno.results.comparison.changing import change
from kubedyno.results.comparison.comparing import BELIEVED, LEVEL, REGRESSIONS, Outcome, outcome_of
from kubedyno.results.comparison.figures import Figure
from kubedyno.results.comparison.ranking import discoveries
from kubedyno.results.comparison.turning import chance_of_no_turn, turns
from kubedyno.results.publishing.rows import RunRow, TestRow


class Point(msgspec.Struct, frozen=True):
    """A figure in one run; of several repeats their median."""

    run: RunRow
    value: float


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one test in one configuration, run by run."""

    test: TestRow
    figure: str
    unit: str
    points: tuple[Point, ...]


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A new level of a line."""

    name: Annotated[str, Meta(description="Name of the test.")]
    scheduler: Annotated[str, Meta(description="Scheduler under test; empty: not told.")]
    series: Annotated[str, Meta(description="What was configured, as in the index.")]
    figure: Annotated[str, Meta(description="What was measured.")]
    unit: Annotated[str, Meta(description="Its unit.")]
    run: Annotated[str, Meta(description="Id of the first run of the new level.")]
    began: Annotated[str, Meta(description="When that run began, RFC 3339.")]
    commit: Annotated[str, Meta(description="The commit that it tested; empty: not told.")]
    commit_before: Annotated[str, Meta(description="The commit that the run before it tested; empty: not told.")]
    before: Annotated[float, Meta(description="Median of the level before.")]
    after: Annotated[float, Meta(description="Median of the new level.")]
    change: Annotated[float, Meta(description="The change as a share of the level before: 0.1 is a tenth more.")]
    outcome: Annotated[Outcome, Meta(description="What it means: `slower`, `faster`, `worse`, `better`, ...")]
    regressed: Annotated[bool, Meta(description="Whether it got worse by more than the threshold.")]
    is_last: Annotated[bool, Meta(description="Whether no other level came after it.")]


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """The file by which the dashboard marks them: `Public/regressions.json`."""

    format: Annotated[int, Meta(description="Version of this format.")] = 1
    lines: Annotated[int, Meta(description="How many lines were looked at.")]
    regressions: Annotated[tuple[Turn, ...], Meta(description="New levels, for better or worse, by time.")]


def lines_of(runs: Iterable[RunRow]) -> list[Line]:
    """The lines of a store's runs, whose points are in the order of the runs."""
    tests: dict[tuple[str, str, str], TestRow] = {}
    units: dict[tuple[str, str, str], str] = {}
    points: dict[tuple[str, str, str], list[Point]] = {}
    for run in runs:
        values: dict[tuple[str, str, str], list[float]] = {}
        for test in run.tests:
            if test.status in BELIEVED:
                for figure in test.figures:
                    key = (test.name, test.series, figure.name)
                    tests[key], units[key] = test, figure.unit
                    values.setdefault(key, []).append(figure.value)
        for key, several in values.items():
            points.setdefault(key, []).append(Point(run, statistics.median(several)))
    return [
        Line(test=tests[key], figure=key[2], unit=units[key], points=tuple(of_line)) for key, of_line in points.items()
    ]


def find_turns(lines: Sequence[Line], *, threshold: float, level: float = LEVEL) -> list[Turn]:
    """New levels of all lines, by time; of those that are told at most the share `level` is by chance."""
    values = [[point.value for point in line.points] for line in lines]
    chances = [chance_of_no_turn(of_line) for of_line in values]
    found = []
    for line, of_line, is_changed in zip(lines, values, discoveries(chances, level), strict=True):
        if is_changed:
            found += list(_turns(line, turns(of_line), threshold))
    return sorted(found, key=lambda turn: (turn.began, turn.name, turn.figure))


def _turns(line: Line, places: Sequence[int], threshold: float) -> Iterator[Turn]:
    values = [point.value for point in line.points]
    figure = Figure(scenario=line.test.name, subject="", parameters="", name=line.figure, percent=None, unit=line.unit)
    for start, place, end in zip((0, *places), places, (*places[1:], len(values)), strict=False):
        before, after = values[start:place], values[place:end]
        share = change(before, after, seed=place).share
        outcome = outcome_of(figure, share)
        run = line.points[place].run
        yield Turn(
            name=line.test.name,
            scheduler=line.test.scheduler,
            series=line.test.series,
            figure=line.figure,
            unit=line.unit,
            run=run.id,
            began=run.started_at,
            commit=run.commit,
            commit_before=line.points[place - 1].run.commit,
            before=statistics.median(before),
            after=statistics.median(after),
            change=share,
            outcome=outcome,
            regressed=outcome in REGRESSIONS and abs(share) > threshold,
            is_last=end == len(values),
        )
