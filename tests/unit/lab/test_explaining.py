"""Why pods wait, from the objects themselves."""

from typing import Any

import pytest

from kubedyno.lab.explaining import NOT_LOOKED_AT, Gathered, late, sentences

pytestmark = pytest.mark.unit


def pod(name: str, workload: str = "w", *, message: str = "", node: str = "", phase: str = "Pending") -> dict[str, Any]:
    conditions = [{"type": "PodScheduled", "status": "False", "message": message}] if message else []
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"kubedyno/workload": workload}},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "conditions": conditions},
    }


def group(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": status}


def warning(name: str, message: str, stamp: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    return {
        "metadata": {"name": "e", "uid": "uid-e"},
        "involvedObject": {"uid": f"uid-{name}"},
        "reason": "FailedScheduling",
        "message": message,
        "lastTimestamp": stamp,
    }


KAI = group(
    "w",
    schedulingConditions=[
        {
            "type": "UnschedulableOnNodePool",
            "status": "True",
            "message": "Unable to schedule podgroup",
            "reasons": [{"reason": "OverLimit", "message": "queue team is over its limit"}],
        }
    ],
)
KAI_WITHOUT_REASONS = group(
    "w", schedulingConditions=[{"status": "True", "message": "Unable to schedule podgroup", "reasons": []}]
)
NATIVE = group("w", conditions=[{"type": "PodGroupScheduled", "status": "False", "message": "3 of 4 fit"}])
KUEUE = group("w", conditions=[{"type": "QuotaReserved", "status": "False", "message": "no quota in flavor a"}])


@pytest.mark.parametrize(
    ("groups", "events", "message", "why"),
    [
        ([], [], "", NOT_LOOKED_AT),
        ([], [], "0/4 nodes are available", "0/4 nodes are available"),
        ([KAI], [], "", "queue team is over its limit"),
        ([KAI_WITHOUT_REASONS], [], "", "Unable to schedule podgroup"),
        ([NATIVE], [], "", "3 of 4 fit"),
        ([KUEUE], [], "", "no quota in flavor a"),
        ([NATIVE], [], "3 of 4 fit", "3 of 4 fit"),
        (
            [],
            [warning("p-0", "old"), warning("p-0", "new", "2026-01-01T00:00:09Z"), warning("other", "x")],
            "no room",
            "no room; event FailedScheduling: new",
        ),
        ([group("w")], [warning("w", "of the group")], "", "event FailedScheduling: of the group"),
    ],
)
def test_whoever_says_why_is_quoted(groups: list[Any], events: list[Any], message: str, why: str) -> None:
    one = pod("p-0", message=message)
    assert Gathered([one], groups, events).why_pod(one) == why


def test_the_group_that_a_pod_names_is_looked_at() -> None:
    one = pod("p-0")
    one["metadata"]["annotations"] = {"pod-group-name": "pg-1"}
    named = group("pg-1", schedulingConditions=[{"status": "True", "message": "of its own group"}])
    assert Gathered([one], [named], []).why_pod(one) == "of its own group"


def test_late_are_those_that_have_not_reached_the_goal() -> None:
    gathered = Gathered(
        [pod("a"), pod("b", node="n-0"), pod("c", node="n-0", phase="Running"), pod("d", phase="Succeeded")], [], []
    )
    assert [name for name, _ in late(gathered, "scheduled", {"w": 1})] == ["pod a"]
    assert late(gathered, "running", {"w": 2}) == [("pod a", NOT_LOOKED_AT), ("pod b", "Pending on node n-0")]


def test_a_workload_without_its_pods_is_told_as_that() -> None:
    gathered = Gathered([], [KUEUE], [])
    assert late(gathered, "scheduled", {"w": 2}) == [
        ("workload w", "2 of its pods are not there; no quota in flavor a")
    ]
    assert late(gathered, "unschedulable", {"v": 1}) == [("workload v", NOT_LOOKED_AT)]


def test_five_are_named_and_all_are_counted() -> None:
    alike = sentences([(f"pod {number}", "no room") for number in range(8)])
    assert alike == "\n  pod 0, pod 1, pod 2, pod 3, pod 4 and 3 more: no room"
    mixed = sentences([("pod 0", "no room"), *((f"pod {number}", f"reason {number}") for number in range(1, 9))])
    assert mixed.splitlines()[1] == "  pod 0: no room"
    assert len(mixed.splitlines()) == 7
    assert mixed.splitlines()[-1] == "  and others, for 4 other reasons"
