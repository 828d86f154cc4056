"""How many pods controlling objects want and have: held against counting anew after each piece of news."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from kubedyno.clusterloader.measurements.controlled import Tracking, contains, desired_of
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit


def pod(uid: str, owner: str, phase: str = "Running", *, is_ready: bool = True, image: str = "one") -> Object:
    return {
        "metadata": {"uid": uid, "name": uid, "ownerReferences": [{"uid": owner, "controller": True}]},
        "spec": {"containers": [{"name": "a", "image": image, "extra": 1}], "nodeName": "n"},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": str(is_ready)}]},
    }


def deployment(replicas: int, *, generation: int = 1, image: str = "one") -> Object:
    return {
        "kind": "Deployment",
        "metadata": {"uid": "d", "name": "web", "namespace": "ns", "generation": generation},
        "spec": {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "a", "image": image}]}},
        },
    }


def replica_set(uid: str) -> Object:
    return {
        "kind": "ReplicaSet",
        "metadata": {"uid": uid, "name": uid, "ownerReferences": [{"uid": "d", "controller": True}]},
    }


def test_a_deployment_is_done_when_the_pods_of_its_replica_sets_run() -> None:
    tracking = Tracking()
    tracking.controller_changed(deployment(2), 0, is_deleted=False)
    tracking.pod_changed(pod("p1", "r"), is_deleted=False)
    assert [one.name for one in tracking.unfinished()] == ["Deployment ns/web"]
    tracking.between_changed(replica_set("r"), is_deleted=False)  # told later than its pod
    assert tracking.unfinished()
    tracking.pod_changed(pod("p2", "r"), is_deleted=False)
    assert not tracking.unfinished()


def test_time_counts_from_what_was_asked_for_last_and_is_not_there() -> None:
    tracking = Tracking()
    assert tracking.newest_since_ns() is None
    jobs = [{"kind": "Job", "metadata": {"uid": uid, "name": uid}, "spec": {"parallelism": 1}} for uid in "abc"]
    for now_ns, job in enumerate(jobs):
        tracking.controller_changed(job, now_ns, is_deleted=False)
    assert tracking.newest_since_ns() == 2
    tracking.pod_changed(pod("p1", "c"), is_deleted=False)
    assert tracking.newest_since_ns() == 1
    tracking.controller_changed(jobs[0] | {"spec": {"parallelism": 2}}, 7, is_deleted=False)
    tracking.controller_changed(jobs[1], 8, is_deleted=False)  # nothing else is wanted than before
    assert tracking.newest_since_ns() == 7
    for number, owner in enumerate("aab"):
        tracking.pod_changed(pod(f"q{number}", owner), is_deleted=False)
    assert tracking.newest_since_ns() is None


def test_a_changed_template_waits_for_pods_that_have_it() -> None:
    tracking = Tracking()
    tracking.between_changed(replica_set("r"), is_deleted=False)
    tracking.controller_changed(deployment(1), 0, is_deleted=False)
    tracking.pod_changed(pod("p1", "r"), is_deleted=False)
    assert not tracking.unfinished()
    tracking.controller_changed(deployment(1, generation=2, image="two"), 5, is_deleted=False)
    (waiting,) = tracking.unfinished()
    assert waiting.since_ns == 5
    tracking.between_changed(replica_set("s"), is_deleted=False)
    tracking.pod_changed(pod("p2", "s", image="two"), is_deleted=False)
    assert tracking.unfinished()  # the old one is still there
    tracking.pod_changed(pod("p1", "r"), is_deleted=True)
    assert not tracking.unfinished()


def test_without_the_check_an_outdated_pod_will_do() -> None:
    tracking = Tracking(checks_updates=False)
    tracking.controller_changed(deployment(1, generation=2, image="two"), 0, is_deleted=False)
    tracking.pod_changed(pod("p1", "d"), is_deleted=False)
    assert not tracking.unfinished()


def test_a_deleted_object_is_done_when_its_pods_are_gone() -> None:
    tracking = Tracking()
    tracking.controller_changed(deployment(1), 0, is_deleted=False)
    tracking.pod_changed(pod("p1", "d"), is_deleted=False)
    tracking.controller_changed(deployment(1), 9, is_deleted=True)
    assert [one.is_deleted for one in tracking.unfinished()] == [True]
    tracking.pod_changed(pod("p1", "d"), is_deleted=True)
    assert not tracking.unfinished()


def test_a_margin_of_error_is_allowed() -> None:
    tracking = Tracking(margin=1)
    tracking.controller_changed(deployment(3), 0, is_deleted=False)
    tracking.pod_changed(pod("p1", "d"), is_deleted=False)
    assert tracking.unfinished()
    tracking.pod_changed(pod("p2", "d"), is_deleted=False)
    assert not tracking.unfinished()


def test_a_job_that_is_complete_has_had_its_pods() -> None:
    job: Object = {"kind": "Job", "metadata": {"uid": "j", "name": "j", "namespace": "ns"}, "spec": {"parallelism": 2}}
    tracking = Tracking()
    tracking.controller_changed(job, 0, is_deleted=False)
    tracking.pod_changed(pod("p1", "j", "Succeeded"), is_deleted=False)
    assert tracking.unfinished()
    done = {**job, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    tracking.controller_changed(done, 1, is_deleted=False)
    assert not tracking.unfinished()


@pytest.mark.parametrize(
    ("obj", "desired"),
    [
        ({"kind": "Job", "spec": {}}, 1),
        ({"kind": "Job", "spec": {"parallelism": 4}}, 4),
        ({"kind": "DaemonSet", "metadata": {"generation": 2}, "status": {"observedGeneration": 1}}, None),
        (
            {
                "kind": "DaemonSet",
                "metadata": {"generation": 2},
                "status": {"observedGeneration": 2, "desiredNumberScheduled": 3},
            },
            3,
        ),
        ({"kind": "StatefulSet", "spec": {"replicas": 5}}, 5),
        ({"kind": "Anything"}, 0),
    ],
)
def test_what_objects_want_is_read_from_where_they_say_it(obj: Object, desired: int | None) -> None:
    assert desired_of(obj) == desired


@pytest.mark.parametrize(
    ("whole", "part", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": [{"x": 1, "y": 2}, {"z": 1}]}, {"a": [{"x": 1}]}, True),
        ({"a": [{"x": 2}]}, {"a": [{"x": 1}]}, False),
        ({}, {}, True),
        (None, {"a": 1}, False),
    ],
)
def test_a_part_is_contained_in_a_whole_that_has_more(whole: Any, part: Any, expected: bool) -> None:
    assert contains(whole, part) is expected


NEWS = st.lists(
    st.tuples(
        st.sampled_from(["p1", "p2", "p3"]),
        st.sampled_from(["r", "d"]),
        st.sampled_from(["Pending", "Running", "Succeeded"]),
        st.booleans(),
        st.booleans(),
    )
)


@hypothesis.given(news=NEWS, replicas=st.integers(0, 3), late=st.integers(0, 5))
def test_counting_along_is_counting_anew(
    news: list[tuple[str, str, str, bool, bool]], replicas: int, late: int
) -> None:
    tracking = Tracking()
    tracking.controller_changed(deployment(replicas), 0, is_deleted=False)
    live: dict[str, tuple[str, str, bool]] = {}
    owners: dict[str, str] = {}
    for number, (name, first_owner, phase, is_ready, is_deleted) in enumerate(news):
        if number == late:
            tracking.between_changed(replica_set("r"), is_deleted=False)
        owner = owners.setdefault(name, first_owner)
        tracking.pod_changed(pod(name, owner, phase, is_ready=is_ready), is_deleted=is_deleted)
        if is_deleted:
            live.pop(name, None)
        else:
            live[name] = owner, phase, is_ready
        known = [one for one in live.values() if one[0] == "d" or number >= late]
        controller = tracking.controllers["d"]
        ready = sum(phase == "Running" and is_ready for _, phase, is_ready in known)
        assert sum(controller.counts.values()) == len(known)
        assert sum(1 for state in controller.states.values() if state.value == "ready") == ready
