"""Distributions as people write them."""

import statistics

import pytest

from kubedyno.kit import draws
from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit

FORMS = "write a duration like 2s, or uniform(1s, 3s), normal(2s, 500ms), lognormal(2s, 0.4), exponential(5s), "


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2s", {0.0: 2.0, 0.5: 2.0, 0.999: 2.0}),
        ("250ms", {0.3: 0.25}),
        ("0", {0.5: 0.0}),
        (" 1m30s ", {0.5: 90.0}),
        ("uniform(1s, 3s)", {0.0: 1.0, 0.25: 1.5, 0.5: 2.0, 1.0: 3.0}),
        ("uniform(2s,2s)", {0.7: 2.0}),
        (" uniform ( 1s , 2s ) ", {0.5: 1.5}),
        ("normal(2s, 500ms)", {0.5: 2.0, 0.841345: 2.5, 0.158655: 1.5}),
        ("normal(1s, 10s)", {0.01: 0.0, 0.5: 1.0}),
        ("lognormal(2s, 0.4)", {0.5: 2.0, 0.841345: 2.9836, 0.158655: 1.3406}),
        ("exponential(5s)", {0.0: 0.0, 0.632121: 5.0, 0.5: 3.4657}),
        ("choice(1s, 2s, 5s)", {0.0: 1.0, 0.3: 1.0, 0.34: 2.0, 0.67: 5.0, 1.0: 5.0}),
        ("choice(7s)", {0.0: 7.0, 0.99: 7.0}),
    ],
)
def test_a_distribution_has_its_quantiles(text: str, at: dict[float, float]) -> None:
    draw = Draw.parse(text)
    assert {unit: draw.at(unit) for unit in at} == pytest.approx(at, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("text", ["normal(1s, 1s)", "lognormal(30s, 9)", "lognormal(1s, 999)", "exponential(1e9)"])
@pytest.mark.parametrize("unit", [0.0, 1e-15, 1 - 1e-16, 1.0])
def test_no_draw_is_negative_or_endless(text: str, unit: float) -> None:
    assert 0.0 <= Draw.parse(text).at(unit) <= 1e9


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' is no duration: write it like 30s, 1m30s or 250ms"),
        ("soon", "'soon' is no duration: write it like 30s, 1m30s or 250ms"),
        ("-1s", "'-1s' is less than nothing"),
        ("nan", "'nan' is no duration"),
        ("1e300", "'1e300' is more than thirty years"),
        ("gamma(1s, 2s)", f"'gamma(1s, 2s)' is no distribution: {FORMS}choice(1s, 2s)"),
        ("uniform(1s)", "'uniform(1s)' is no distribution: "),
        ("uniform(1s, 2s, 3s)", "'uniform(1s, 2s, 3s)' is no distribution: "),
        ("uniform(1s,, 3s)", "'uniform(1s,, 3s)' is no distribution: "),
        ("exponential()", "'exponential()' is no distribution: "),
        ("choice()", "'choice()' is no distribution: "),
        ("choice(1s,,2s)", "'choice(1s,,2s)': '' is no duration"),
        ("uniform(3s, 1s)", "'uniform(3s, 1s)': the lower end comes first"),
        ("normal(2s, -1s)", "'normal(2s, -1s)': '-1s' is less than nothing"),
        ("choice(1s, soon)", "'choice(1s, soon)': 'soon' is no duration"),
        ("uniform(1s, 2s", "'uniform(1s, 2s' is no duration"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        Draw.parse(text)
    assert str(caught.value).startswith(sentence)


def test_numbers_depend_on_seed_and_purpose_only_and_are_spread() -> None:
    assert draws.unit(1, "start default/p") == draws.unit(1, "start default/p")
    assert draws.unit(1, "start default/p") != draws.unit(2, "start default/p")
    assert draws.unit(1, "start default/p") != draws.unit(1, "stop default/p")
    units = [draws.unit(7, f"pod {number}") for number in range(2000)]
    assert all(0 <= unit < 1 for unit in units)
    assert statistics.mean(units) == pytest.approx(0.5, abs=0.03)
    assert statistics.quantiles(units, n=10) == pytest.approx([share / 10 for share in range(1, 10)], abs=0.04)
