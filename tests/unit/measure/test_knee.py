"""The search for a knee against servers whose knee is known: exact, noisy, and with no order at all."""

import math
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedyno.kit import randomness
from kubedyno.kit.errors import UsageError
from kubedyno.measure.knee import Effort, Goal, Knee, Search, Step

pytestmark = pytest.mark.unit

GOAL = Goal(slo_s=1.0, error_budget=0.01)
STEP_S = 10.0
USUAL = Effort()


def step(rate: float, *, good: bool, **more: object) -> Step:
    made = Step(rate=rate, latency_s=0.1 if good else 3.0, requests=100, duration_s=STEP_S)
    return msgspec.structs.replace(made, **more)


def searched(answer: Callable[[float], Step], *, start: float = 10.0, effort: Effort = USUAL) -> Knee:
    search = Search(start=start, goal=GOAL, effort=effort)
    while (rate := search.next_rate()) is not None:
        assert search.next_rate() == rate, "asking twice changes nothing"
        search.note(answer(rate))
        assert len(search.steps) <= effort.steps
    return search.knee()


rates = st.floats(min_value=2.0, max_value=50_000.0)


@given(
    knee=rates,
    start=rates,
    precision=st.floats(min_value=0.02, max_value=0.5),
    factor=st.floats(min_value=1.2, max_value=8.0),
    confirmations=st.integers(0, 3),
)
def test_a_knee_is_enclosed_as_exactly_as_was_asked_for(
    knee: float, start: float, precision: float, factor: float, confirmations: int
) -> None:
    effort = Effort(precision=precision, factor=factor, confirmations=confirmations, least=1.0, steps=500)
    found = searched(lambda rate: step(rate, good=rate <= knee), start=start, effort=effort)
    assert found.rate is not None
    assert found.bad_rate is not None
    assert found.rate <= knee < found.bad_rate
    assert (found.bad_rate - found.rate) / found.bad_rate <= precision
    assert (found.lower, found.upper) == (found.rate, found.bad_rate)
    assert (found.confirmed, found.unfit, found.broke) == (True, "", ("latency",))
    for side in (found.rate, found.bad_rate):
        assert sum(one.rate == side for one in found.steps) == confirmations + 1
    ramp = abs(math.log(knee / start, factor)) + 2
    bisections = max(0.0, math.log2(math.log(factor) / -math.log1p(-precision))) + 2
    assert len(found.steps) <= ramp + bisections + 2 * confirmations


@given(capacity=st.floats(min_value=10.0, max_value=10_000.0), slo_s=st.floats(min_value=0.05, max_value=2.0))
def test_the_knee_of_a_queue_is_where_its_latency_reaches_the_limit(capacity: float, slo_s: float) -> None:
    """One server, arrivals and work at random: the time in it is exponential, and p99 is known for each rate."""
    knee = capacity - math.log(100) / slo_s
    search = Search(start=1.0, goal=Goal(slo_s=slo_s), effort=Effort(precision=0.05, least=0.01))
    while (rate := search.next_rate()) is not None:
        p99_s = math.log(100) / (capacity - rate) if rate < capacity else None
        search.note(Step(rate=rate, latency_s=p99_s, requests=100, duration_s=STEP_S))
    found = search.knee()
    if knee < 0.01:
        assert found.rate is None
        assert "broke a limit" in found.unfit
        return
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= knee * (1 + 1e-9)
    assert found.upper >= knee * (1 - 1e-9)
    assert (found.upper - found.lower) / found.upper <= 0.05


@settings(max_examples=60)
@given(knee=st.floats(min_value=20.0, max_value=5000.0), seed=st.integers(0, 10**6))
def test_near_its_knee_a_server_may_be_of_two_minds(knee: float, seed: int) -> None:
    """Within a tenth of the knee steps are good or bad at random."""
    rng = randomness.stream(seed, "minds")

    def answer(rate: float) -> Step:
        return step(rate, good=rate < 0.9 * knee or (rate < 1.1 * knee and rng.random() < 0.5))

    found = searched(answer, effort=Effort(precision=0.05, steps=200))
    assert not found.unfit
    assert found.rate is not None
    assert found.lower is not None
    assert found.lower <= found.rate <= (found.upper or math.inf)
    assert found.lower < 1.1 * knee
    assert (found.upper or math.inf) >= 0.9 * knee
    # What was certain is not doubted.
    assert 0.85 * knee <= found.rate <= 1.1 * knee


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_one_hiccup_at_a_low_rate_does_not_become_the_knee(seed: int) -> None:
    knee, hiccup = 1000.0, randomness.stream(seed, "hiccup").randrange(0, 6)
    tries = 0

    def answer(rate: float) -> Step:
        nonlocal tries
        tries += 1
        return step(rate, good=rate <= knee and tries - 1 != hiccup)

    found = searched(answer)
    assert found.rate is not None
    assert 0.9 * knee <= found.rate <= knee
    assert found.confirmed


@given(
    verdicts=st.lists(st.booleans(), min_size=1, max_size=60),
    start=rates,
    steps=st.integers(1, 30),
    confirmations=st.integers(0, 3),
)
def test_without_any_order_the_search_ends_and_claims_no_more_than_it_saw(
    verdicts: list[bool], start: float, steps: int, confirmations: int
) -> None:
    said = iter(verdicts * 60)
    effort = Effort(steps=steps, confirmations=confirmations, least=1.0, most=100_000.0)
    found = searched(lambda rate: step(rate, good=next(said)), start=start, effort=effort)
    assert 1 <= len(found.steps) <= steps
    assert all(1.0 <= one.rate <= 100_000.0 for one in found.steps)
    assert found.rate is not None or found.unfit
    tries = {
        side: [not one.broken(GOAL) for one in found.steps if one.rate == side]
        for side in (found.rate, found.bad_rate)
        if side is not None
    }
    if found.rate is not None:
        assert sum(tries[found.rate]) * 2 >= len(tries[found.rate])
        assert found.bad_rate is None or found.rate < found.bad_rate
    for one in found.steps:
        is_good = not one.broken(GOAL)
        assert is_good or found.lower is None or one.rate > found.lower
        assert not is_good or found.upper is None or one.rate < found.upper


def test_what_broke_first_and_how_it_went_on_is_told() -> None:
    def answer(rate: float) -> Step:
        if rate <= 40:
            return step(rate, good=True, errors={"409": 1})
        return step(
            rate,
            good=rate < 120,
            errors={"429": 7, "504": 1} if rate < 60 else {"429": 50},
            first_error="429 too many requests, please try again later",
            recovery_s=rate / 10,
        )

    found = searched(answer, effort=Effort(confirmations=0, precision=0.3))
    assert [one.rate for one in found.steps] == [10, 20, 40, 80, pytest.approx(56.57, abs=0.01)]
    assert (found.rate, found.bad_rate) == (40, pytest.approx(56.57, abs=0.01))
    assert found.broke == ("errors",)
    assert found.first_error == "409"
    assert found.errors == {"429": 57, "504": 1}
    assert (found.recovery_s, found.recovery_most_s) == (pytest.approx(6.83, abs=0.01), 8.0)


@pytest.mark.parametrize(
    ("more", "broken"),
    [
        ({}, ()),
        ({"latency_s": 1.0}, ()),
        ({"latency_s": 1.001}, ("latency",)),
        ({"latency_s": None}, ("latency",)),
        ({"errors": {"429": 1}}, ()),
        ({"errors": {"429": 1, "500": 1}}, ("errors",)),
        ({"latency_s": None, "errors": {"timeout": 100}}, ("latency", "errors")),
        ({"requests": 0}, ()),
    ],
)
def test_limits_hold_up_to_their_value(more: dict[str, object], broken: tuple[str, ...]) -> None:
    assert step(1.0, good=True, **more).broken(GOAL) == broken


@pytest.mark.parametrize(
    ("effort", "knee", "tried", "unfit"),
    [
        (
            Effort(steps=3),
            1000.0,
            [10, 20, 40],
            "did not fit: 3 steps were all that was allowed, and 80/s was to be tried",
        ),
        (
            Effort(time_s=35.0),
            1000.0,
            [10, 20, 40],
            "did not fit: 30 of 35 s were used, a further step at 80/s takes about 10 s",
        ),
        (
            Effort(time_s=5.0, step_s=8.0),
            1000.0,
            [],
            "did not fit: 0 of 5 s were used, a further step at 10/s takes about 8 s",
        ),
        (Effort(most=30.0, confirmations=1), 1000.0, [10, 20, 30, 30], "no limit broke up to 30/s"),
        (Effort(least=4.0), 1.0, [10, 5, 4], "even 4/s broke a limit"),
    ],
)
def test_what_does_not_fit_is_said_and_not_done(effort: Effort, knee: float, tried: list[float], unfit: str) -> None:
    found = searched(lambda rate: step(rate, good=rate <= knee), effort=effort)
    assert [one.rate for one in found.steps] == tried
    assert found.unfit == unfit
    assert found.rate == max((rate for rate in tried if rate <= knee), default=None)


def test_a_load_that_cannot_be_raised_any_more_is_no_knee_of_the_server() -> None:
    found = searched(lambda rate: step(rate, good=True, achieved=min(rate, 65.0)), effort=Effort(confirmations=1))
    assert [one.rate for one in found.steps] == [10, 20, 40, 80, 80]
    assert found.unfit == "the load could not be made higher than 65/s, and no limit broke"
    assert (found.bad_rate, found.upper) == (None, None)


@pytest.mark.parametrize(
    ("start", "goal", "effort", "told"),
    [
        (0.0, {}, {}, "start 0: a rate is above 0"),
        (1.0, {"slo_s": 0.0}, {}, "slo_s 0: a latency is above 0"),
        (1.0, {"error_budget": 1.0}, {}, "error_budget 1: write a part from 0 to below 1"),
        (1.0, {}, {"factor": 1.0}, "factor 1: write more than 1"),
        (1.0, {}, {"precision": 0.0}, "precision 0: write a part between 0 and 1"),
        (1.0, {}, {"confirmations": -1}, "confirmations -1: write 0 or more"),
        (1.0, {}, {"least": 5.0, "most": 2.0}, "least 5 and most 2: not a range"),
    ],
)
def test_a_search_that_could_not_end_is_refused(
    start: float, goal: dict[str, float], effort: dict[str, float], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Search(start=start, goal=Goal(**{"slo_s": 1.0, **goal}), effort=Effort(**effort))
    assert str(caught.value) == f"search for a knee: {told}"
