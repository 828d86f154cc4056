from typing import Any

import pytest

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import CORE_EVENTS, JOBS, PODS
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.lags import Lags
from kubedyno.measure.recorder import Recorder, Track, number
from kubedyno.model.lifecycles import Followed
from kubedyno.schedulers import shows

pytestmark = pytest.mark.unit

T1, T2 = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
N1, N2 = 1767323045 * NS_PER_S, 1767323046 * NS_PER_S
MS = NS_PER_S // 1000

POD_KIND = Followed(PODS, "pod", shows.pod)
JOB_KIND = Followed(JOBS, "job", shows.job)
EVENT_KIND = Followed(CORE_EVENTS, "event", shows.eviction, shows.subject)


def pod(
    version: int, *, uid: str = "u", node: str | None = None, phase: str = "Pending", **more: Any
) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": phase}
    if node:
        status["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": T2}]
    metadata = {
        "uid": uid,
        "name": f"pod-{uid}",
        "namespace": "ns",
        "resourceVersion": str(version),
        "creationTimestamp": T1,
        "labels": {"kubedyno/workload": "w"},
        **more,
    }
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": status}


def told(**options: Any) -> tuple[Recorder, list[ObjectRow]]:
    rows: list[ObjectRow] = []
    return Recorder(sinks=(rows.append,), **options), rows


def opened(recorder: Recorder, followed: Followed = POD_KIND) -> Track:
    """A track whose first list was empty."""
    track = recorder.track(followed)
    track.page((), 0, is_first=True)
    track.listed("1", 0)
    return track


def test_each_phase_is_recorded_when_it_is_first_seen_and_only_then() -> None:
    recorder, rows = told()
    track = opened(recorder)
    track.change("ADDED", pod(2), N1 + 5)
    track.change("MODIFIED", pod(3), N1 + 6)
    track.change("MODIFIED", pod(4, node="n"), N2 + 7)
    track.change("MODIFIED", pod(5, node="n", phase="Running"), N2 + 8)
    track.change("MODIFIED", pod(6, node="n", phase="Running"), N2 + 9)
    track.change("DELETED", pod(7, node="n", phase="Running"), N2 + 10)
    one = ("u", "Pod", "pod", "ns", "pod-u", None, "w")
    assert rows == [
        ObjectRow(*one, None, "created", None, N1 + 5, N1, N1, N1 + 5),
        ObjectRow(*one, "n", "scheduled", None, N2 + 7, N2, N2, N2 + 7),
        ObjectRow(*one, "n", "running", None, N2 + 8, None, None, N2 + 8),
        ObjectRow(*one, "n", "deleted", None, N2 + 10, None, None, N2 + 10),
    ]
    assert (recorder.rows, recorder.held, len(track)) == (4, 0, 0)


def test_with_some_namespaces_others_objects_are_known_and_not_recorded() -> None:
    recorder, rows = told(only={"ns"})
    track = opened(recorder)
    track.change("ADDED", pod(2), N1 + 5)
    track.change("ADDED", pod(3, uid="v", namespace="others"), N1 + 6)
    track.change("ADDED", pod(4, uid="w", namespace=""), N1 + 7)  # as nodes are
    assert [row.uid for row in rows] == ["u", "w"]
    assert track.version_of("v") == "3"  # so that it can be proven that nothing was missed
    track.change("DELETED", pod(5, uid="v", namespace="others"), N1 + 8)
    assert len(rows) == 2


def test_what_one_state_shows_at_once_is_recorded_at_once() -> None:
    recorder, rows = told()
    track = opened(recorder)
    track.change("DELETED", pod(2, node="n", phase="Running"), N2 + 5)
    assert [row.phase for row in rows] == ["created", "scheduled", "running", "deleted"]
    assert {row.arrival_ns for row in rows} == {N2 + 5}


def test_what_was_there_before_is_known_by_the_servers_stamps_only() -> None:
    recorder, rows = told(lags=Lags())
    track = recorder.track(POD_KIND)
    track.page([pod(2, node="n", phase="Running")], N2 + 60 * NS_PER_S, is_first=True)
    track.listed("9", N2 + 60 * NS_PER_S)
    recorder.settle()
    assert [(row.phase, row.source, row.lower_ns, row.upper_ns) for row in rows] == [
        ("created", "server", N1, N1 + NS_PER_S),
        ("scheduled", "server", N2, N2 + NS_PER_S),
        ("running", "server", None, N2 + 60 * NS_PER_S),
    ]
    track.change("DELETED", pod(10, node="n"), N2 + 61 * NS_PER_S)
    recorder.settle()
    assert rows[-1].source == "watch"


def test_rows_wait_for_a_probe_and_are_bounded_by_it() -> None:
    lags = Lags()
    recorder, rows = told(lags=lags)
    track = opened(recorder)
    lags.note_answer(N1 + 100 * MS, N1 + 103 * MS, 5)
    track.change("ADDED", pod(7), N1 + 250 * MS)
    track.change("ADDED", pod(12, uid="v"), N1 + 260 * MS)
    recorder.settle(N1 + 240 * MS)
    assert (rows, recorder.held, recorder.oldest_held_ns()) == ([], 2, N1 + 250 * MS)
    lags.note_answer(N1 + 200 * MS, N1 + 230 * MS, 9)
    recorder.settle(N1 + 255 * MS)
    recorder.settle(N1 + 265 * MS)
    # The first was written between the probes, although it arrived after the second; of the other one only the begin
    # is known.
    assert [(row.uid, row.arrival_ns - N1, row.lower_ns, row.upper_ns) for row in rows] == [
        ("u", 250 * MS, N1 + 100 * MS, N1 + 230 * MS),
        ("v", 260 * MS, N1 + 200 * MS, N1 + 260 * MS),
    ]
    assert recorder.oldest_held_ns() > N2
    kept = recorder.kept.in_phase("created", {"w"})
    assert [(one.lower_ns, one.upper_ns) for one in kept] == [(row.lower_ns, row.upper_ns) for row in rows]


def test_rows_go_out_at_once_when_no_probe_will_come() -> None:
    recorder, rows = told(lags=Lags())
    track = opened(recorder)
    track.change("ADDED", pod(7), N1 + 5)
    assert rows == []
    recorder.hold_no_longer()
    track.change("MODIFIED", pod(8, node="n"), N2 + 5)
    assert [row.phase for row in rows] == ["created", "scheduled"]


def test_where_news_takes_no_time_the_arrival_is_the_truth() -> None:
    recorder, rows = told(is_instant=True)
    opened(recorder).change("ADDED", pod(7), N1 + 5)
    assert [(row.lower_ns, row.upper_ns) for row in rows] == [(N1 + 5, N1 + 5)]


def test_versions_of_events_and_versions_that_are_no_numbers_say_nothing() -> None:
    lags = Lags()
    lags.note_answer(N1 + 1, N1 + 2, 5)
    recorder, rows = told(lags=lags)
    event = {
        "metadata": {"uid": "e", "name": "e", "namespace": "ns", "resourceVersion": "7"},
        "involvedObject": {"uid": "u"},
        "reason": "Preempted",
        "eventTime": "2026-01-02T03:04:05.000010Z",
    }
    opened(recorder, EVENT_KIND).change("ADDED", event, N1 + 500)
    odd = pod(1)
    odd["metadata"]["resourceVersion"] = "a7"
    opened(recorder).change("ADDED", odd, N1 + 500)
    recorder.settle()
    assert [(row.role, row.owner, row.lower_ns, row.upper_ns) for row in rows] == [
        ("event", "u", None, N1 + 500),
        ("pod", None, N1, N1 + 500),
    ]
    assert recorder.contradictions == {"skew": 1}
    assert (number("12"), number(""), number("a7")) == (12, 0, 0)


def test_events_that_show_nothing_are_known_but_not_recorded_nor_is_their_end() -> None:
    recorder, rows = told()
    track = opened(recorder, EVENT_KIND)
    event = {"metadata": {"uid": "e", "name": "e", "resourceVersion": "7"}, "reason": "Scheduled"}
    track.change("ADDED", event, 1)
    assert (track.version_of("e"), list(track.uids())) == ("7", ["e"])
    track.change("DELETED", event, 2)
    assert (rows, track.version_of("e")) == ([], None)


def test_an_object_without_a_label_belongs_to_its_owners_workload() -> None:
    recorder, rows = told()
    jobs, pods = opened(recorder, JOB_KIND), opened(recorder)
    metadata = {"uid": "j", "name": "j", "resourceVersion": "2", "labels": {"kubedyno/workload": "w"}}
    jobs.change("ADDED", {"metadata": metadata}, 1)
    owned = {"labels": {}, "ownerReferences": [{"uid": "x"}, {"uid": "j", "controller": True}]}
    pods.change("ADDED", pod(3, **owned), 2)
    pods.change("ADDED", pod(4, uid="v", labels=None), 3)
    assert [(row.uid, row.owner, row.workload) for row in rows] == [
        ("j", None, "w"),
        ("u", "j", "w"),
        ("v", None, None),
    ]


def test_a_new_list_tells_what_was_missed_with_wide_bounds() -> None:
    lags = Lags()
    recorder, rows = told(lags=lags)
    track = opened(recorder)
    lags.note_answer(N1 + 10 * MS, N1 + 11 * MS, 5)
    for uid in "abc":
        track.change("ADDED", pod(7, uid=uid), N1 + 20 * MS)
    lags.note_answer(N1 + 30 * MS, N1 + 31 * MS, 9)
    recorder.settle()
    rows.clear()
    # The stream is lost. Then the list: a is as it was, b was bound, c is gone, d is new.
    lags.note_answer(N2 + 900 * MS, N2 + 901 * MS, 90)
    arrival = N2 + 950 * MS
    track.page([pod(7, uid="stale")], arrival, is_first=True)
    track.page([pod(7, uid="a"), pod(60, uid="b", node="n")], arrival, is_first=True)  # it began anew
    track.page([pod(70, uid="d")], arrival, is_first=False)
    track.listed("91", arrival)
    recorder.settle()
    found = {(row.uid, row.phase): row for row in rows}
    assert sorted(found) == [
        ("b", "scheduled"),
        ("c", "deleted"),
        ("d", "created"),
        ("stale", "created"),
        ("stale", "deleted"),
    ]
    assert {row.source for row in rows} == {"watch"}
    bound, gone = found["b", "scheduled"], found["c", "deleted"]
    assert (bound.lower_ns, bound.upper_ns) == (N2, N2 + 901 * MS)
    assert (gone.lower_ns, gone.upper_ns, gone.name, gone.workload) == (N1 + 10 * MS, arrival, "pod-c", "w")
    assert sorted(track.uids()) == ["a", "b", "d"]


def test_the_lab_can_ask_and_wait_for_phases() -> None:
    recorder, _ = told()
    track = opened(recorder)
    track.change("ADDED", pod(2, uid="a"), N1)
    awaited = recorder.kept.awaiting("created", {"w"}, 2)
    others = recorder.kept.awaiting("created", {"x"}, 1)
    assert not awaited.reached.is_set()
    track.change("ADDED", pod(3, uid="b"), N1)
    assert awaited.reached.is_set()
    assert not others.reached.is_set()
    recorder.kept.forget(awaited)
    recorder.kept.forget(others)
    track.change("MODIFIED", pod(4, uid="b", node="n-1"), N2)
    assert [one.name for one in recorder.kept.in_phase("created", {"w"})] == ["pod-a", "pod-b"]
    assert [(one.name, one.node) for one in recorder.kept.in_phase("scheduled", {"w"})] == [("pod-b", "n-1")]
    assert recorder.kept.in_phase("scheduled", {"x"}) == recorder.kept.in_phase("ready", {"w"}) == []
    assert recorder.kept.in_phase("created", {"w"}, role="job") == []
