import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.report.scales import duration, nice_ticks, scale, span

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0, "0 s"),
        (0.0000004, "0.40 µs"),
        (0.000089, "89.0 µs"),
        (0.0009996, "1.00 ms"),
        (0.00352, "3.52 ms"),
        (0.760, "760 ms"),
        (0.99999, "1.00 s"),
        (1.5, "1.50 s"),
        (59.96, "1.00 min"),
        (123, "2.05 min"),
        (7380, "2.05 h"),
        (-0.000797, "\N{MINUS SIGN}797 µs"),
    ],
)
def test_durations_have_three_digits_and_a_unit(time_s: float, text: str) -> None:
    assert duration(time_s) == text


@pytest.mark.parametrize(
    ("values_s", "kind", "labels"),
    [
        ([0.001, 0.004, 0.006], "linear", ["0", "2 ms", "4 ms", "6 ms"]),
        ([0.9, 1.3, 1.7], "linear", ["1.00 s", "1.25 s", "1.50 s"]),
        ([3.0, 30.0, 60.0], "linear", ["0", "20 s", "40 s", "60 s"]),
        ([600.0, 1200.0, 2400.0], "linear", ["0", "20 min", "40 min"]),
        ([0.001, 0.01, 0.01, 0.01, 10.0], "log", ["1 ms", "100 ms", "10 s"]),
        ([-0.2, -0.001, -0.001, 0.001, 0.2], "asinh", ["\N{MINUS SIGN}100 ms", "0", "100 ms"]),
        ([0.0, 0.0, 0.01, 0.01, 0.01, 1.0], "asinh", ["0", "100 ms", "1 s"]),
        ([0.0, 0.0], "linear", ["0", "0.5 s", "1.0 s"]),
    ],
)
def test_an_axis_suits_its_durations(values_s: list[float], kind: str, labels: list[str]) -> None:
    axis = scale(np.array(values_s))
    assert (axis.kind, list(axis.labels)) == (kind, labels)


def test_bounds_stretch_an_axis_a_little_but_take_no_detail_from_it() -> None:
    values = np.array([0.010, 0.020, 0.030])
    assert scale(values, np.array([0.008, 0.035])).high_s > 0.035
    assert scale(values, np.array([0.0, 1.0])).high_s < 0.07


@given(st.lists(st.floats(min_value=-1e4, max_value=1e5, allow_nan=False).map(lambda x: round(x, 6)), min_size=1))
def test_an_axis_holds_all_that_is_drawn_and_its_ticks_are_in_order(values: list[float]) -> None:
    values_s = np.array(values, dtype=np.float64)
    axis = scale(values_s)
    assert axis.low_s < axis.high_s
    shown = values_s[values_s > 0] if axis.kind == "log" else values_s
    assert axis.low_s <= shown.min()
    assert shown.max() <= axis.high_s
    assert len(axis.ticks_s) == len(axis.labels) == len(set(axis.labels)) >= 1
    assert list(axis.ticks_s) == sorted(axis.ticks_s)
    assert len(axis.ticks_s) <= 8
    edges = axis.edges_s(10)
    assert edges[0] == pytest.approx(axis.low_s)
    assert edges[-1] == pytest.approx(axis.high_s)
    assert (np.diff(edges) > 0).all()
    assert np.diff(axis.heights(edges)) == pytest.approx(np.full(10, 0.1), abs=1e-6)


@pytest.mark.parametrize(("time_s", "unit"), [(0.002, "ms"), (1.0, "s"), (100, "s"), (200, "min"), (20_000, "h")])
def test_an_axis_has_the_unit_in_which_its_end_is_a_number_one_can_say(time_s: float, unit: str) -> None:
    assert span(time_s)[1] == unit


def test_ticks_are_round() -> None:
    assert nice_ticks(0, 6.7, about=8) == [0, 1, 2, 3, 4, 5, 6]
    assert nice_ticks(-0.5, 1.1, about=4) == [-0.5, 0, 0.5, 1.0]
