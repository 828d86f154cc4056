from collections.abc import Iterable

import msgspec
import pytest
from tests.submissions import DETAILED, GENERAL, TROUBLED, Troubles, make_up

from kubedyno.report.captions import captions, wrong
from kubedyno.report.choosing import choose
from kubedyno.report.rows import rows
from kubedyno.report.ways import Way, join

pytestmark = pytest.mark.unit


def without(way: Way, steps: Iterable[str]) -> Way:
    return msgspec.structs.replace(way, steps={step: at for step, at in way.steps.items() if step not in set(steps)})


def test_each_row_counts_from_the_row_before_it_and_the_last_is_the_total() -> None:
    chosen = choose(join(*make_up(5)), GENERAL, skip_errors=True)
    assert [(delta.since, delta.until) for delta in chosen.deltas] == [
        ("submitted", "accepted"),
        ("accepted", "job"),
        ("job", "first_pod"),
        ("first_pod", "last_bound"),
        ("last_bound", "last_running"),
        ("submitted", "last_running"),
    ]
    assert chosen.wrong == {}


def test_a_step_that_nobody_has_gets_no_row() -> None:
    chosen = choose(join(*make_up(5)), ("submitted", "accepted", "volume_bound", "last_bound"), skip_errors=True)
    assert [delta.until for delta in chosen.deltas] == ["accepted", "last_bound", "last_bound"]


def test_with_nobody_in_order_all_are_drawn_as_far_as_they_got() -> None:
    ways = join(*make_up(12, troubles=Troubles(unbound=1.0)))
    chosen = choose(ways, GENERAL, skip_errors=False)
    assert chosen.wrong == {"never bound": 12}
    assert [row.title for row in rows(chosen)] == ["accepted", "job created", "first pod created", "total"]
    assert rows(chosen)[-1].since == "submitted to first pod created"


def test_steps_that_only_some_have_shift_nothing() -> None:
    ways = join(*make_up(300, troubles=Troubles(evicted=0.1)))
    since = {delta.until: delta.since for delta in choose(ways, DETAILED, skip_errors=True).deltas[:-1]}
    assert since["queued"] == "last_pod"
    assert since["first_decided"] == "last_pod"
    assert since["evicted"] == "last_running"
    assert since["rescheduled"] == "evicted"
    total = choose(ways, DETAILED, skip_errors=True).deltas[-1]
    assert (total.since, total.until) == ("submitted", "last_running")


def test_workloads_not_in_order_are_left_out_and_counted_by_their_reason() -> None:
    submitted, sampled = make_up(20)
    first, second, third, fourth, fifth, *others = join(submitted, sampled)
    refused = msgspec.structs.replace(first, submitted=msgspec.structs.replace(first.submitted, error="quota"))
    assert third.sample is not None
    ways = [
        refused,
        without(second, ("last_bound", "last_running")),
        msgspec.structs.replace(third, sample=msgspec.structs.replace(third.sample, errors=("order: last_running",))),
        without(fourth, ("last_bound", "last_running")),
        msgspec.structs.replace(fifth, sample=None),
        *others,
    ]
    chosen = choose(ways, GENERAL, skip_errors=True)
    assert chosen.wrong == {"never bound": 2, "refused": 1, "with erroneous times": 1, "not sampled yet": 1}
    assert chosen.drawn == tuple(others)
    assert not any(chosen.marked)
    assert wrong(20, chosen, skip_errors=True) == (
        "5 of 20 left out: 2 never bound, 1 refused, 1 with erroneous times, 1 not sampled yet"
    )
    drawn = choose(ways, GENERAL, skip_errors=False)
    assert drawn.drawn == tuple(ways)
    assert drawn.marked == (True,) * 5 + (False,) * 15
    assert drawn.wrong == chosen.wrong
    assert wrong(20, drawn, skip_errors=False).startswith("5 of 20 marked: 2 never bound")


def test_rare_reasons_are_summed_up() -> None:
    chosen = msgspec.structs.replace(
        choose(join(*make_up(3)), GENERAL, skip_errors=True), wrong={"a": 1000, "b": 4, "c": 3, "d": 2, "e": 1, "f": 1}
    )
    assert wrong(2000, chosen, skip_errors=True) == (
        "1,011 of 2,000 left out: 1,000 a, 4 b, 3 c, 2 d, 2 for other reasons"
    )


def test_rows_hold_deltas_with_their_bounds() -> None:
    submitted, sampled = make_up(30, troubles=Troubles(coarse=0.5))
    ways = join(submitted, sampled)
    made = rows(choose(ways, GENERAL, skip_errors=True))
    assert [row.title for row in made] == [
        "accepted",
        "job created",
        "first pod created",
        "last pod bound",
        "last pod running",
        "total",
    ]
    assert [row.is_total for row in made] == [False] * 5 + [True]
    bound = made[3]
    assert bound.since == "first pod created"
    for index, way in enumerate(ways):
        since, until = way.steps["first_pod"], way.steps["last_bound"]
        assert bound.values_s[index] == pytest.approx((until.at_ns - since.at_ns) / 1e9)
        assert bound.uppers_s[index] == pytest.approx((until.upper_ns - since.lower_ns) / 1e9)
        assert bound.lowers_s[index] == pytest.approx(max(0, (until.lower_ns - since.upper_ns) / 1e9))
    for row in made:
        assert (row.lowers_s <= row.values_s).all()
        assert (row.values_s <= row.uppers_s).all()
        assert row.submitted_s.min() == 0


def test_those_that_never_reached_a_step_are_known_to_its_row() -> None:
    ways = join(*make_up(200, troubles=TROUBLED))
    chosen = choose(ways, DETAILED, skip_errors=False)
    made = {row.title: row for row in rows(chosen)}
    lacking = sum("last_bound" not in way.steps for way in ways)
    assert made["last pod bound"].never_s.size == lacking > 0
    assert made["evicted"].never_s.size == 0
    assert made["last pod bound"].marked.sum() == sum(
        marked and "last_bound" in way.steps for way, marked in zip(chosen.drawn, chosen.marked, strict=True)
    )


def test_many_workloads_have_a_running_median_and_few_have_none() -> None:
    few, many = (rows(choose(join(*make_up(count)), GENERAL, skip_errors=True))[-1] for count in (20, 600))
    assert few.medians_s() is None
    medians = many.medians_s()
    assert medians is not None
    at_s, values_s = medians
    assert (at_s[1:] > at_s[:-1]).all()
    assert many.values_s.min() < values_s.min() <= values_s.max() < many.values_s.max()


def test_the_words_tell_what_was_run_and_how_far_it_can_be_believed() -> None:
    submitted, sampled = make_up(100, workload_type="distributed", workers=7, troubles=TROUBLED)
    ways = join(submitted, sampled)
    said = captions(submitted, sampled, ways, choose(ways, GENERAL, skip_errors=True), skip_errors=True)
    assert said.title == "100 distributed workloads on kai, 7 workers of 1 GPU"
    assert "submitted in 19." in said.subtitle
    assert " of 100 left out: " in said.subtitle
    assert said.trust == "watch lag p50 2.10 ms, p99 11.3 ms, max 83.2 ms   ·   the recording is whole"
    assert said.origin.split("   ·   ") == [
        "submission a1b2c3",
        "sampled 2026-01-02 03:11:00 UTC",
        "with simulated training operator",
        "kubedyno 0.1",
    ]


@pytest.mark.parametrize("recorded", [False, True])
def test_doubts_about_the_recording_are_said(recorded: bool) -> None:
    submitted, sampled = make_up(10)
    (recording,) = sampled.recordings
    gaps = msgspec.structs.replace(recording, whole=False, lag=None)
    doubtful = msgspec.structs.replace(sampled, recordings=(gaps,) if recorded else ())
    ways = join(submitted, doubtful)[:4]
    said = captions(submitted, doubtful, ways, choose(ways, GENERAL, skip_errors=True), skip_errors=True)
    assert said.title == "4 of 10 training workloads on kai, 1 GPU each"
    assert "watch lag unknown" in said.trust
    assert ("the recording may have gaps" if recorded else "times are the server's stamps") in said.trust
    assert "none left out" in said.subtitle
