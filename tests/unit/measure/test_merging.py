from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import ns, row, seconds, stamped

from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.merging import merge, recordings
from kubedyno.measure.sightings import Sighting, Sightings
from kubedyno.measure.steps import wrong
from kubedyno.model.lifecycles import STEPS
from kubedyno.model.samples import Instant, Recording, WorkloadSample

pytestmark = pytest.mark.unit

GENERAL = ("submitted", "accepted", "job", "first_pod", "last_bound", "last_running")


def told(rows: Sequence[ObjectRow]) -> list[Sighting]:
    sightings = Sightings()
    sightings.note_all(rows)
    return sorted((sightings.sighting(uid) for _, uid in sightings.uids()), key=lambda sighting: sighting.uid)


@st.composite
def _rows(draw: st.DrawFn) -> ObjectRow:
    at_s = draw(st.integers(0, 40)) / 10
    more: dict[str, Any] = {
        "detail": draw(st.sampled_from([None, "x", "y"])),
        "owner": draw(st.sampled_from([None, "job-0", "job-1"])),
        "workload": draw(st.sampled_from([None, "w-0", "w-1"])),
    }
    uid, phase = draw(st.sampled_from("ab")), draw(st.sampled_from(["created", "running"]))
    if draw(st.booleans()):
        return stamped(uid, phase, int(at_s), **more)
    if draw(st.booleans()):
        more["lower_ns"] = None
    return row(uid, phase, at_s, bound_s=draw(st.integers(0, 20)) / 10, **more)


@given(rows=st.lists(_rows(), max_size=12), data=st.data())
def test_rows_may_come_in_any_order_and_several_times(rows: list[ObjectRow], data: st.DataObject) -> None:
    again = data.draw(
        st.permutations([*rows, *data.draw(st.lists(st.sampled_from(rows), max_size=5) if rows else st.just([]))])
    )
    assert told(rows) == told(again)


@given(rows=st.lists(_rows(), min_size=1, max_size=8))
def test_more_rows_never_make_a_time_less_certain(rows: list[ObjectRow]) -> None:
    before = {one.uid: one for one in told(rows[:-1])}
    for after in told(rows):
        for phase, instant in (before[after.uid].phases if after.uid in before else {}).items():
            if phase not in after.contradictory:
                now = after.phases[phase]
                assert instant.lower_ns <= now.lower_ns <= now.at_ns <= now.upper_ns <= instant.upper_ns


def test_a_watch_beats_a_stamp_and_both_bounds_hold() -> None:
    (seen,) = told([stamped("p", "created", 1), row("p", "created", 1.4, bound_s=0.6)])
    instant = seen.phases["created"]
    assert (instant.source, seconds(instant.at_ns)) == ("watch", 1.4)
    assert (seconds(instant.lower_ns), seconds(instant.upper_ns)) == (1.0, 1.4)


def test_the_tightest_of_two_watches_wins() -> None:
    (seen,) = told([row("p", "created", 1.4, bound_s=0.6), row("p", "created", 1.2, bound_s=0.01)])
    assert seconds(seen.phases["created"].at_ns) == 1.2
    assert seen.contradictory == ()


def test_tellings_that_cannot_both_be_true_are_noted() -> None:
    (seen,) = told([row("p", "created", 1.4), row("p", "created", 1.2)])
    assert seen.contradictory == ("created",)


def sample(steps: dict[str, Instant], *, pods: int = 1, errors: tuple[str, ...] = (), **fields: Any) -> WorkloadSample:
    known: dict[str, Any] = {
        "name": "w-0",
        "namespace": "default",
        "kind": "Job",
        "uid": "job-0",
        "project": None,
        "pods": pods,
        "gang": 1,
        "steps": {name: steps[name] for name in STEPS if name in steps},
        "evictions": 0,
        "evicted_by": (),
        "errors": (*errors, *wrong(steps, GENERAL, is_there=True)),
    }
    return WorkloadSample(**{**known, **fields})


def watched(at_s: float, bound_s: float = 0.005) -> Instant:
    return Instant(ns(at_s), ns(at_s - bound_s), ns(at_s), "watch")


def by_server(second: int) -> Instant:
    return Instant(ns(second + 0.5), ns(second), ns(second + 1), "server")


@st.composite
def _instants(draw: st.DrawFn) -> Instant:
    tenths = draw(st.integers(0, 40))
    return draw(st.sampled_from([watched(tenths / 10, draw(st.integers(0, 20)) / 10), by_server(tenths // 10)]))


@st.composite
def _samples(draw: st.DrawFn) -> WorkloadSample:
    return sample(
        draw(st.dictionaries(st.sampled_from(sorted(STEPS)), _instants(), max_size=8)),
        pods=draw(st.integers(0, 3)),
        gang=draw(st.integers(1, 3)),
        evictions=draw(st.integers(0, 2)),
        evicted_by=tuple(sorted(draw(st.sets(st.sampled_from("xy"))))),
        errors=tuple(sorted(draw(st.sets(st.sampled_from(["refused: a", "Job w failed"]))))),
    )


@given(one=_samples(), other=_samples())
def test_merging_samples_is_commutative(one: WorkloadSample, other: WorkloadSample) -> None:
    assert merge(one, other, GENERAL) == merge(other, one, GENERAL)


@given(one=_samples(), other=_samples())
def test_merging_samples_again_changes_nothing(one: WorkloadSample, other: WorkloadSample) -> None:
    merged = merge(one, other, GENERAL)
    assert merge(one, one, GENERAL) == one
    for again in (one, other, merged):
        assert merge(merged, again, GENERAL) == merged


@given(one=_samples(), other=_samples())
def test_nothing_that_was_once_seen_is_lost(one: WorkloadSample, other: WorkloadSample) -> None:
    merged = merge(one, other, GENERAL)
    assert merged.pods == max(one.pods, other.pods)
    if one.pods == other.pods:
        assert merged.steps.keys() == one.steps.keys() | other.steps.keys()


def test_finished_and_deleted_pods_stay() -> None:
    earlier = sample({"first_pod": watched(0.1), "last_bound": watched(0.2), "completed": watched(1)}, pods=1)
    now = sample({"deleted": by_server(5)}, pods=0)
    merged = merge(earlier, now, GENERAL)
    assert list(merged.steps) == ["first_pod", "last_bound", "completed", "deleted"]
    assert merged.pods == 1


def test_a_watch_of_an_earlier_sample_beats_the_stamp_of_now() -> None:
    merged = merge(sample({"last_bound": watched(1.2)}), sample({"last_bound": by_server(1)}), GENERAL)
    assert merged.steps["last_bound"] == watched(1.2)


def test_whoever_saw_more_pods_knows_the_last_of_them() -> None:
    earlier = sample({"last_pod": watched(1.2), "last_bound": watched(1.3), "first_pod": watched(0.9)}, pods=2)
    now = sample({"last_pod": by_server(1), "first_pod": by_server(0)}, pods=4)
    merged = merge(earlier, now, GENERAL)
    assert merged.steps["last_pod"] == by_server(1)
    assert merged.steps["first_pod"] == watched(0.9)
    assert "last_bound" not in merged.steps, "two more pods are not bound yet"


def test_samples_that_contradict_each_other_are_noted_once() -> None:
    one, other = sample({"completed": watched(1)}), sample({"completed": watched(2, 0.1)})
    merged = merge(one, other, GENERAL)
    assert merged.steps["completed"] == watched(1), "the tighter one"
    assert merged.errors == ("samples contradict each other about completed",)
    assert merge(merged, other, GENERAL) == merged


def test_an_error_of_not_knowing_goes_when_it_is_known() -> None:
    earlier = sample({})
    assert earlier.errors[0].startswith("unseen: ")
    missing = sample({"first_pod": watched(0.1), "last_running": watched(0.5)})
    assert any(error.startswith("missing: last pod bound") for error in missing.errors)
    known = sample({"submitted": watched(0), "accepted": watched(0), "job": watched(0), "last_bound": watched(0.3)})
    merged = merge(merge(earlier, missing, GENERAL), known, GENERAL)
    assert merged.errors == ()


def _recording(began_s: float, ended_s: float) -> Recording:
    return Recording(began_ns=ns(began_s), ended_ns=ns(ended_s), lag=None, watches=(), whole=True, proof="")


def test_each_recording_is_told_once_as_it_stood_last() -> None:
    first, later, other = _recording(0, 1), _recording(0, 5), _recording(2, 3)
    assert recordings([other, later, first]) == (later, other)
    assert recordings([first, first, other, later]) == (later, other)
