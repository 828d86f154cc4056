from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.records import RUN, TRIAL

from kubedyno.measure.records import Measurement, Percentile, Program, Verdict
from kubedyno.model.settings import Evidence, Setting
from kubedyno.results.comparison.comparing import Comparison, Outcome, Trial, compare

pytestmark = pytest.mark.unit

REPEATS = 10


def measured(name: str, unit: str, value: float) -> Measurement:
    return Measurement(name=name, unit=unit, value=value, lower=value, upper=value, samples=(value,))


def trials(values: Sequence[float], *, name: str = "time", unit: str = "s", **fields: Any) -> list[Trial]:
    run_fields = {key: fields.pop(key) for key in ("host", "programs", "kubedyno", "id") if key in fields}
    run = msgspec.structs.replace(RUN, **run_fields)
    return [
        Trial(run, msgspec.structs.replace(TRIAL, measurements=(measured(name, unit, value),), repeat=number, **fields))
        for number, value in enumerate(values, start=1)
    ]


def spread_out(median: float, count: int = REPEATS) -> list[float]:
    return [median * (1 + 0.01 * (place - (count - 1) / 2) / count) for place in range(count)]


def outcome(found: Comparison) -> Outcome:
    (one,) = found.figures
    return one.outcome


@pytest.mark.parametrize(
    ("name", "unit", "risen", "fallen"),
    [
        ("time to fill", "s", Outcome.SLOWER, Outcome.FASTER),
        ("throughput", "pods/s", Outcome.FASTER, Outcome.SLOWER),
        ("GPU utilisation", "share", Outcome.BETTER, Outcome.WORSE),
        ("domains spanned, rack", "domains", Outcome.WORSE, Outcome.BETTER),
        ("jobs of the guest", "jobs", Outcome.HIGHER, Outcome.LOWER),
    ],
)
def test_a_change_is_named_by_what_it_means(name: str, unit: str, risen: Outcome, fallen: Outcome) -> None:
    low, high = (trials(spread_out(median), name=name, unit=unit) for median in (1.0, 1.2))
    up, down = compare(low, high, threshold=0.05), compare(high, low, threshold=0.05)
    assert (outcome(up), outcome(down)) == (risen, fallen)
    worse = {Outcome.SLOWER, Outcome.WORSE}
    assert (bool(up.regressed), bool(down.regressed)) == (risen in worse, fallen in worse)


def test_a_change_below_the_threshold_is_told_and_no_regression() -> None:
    found = compare(trials(spread_out(1.0)), trials(spread_out(1.03)), threshold=0.05)
    (one,) = found.figures
    assert (one.outcome, one.regressed) == (Outcome.SLOWER, False)
    assert one.change is not None
    assert one.change.share == pytest.approx(0.03, abs=0.002)


def test_what_differs_by_chance_is_the_same_and_says_what_would_have_been_seen() -> None:
    values = spread_out(1.0)
    (one,) = compare(trials(values), trials(values[::-1]), threshold=0.05).figures
    assert one.outcome == Outcome.SAME
    assert one.least_visible is not None
    assert one.least_visible < 0.05
    assert one.repeats_needed is None


def test_too_few_repeats_say_how_many_it_takes() -> None:
    (one,) = compare(trials([1.0, 1.1, 0.9]), trials([1.5, 1.6, 1.4]), threshold=0.1).figures
    assert (one.outcome, one.least_visible) == (Outcome.SAME, None)
    assert one.repeats_needed is not None
    assert one.repeats_needed > 3


def test_one_repeat_cannot_be_compared() -> None:
    (one,) = compare(trials([1.0]), trials([2.0]), threshold=0.05).figures
    assert one.outcome == Outcome.NOT_COMPARABLE
    assert one.reason == "one repeat says nothing of the spread: make more with --repeat"


def test_a_figure_that_one_set_lacks_cannot_be_compared() -> None:
    found = compare(trials([1.0, 1.1], name="a"), trials([1.0, 1.1], name="b"), threshold=0.05)
    assert [(one.figure.name, one.reason) for one in found.figures] == [
        ("a", "the second has no such figure"),
        ("b", "the first has no such figure"),
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"time": "virtual"}, "time: real here, virtual there"),
        ({"engine": "embedded"}, "engine: local here, embedded there"),
        ({"kubelet": "kubemark"}, "kubelet: kwok here, kubemark there"),
        (
            {"host": msgspec.structs.replace(RUN.host, cores=64)},
            "host: 4 processors (x86_64) here, 64 processors (x86_64) there",
        ),
    ],
)
def test_unlike_sets_are_not_compared(fields: dict[str, Any], reason: str) -> None:
    (one,) = compare(trials(spread_out(1.0)), trials(spread_out(2.0), **fields), threshold=0.05).figures
    assert (one.outcome, one.reason, one.regressed) == (Outcome.NOT_COMPARABLE, reason, False)


def test_unlike_parameters_are_different_figures() -> None:
    found = compare(trials([1.0, 1.1]), trials([1.0, 1.1], parameters={"nodes": 5}), threshold=0.05)
    assert [one.figure.parameters for one in found.figures] == ["nodes=4", "nodes=5"]
    assert {one.outcome for one in found.figures} == {Outcome.NOT_COMPARABLE}


def test_two_schedulers_are_compared_where_each_set_has_one() -> None:
    found = compare(trials(spread_out(1.0)), trials(spread_out(2.0), scheduler="reference"), threshold=0.05)
    assert outcome(found) == Outcome.SLOWER
    assert ("scheduler", ("kai", "reference")) in [(one.what, one.values) for one in found.differences]


def test_of_several_schedulers_each_is_compared_with_itself() -> None:
    both = [*trials(spread_out(1.0)), *trials(spread_out(3.0), scheduler="reference")]
    slower = [*trials(spread_out(1.0)), *trials(spread_out(4.0), scheduler="reference")]
    found = compare(both, slower, threshold=0.05)
    assert {one.figure.subject: one.outcome for one in found.figures} == {
        "kai": Outcome.SAME,
        "reference": Outcome.SLOWER,
    }


def test_what_else_differs_is_told() -> None:
    other = Setting(
        component="binder", field="qps", wanted="500", value="500", evidence=Evidence.ARGV, source="/proc/1"
    )
    found = compare(
        trials([1.0, 1.1]),
        trials(
            [1.0, 1.1],
            settings=(other,),
            kubedyno="0.2",
            programs={"etcd": Program(version="v4", source="PATH", path="/bin/etcd")},
        ),
        threshold=0.05,
    )
    assert [(one.what, one.values) for one in found.differences] == [
        ("binder.qps", ("50", "500")),
        ("kubedyno", ("0.1", "0.2")),
        ("etcd (version)", ("v3", "v4")),
    ]


def test_trials_that_cannot_be_believed_do_not_count_and_are_named() -> None:
    odd = trials([9.0, 9.0], verdict=Verdict.INVALID)
    found = compare([*trials(spread_out(1.0)), *odd], trials(spread_out(1.0)), threshold=0.05)
    assert outcome(found) == Outcome.SAME
    assert found.left_out == (f"2 of hello in {RUN.id}: invalid",)


def test_of_a_distribution_the_tail_is_compared_too() -> None:
    def tailed(tail: float) -> list[Trial]:
        return [
            Trial(
                trial.run,
                msgspec.structs.replace(
                    trial.record,
                    measurements=(
                        msgspec.structs.replace(
                            trial.record.measurements[0],
                            percentiles=(Percentile(percent=99.0, value=value * tail, lower=0.0, upper=9.0),),
                        ),
                    ),
                ),
            )
            for trial, value in zip(trials(spread_out(1.0)), spread_out(1.0), strict=True)
        ]

    found = compare(tailed(1.0), tailed(2.0), threshold=0.05)
    assert {one.figure.label: one.outcome for one in found.figures} == {
        "time": Outcome.SAME,
        "time, p99": Outcome.SLOWER,
    }


def drawn(
    generator: np.random.Generator, *, slower: float = 1.0, count: int = REPEATS, figures: int = 5
) -> list[Trial]:
    """Trials whose figures hang together, as those of one trial do, with long tails."""
    found = []
    for number in range(count):
        of_trial = generator.normal(0, 0.03)
        measurements = tuple(
            measured(f"figure {place}", "s", float(slower * np.exp(of_trial + generator.gumbel(0, 0.02))))
            for place in range(figures)
        )
        found.append(Trial(RUN, msgspec.structs.replace(TRIAL, measurements=measurements, repeat=number)))
    return found


def test_where_nothing_changed_changes_are_told_no_more_often_than_is_said() -> None:
    generator = np.random.default_rng(11)
    sets = 100
    alarms = 0
    for _ in range(sets):
        found = compare(drawn(generator), drawn(generator), threshold=0.0)
        alarms += any(one.outcome not in {Outcome.SAME, Outcome.NOT_COMPARABLE} for one in found.figures)
    # 5 % of them, and what chance adds to that in 199 of 200 such tests.
    assert alarms <= sets * 0.05 + 2.6 * (sets * 0.05 * 0.95) ** 0.5


def test_a_tenth_more_is_found_with_ten_repeats() -> None:
    generator = np.random.default_rng(12)
    seen = 0
    for _ in range(20):
        found = compare(drawn(generator), drawn(generator, slower=1.1), threshold=0.05)
        seen += bool(found.regressed)
    assert seen >= 18
