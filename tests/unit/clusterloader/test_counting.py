"""Objects counted along with their changes: the same as counting all of them at each."""

from collections import Counter
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from kubedyno.client.informer import Change
from kubedyno.clusterloader.measurements.counting import Tally
from kubedyno.clusterloader.measurements.jobs import Jobs
from kubedyno.clusterloader.measurements.node_health import is_healthy
from kubedyno.clusterloader.measurements.pods import PodState, pod_state
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

READY = [{"type": "Ready", "status": "True"}]
STATES: list[Any] = [
    {"phase": "Pending"},
    {"phase": "Running", "conditions": READY},
    {"phase": "Running"},
    {"phase": "Succeeded"},
]


def change(name: str, old: Object | None, new: Object | None) -> Change:
    kind = "ADDED" if old is None else "DELETED" if new is None else "MODIFIED"
    return Change(kind, ("default", name), old, new, 0, 0)  # type: ignore[arg-type]


@hypothesis.given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([None, *range(len(STATES))]))))
def test_a_tally_is_what_a_count_of_all_would_be(news: list[tuple[str, int | None]]) -> None:
    tally, there = Tally(pod_state), dict[str, Object]()
    for name, state in news:
        old = there.pop(name, None)
        new = None if state is None else {"metadata": {"name": name}, "status": STATES[state]}
        if old is None and new is None:
            continue
        if new is not None:
            there[name] = new
        else:
            # A deleted object is told of in its last state, which nobody has counted.
            old = {"metadata": {"name": name}, "status": {"phase": "Failed"}}
        tally.changed(change(name, old, new))
        assert +tally.counts == Counter(map(pod_state, there.values()))


def test_looking_at_an_object_once_for_each_change_is_enough() -> None:
    looked: list[str] = []

    def standing(pod: Object) -> PodState:
        looked.append(pod["metadata"]["name"])
        return pod_state(pod)

    tally = Tally(standing)
    for number in range(1000):
        pod = {"metadata": {"name": f"pod-{number}"}, "status": STATES[1]}
        tally.changed(change(f"pod-{number}", None, pod))
    assert tally.counts[PodState.READY] == len(looked) == 1000


def job(name: str, *, ended: bool) -> Object:
    conditions = [{"type": "Complete", "status": "True"}] if ended else []
    metadata = {"uid": name, "name": name, "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "status": {"conditions": conditions}}


def test_jobs_are_unfinished_until_they_end_or_are_deleted() -> None:
    jobs = Jobs()
    for name in ("a", "b", "c"):
        jobs.change(change(name, None, job(name, ended=False)))
    assert [one.name for one in jobs.unfinished] == ["n/a", "n/b", "n/c"]
    jobs.change(change("a", job("a", ended=False), job("a", ended=True)))
    jobs.change(change("b", job("b", ended=False), None))
    assert [one.name for one in jobs.unfinished] == ["n/c"]
    jobs.change(change("c", job("c", ended=True), None))  # its end and its deletion are one piece of news
    assert jobs.unfinished == []
    assert sorted(one.name for one in jobs.seen.values()) == ["n/a", "n/c"]


@pytest.mark.parametrize(
    ("spec", "is_ready", "is_well"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"unschedulable": True}, True, False),
        ({"taints": [{"key": "kwok.x-k8s.io/node", "effect": "NoSchedule"}]}, True, True),
        ({"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}, True, False),
        ({"taints": [{"key": "node.kubernetes.io/slow", "effect": "PreferNoSchedule"}]}, True, True),
    ],
)
def test_a_node_is_healthy_when_pods_may_come_to_it(spec: Any, is_ready: bool, is_well: bool) -> None:
    conditions = [{"type": "Ready", "status": str(is_ready)}]
    assert is_healthy({"spec": spec, "status": {"conditions": conditions}}) is is_well
