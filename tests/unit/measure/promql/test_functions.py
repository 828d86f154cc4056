"""Functions of values, labels and histograms."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scrapes import ask, loaded

from kubedyno.kit.errors import UsageError
from kubedyno.measure.promql import NAME, Sample, Samples

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("function", "results"),
    [
        ("abs(m)", [2.5, 0, 2.5, math.inf, math.nan]),
        ("ceil(m)", [-2, 0, 3, math.inf, math.nan]),
        ("floor(m)", [-3, 0, 2, math.inf, math.nan]),
        ("exp(m)", [math.exp(-2.5), 1, math.exp(2.5), math.inf, math.nan]),
        ("exp(m * 1000)", [0, 1, math.inf, math.inf, math.nan]),
        ("ln(m)", [math.nan, -math.inf, math.log(2.5), math.inf, math.nan]),
        ("log2(m)", [math.nan, -math.inf, math.log2(2.5), math.inf, math.nan]),
        ("log10(m)", [math.nan, -math.inf, math.log10(2.5), math.inf, math.nan]),
        ("sqrt(m)", [math.nan, 0, math.sqrt(2.5), math.inf, math.nan]),
        ("sgn(m)", [-1, 0, 1, 1, math.nan]),
        ("round(m)", [-2, 0, 3, math.inf, math.nan]),
        ("round(m, 2)", [-2, 0, 2, math.inf, math.nan]),
        ("clamp(m, -1, 1)", [-1, 0, 1, 1, math.nan]),
        ("clamp_min(m, 0)", [0, 0, 2.5, math.inf, math.nan]),
        ("clamp_max(m, 1)", [-2.5, 0, 1, 1, math.nan]),
        ("clamp(m, NaN, 1)", [math.nan] * 5),
        ("clamp(m, 1, 0)", []),
        ("timestamp(-m)", [7] * 5),
        ("timestamp(m)", [5] * 5),
    ],
)
def test_values_are_computed_one_by_one(function: str, results: list[float]) -> None:
    values = [-2.5, 0.0, 2.5, math.inf, math.nan]
    samples = loaded(5, {f'm{{x="{place}"}}': [0.0, value] for place, value in enumerate(values)})
    answer = ask(samples, function, 7)
    assert list(answer.values()) == pytest.approx(results, nan_ok=True)
    assert list(answer) == [f'{{x="{place}"}}' for place in range(len(results))]


def test_vectors_become_numbers_and_numbers_vectors() -> None:
    samples = loaded(5, {'m{x="1"}': [4.0], 'm{x="2"}': [6.0]})
    assert ask(samples, 'scalar(m{x="1"}) + 1', 0) == {"{}": 5}
    assert math.isnan(ask(samples, "scalar(m)", 0)["{}"])
    assert math.isnan(ask(samples, "scalar(nothing)", 0)["{}"])
    assert ask(samples, "vector(3) + 1", 0) == {"{}": 4}
    assert ask(samples, "time()", 12.5) == {"{}": 12.5}


def test_sorting_puts_nan_last() -> None:
    samples = loaded(5, {'m{x="1"}': [math.nan], 'm{x="2"}': [6.0], 'm{x="3"}': [4.0]})
    assert list(ask(samples, "sort(m)", 0)) == ['m{x="3"}', 'm{x="2"}', 'm{x="1"}']
    assert list(ask(samples, "sort_desc(m)", 0)) == ['m{x="2"}', 'm{x="3"}', 'm{x="1"}']


def test_what_is_absent_has_the_labels_that_were_asked_for() -> None:
    samples = loaded(5, {"m": [1.0]})
    assert ask(samples, "absent(m)", 0) == {}
    assert ask(samples, 'absent(n{a="x",b=~"y",c!="z"})', 0) == {'{a="x"}': 1}
    assert ask(samples, 'absent(n{a="x",a=~"x|y"})', 0) == {"{}": 1}
    assert ask(samples, "absent(sum(n))", 0) == {"{}": 1}
    assert ask(samples, 'absent_over_time(n{a="x"}[5m])', 0) == {'{a="x"}': 1}
    assert ask(samples, "absent_over_time(m[5m])", 0) == {}


def test_labels_are_replaced_where_the_whole_value_matches() -> None:
    samples = loaded(5, {'m{src="node-17-gpu"}': [1.0], 'm{src="other"}': [2.0]})
    assert ask(samples, 'label_replace(m, "dst", "n$1:${kind}$$", "src", "node-([0-9]+)-(?P<kind>.*)")', 0) == {
        'm{dst="n17:gpu$", src="node-17-gpu"}': 1,
        'm{src="other"}': 2,
    }
    # `$1x` is the group `1x`, which is not there; an empty value takes the label away.
    assert ask(samples, 'label_replace(m{src="other"}, "src", "$1x$9", "src", "(.*)")', 0) == {"m{}": 2}
    assert ask(samples, 'label_replace(m{src="other"}, "new", "set", "missing", "")', 0) == {
        'm{new="set", src="other"}': 2
    }


def test_labels_are_joined() -> None:
    samples = loaded(5, {'m{a="x",b="y"}': [1.0]})
    assert ask(samples, 'label_join(m, "c", "-", "a", "none", "b")', 0) == {'m{a="x", b="y", c="x--y"}': 1}
    assert ask(samples, 'label_join(m, "a", "-")', 0) == {'m{b="y"}': 1}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            'label_replace(m, "x y", "", "a", "")',
            "'x y' cannot be the name of a label: it is made of letters, digits and _",
        ),
        ('label_join(m, "1", "", "a")', "'1' cannot be the name of a label: it is made of letters, digits and _"),
        ('label_replace(m, "x", "", "a", "(")', "error parsing regexp: missing closing ): `(`"),
        (
            'label_replace(m, "a", "same", "a", ".*")',
            'it gives several elements with the labels m{a="same"}: select one metric, or aggregate first',
        ),
    ],
)
def test_labels_that_cannot_be_are_refused(query: str, message: str) -> None:
    samples = loaded(5, {'m{a="1"}': [1.0], 'm{a="2"}': [1.0]})
    with pytest.raises(UsageError) as refused:
        samples.query(query, 0)
    assert str(refused.value) == f"line 1, column 1 of the query {query!r}: {message}"


def quantile_of(share: float, buckets: dict[str, float]) -> float:
    samples = Samples()
    samples.append(0, {}, [Sample({NAME: "h_bucket", "le": bound}, count) for bound, count in buckets.items()])
    (value,) = ask(samples, f"histogram_quantile({share!r}, h_bucket)", 0).values()
    return value


@pytest.mark.parametrize(
    ("share", "buckets", "value"),
    [
        # Rank 5 of 10: the 5th of the 8 between 0 and 1, from 0 on.
        (0.5, {"1": 8, "2": 10, "+Inf": 10}, 5 / 8),
        # Rank 9: the first of the two between 1 and 2.
        (0.9, {"2": 10, "+Inf": 10, "1": 8}, 1.5),
        (0.99, {"1": 8, "2": 9, "+Inf": 10}, 2),
        (1, {"1": 8, "2": 10, "+Inf": 10}, 2),
        (0.1, {"-1": 5, "1": 10, "+Inf": 10}, -1),
        (0.5, {"1": 0, "2": 0, "+Inf": 0}, math.nan),
        (0.5, {"1": 8, "2": 10}, math.nan),
        (0.5, {"+Inf": 10}, math.nan),
        (0, {"1": 0, "2": 10, "+Inf": 10}, math.nan),
        (-0.1, {"1": 8, "+Inf": 10}, -math.inf),
        (1.1, {"1": 8, "+Inf": 10}, math.inf),
        # Not cumulated as it should be: 7 counts as 8, so rank 9.5 is three quarters between 2 and 4.
        (0.95, {"1": 8, "2": 7, "4": 10, "+Inf": 10}, 3.5),
        # Equal but for rounding: the quantile is not lost in a bucket that is all but empty.
        (1, {"1": 8, "2": 8 + 1e-13, "+Inf": 8 + 1e-13}, 1),
        # No number has a rank: as Prometheus finds it, by halves.
        (0.5, {"1": 8, "2": 10, "+Inf": math.nan}, 2),
    ],
)
def test_quantiles_of_histograms_are_interpolated(share: float, buckets: dict[str, float], value: float) -> None:
    assert quantile_of(share, buckets) == pytest.approx(value, nan_ok=True)


def test_histograms_are_told_apart_by_their_other_labels() -> None:
    samples = loaded(
        5,
        {
            'h_bucket{verb="GET",le="1"}': [10.0],
            'h_bucket{verb="GET",le="+Inf"}': [10.0],
            'h_bucket{verb="PUT",le="4"}': [10.0],
            'h_bucket{verb="PUT",le="4.0"}': [10.0],
            'h_bucket{verb="PUT",le="+Inf"}': [20.0],
            'h_bucket{verb="PUT",le="many"}': [1.0],
            'h_bucket{verb="PUT"}': [1.0],
        },
    )
    assert ask(samples, "histogram_quantile(0.5, h_bucket)", 0) == {'{verb="GET"}': 0.5, '{verb="PUT"}': 2}


@given(
    counts=st.lists(st.integers(0, 20), min_size=2, max_size=8).filter(any),
    widths=st.lists(st.integers(1, 9), min_size=8, max_size=8),
    # Parts of a power of two, so that ranks are exact: the least excess would lead beyond empty buckets.
    share=st.integers(1, 1024).map(lambda parts: parts / 1024),
)
def test_a_quantile_is_where_the_cumulated_counts_reach_their_share(
    counts: list[int], widths: list[int], share: float
) -> None:
    bounds = [float(sum(widths[: place + 1])) for place in range(len(counts) - 1)]
    sums = [float(sum(counts[: place + 1])) for place in range(len(counts))]
    buckets = dict(zip([*map(repr, bounds), "+Inf"], sums, strict=True))
    wanted = share * sums[-1]

    def reached(value: float) -> float:
        """How many lie up to a value, when each bucket is filled evenly."""
        edges = [0.0, *bounds]
        return sum(
            count * min(1.0, max(0.0, (value - low) / (high - low)))
            for count, low, high in zip(counts, edges, bounds, strict=False)
        )

    low, high = 0.0, bounds[-1]
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) >= wanted - 1e-9 else (middle, high)
    assert quantile_of(share, buckets) == pytest.approx(high, abs=1e-6)
