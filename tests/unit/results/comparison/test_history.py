import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.results.comparison.comparing import Outcome
from kubedyno.results.comparison.history import Turn, find_turns, lines_of
from kubedyno.results.comparison.turning import LEAST, chance_of_no_turn, turns
from kubedyno.results.publishing.rows import FigureRow, RunRow, TestRow

pytestmark = pytest.mark.unit


def level(median: float, count: int, generator: np.random.Generator, *, deviation: float = 0.02) -> list[float]:
    return [float(value) for value in median * np.exp(generator.normal(0, deviation, count))]


def runs(
    values: list[float], *, name: str = "fill", series: str = "s", figure: str = "time", unit: str = "s"
) -> list[RunRow]:
    return [
        RunRow(
            id=f"r{day}",
            path=f"Public/r{day}/report.json",
            started_at=f"2026-01-{day + 1:02d}T00:00:00Z",
            source="kubedyno",
            status="passed",
            commit=f"c{day}",
            tests=(
                TestRow(
                    name=name,
                    series=series,
                    status="passed",
                    scheduler="kai",
                    figures=(FigureRow(name=figure, unit=unit, value=value),),
                ),
            ),
        )
        for day, value in enumerate(values)
    ]


def found_in(values: list[float], **fields: str) -> list[Turn]:
    return find_turns(lines_of(runs(values, **fields)), threshold=0.05)


def test_a_step_is_found_where_it_is_with_its_commit() -> None:
    generator = np.random.default_rng(1)
    (turn,) = found_in([*level(10, 12, generator), *level(11, 12, generator)])
    assert (turn.run, turn.commit_before, turn.commit) == ("r12", "c11", "c12")
    assert (turn.outcome, turn.regressed, turn.is_last) == (Outcome.SLOWER, True, True)
    assert turn.change == pytest.approx(0.1, abs=0.02)
    assert turn.before == pytest.approx(10, rel=0.02)


def test_what_got_better_again_is_two_levels_of_which_the_last_counts() -> None:
    generator = np.random.default_rng(2)
    found = found_in([*level(10, 10, generator), *level(13, 8, generator), *level(10, 10, generator)])
    assert [(turn.run, turn.outcome, turn.is_last) for turn in found] == [
        ("r10", Outcome.SLOWER, False),
        ("r18", Outcome.FASTER, True),
    ]


def test_a_step_below_the_threshold_is_told_and_no_regression() -> None:
    generator = np.random.default_rng(3)
    (turn,) = found_in([*level(10, 14, generator, deviation=0.002), *level(10.2, 14, generator, deviation=0.002)])
    assert (turn.outcome, turn.regressed) == (Outcome.SLOWER, False)


def test_a_fall_of_a_rate_is_a_regression() -> None:
    generator = np.random.default_rng(4)
    (turn,) = found_in([*level(10, 12, generator), *level(8, 12, generator)], figure="throughput", unit="pods/s")
    assert (turn.outcome, turn.regressed) == (Outcome.SLOWER, True)


def test_one_bad_night_is_no_level() -> None:
    generator = np.random.default_rng(5)
    values = level(10, 20, generator)
    values[7] = 40.0
    assert found_in(values) == []


def test_the_place_is_exact_in_a_long_history() -> None:
    generator = np.random.default_rng(21)
    values = [*level(10, 301, generator), *level(11, 299, generator)]
    assert turns(values) == [301]


def test_the_chance_of_a_turn_where_there_is_none_is_as_said() -> None:
    generator = np.random.default_rng(9)
    chances = [chance_of_no_turn([float(value) for value in generator.normal(0, 1, 30)]) for _ in range(400)]
    for level_ in (0.05, 0.2, 0.5):
        told = sum(chance <= level_ for chance in chances)
        assert abs(told - 400 * level_) <= 3.3 * (400 * level_ * (1 - level_)) ** 0.5


def test_along_many_lines_that_do_not_change_little_is_told() -> None:
    generator = np.random.default_rng(6)
    history = [
        row for number in range(60) for row in runs(level(10, 30, generator, deviation=0.1), series=f"s{number}")
    ]
    assert find_turns(lines_of(history), threshold=0.0) == []


def test_unlike_configurations_never_share_a_line() -> None:
    both = [*runs([1.0] * 9, series="a"), *runs([2.0] * 9, series="b")]
    assert [(line.test.series, len(line.points)) for line in lines_of(both)] == [("a", 9), ("b", 9)]
    assert find_turns(lines_of(both), threshold=0.05) == []


def test_repeats_of_a_run_are_one_point_and_what_cannot_be_believed_is_none() -> None:
    (row,) = runs([1.0])
    tests = tuple(
        TestRow(name="fill", series="s", status=status, figures=(FigureRow(name="time", unit="s", value=value),))
        for status, value in (("passed", 1.0), ("passed", 2.0), ("failed", 3.0), ("invalid", 99.0), ("error", 99.0))
    )
    again = RunRow(
        id=row.id, path=row.path, started_at=row.started_at, source=row.source, status=row.status, tests=tests
    )
    (line,) = lines_of([again])
    assert [point.value for point in line.points] == [2.0]


@given(st.lists(st.floats(0.1, 10), max_size=40))
def test_levels_have_a_least_length_whatever_the_figures(values: list[float]) -> None:
    places = [0, *turns(values), len(values)]
    assert places == sorted(set(places)) or not values
    if len(places) > 2:
        assert all(end - start >= LEAST for start, end in itertools.pairwise(places))
    assert 0 < chance_of_no_turn(values) <= 1


@given(st.lists(st.floats(0.1, 10), min_size=8, max_size=30))
def test_only_the_order_of_figures_counts(values: list[float]) -> None:
    assert chance_of_no_turn(values) == chance_of_no_turn([value * 1000 for value in values])
