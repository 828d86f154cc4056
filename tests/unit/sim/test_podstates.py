"""What the builtin kubelet says of pods."""

from typing import Any

import pytest

from kubedyno.sim.kubelet import podstates

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:05:00Z"


def pod(*, phase: str | None = "Pending", duration: str | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "u",
            "generation": 2,
            **({"annotations": {podstates.DURATION: duration}} if duration is not None else {}),
        },
        "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}], **spec},
        "status": {"phase": phase} if phase else {},
    }


def deleted(one: dict[str, Any]) -> dict[str, Any]:
    one["metadata"]["deletionTimestamp"] = NOW
    return one


def at(pod_: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    return {**pod_, "status": {**pod_["status"], **status}}


def running(pod_: dict[str, Any]) -> dict[str, Any]:
    return podstates.running(pod_, now=NOW, host_ip="127.0.0.1", pod_ip="10.0.0.1")


@pytest.mark.parametrize(
    ("given", "step"),
    [
        (pod(), ("run", 0.0)),
        (pod(duration="30s"), ("run", 0.0)),
        (pod(phase="Running"), ("none", 0.0)),
        (pod(phase="Running", duration="30s"), ("succeed", 30.0)),
        (pod(phase="Running", duration="1m30s"), ("succeed", 90.0)),
        (pod(phase="Running", duration="2.5"), ("succeed", 2.5)),
        (pod(phase="Running", duration="0s"), ("succeed", 0.0)),
        (pod(phase="Running", duration="-5s"), ("succeed", 0.0)),
        (pod(phase="Running", duration="soon"), ("none", 0.0)),
        (pod(phase="Running", duration=""), ("none", 0.0)),
        (pod(phase="Succeeded", duration="30s"), ("none", 0.0)),
        (pod(phase="Failed"), ("none", 0.0)),
        (pod(phase=None), ("none", 0.0)),
        (deleted(pod()), ("delete", 0.0)),
        (deleted(pod(phase="Running", duration="30s")), ("delete", 0.0)),
        (deleted(pod(phase="Succeeded")), ("delete", 0.0)),
    ],
)
def test_what_happens_next(given: dict[str, Any], step: tuple[str, float]) -> None:
    assert podstates.next_step(given) == step


def test_a_running_pod_has_addresses_and_ready_containers() -> None:
    status = running(pod())
    assert status["phase"] == "Running"
    assert (status["startTime"], status["observedGeneration"]) == (NOW, 2)
    assert (status["hostIP"], status["hostIPs"]) == ("127.0.0.1", [{"ip": "127.0.0.1"}])
    assert (status["podIP"], status["podIPs"]) == ("10.0.0.1", [{"ip": "10.0.0.1"}])
    assert {one["type"]: (one["status"], one["lastTransitionTime"]) for one in status["conditions"]} == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"), ("True", NOW)
    )
    assert status["containerStatuses"] == [
        {
            "name": name,
            "image": image,
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": NOW}},
        }
        for name, image in (("a", "i"), ("b", "j"))
    ]
    assert "initContainerStatuses" not in status


def test_what_the_scheduler_said_stays() -> None:
    bound = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": "before"}
    status = running(at(pod(), {"conditions": [bound]}))
    assert status["conditions"][0] == bound
    assert len(status["conditions"]) == 5


def test_a_condition_that_stays_keeps_its_time() -> None:
    known = {"type": "Initialized", "status": "True", "lastTransitionTime": "before"}
    turned = {"type": "Ready", "status": "False", "lastTransitionTime": "before", "reason": "old"}
    status = running(at(pod(), {"conditions": [known, turned]}))
    by_type = {one["type"]: one for one in status["conditions"]}
    assert by_type["Initialized"] == known
    assert by_type["Ready"]["lastTransitionTime"] == NOW
    assert "reason" not in by_type["Ready"]


def test_init_containers_are_completed_and_gates_are_open() -> None:
    given = pod(
        initContainers=[{"name": "first", "image": "x"}], readinessGates=[{"conditionType": "example.com/warm"}]
    )
    status = running(given)
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": NOW, "finishedAt": NOW}
    (first,) = status["initContainerStatuses"]
    assert (first["name"], first["ready"], first["state"]) == ("first", True, {"terminated": ended})
    assert [one["status"] for one in status["conditions"] if one["type"] == "example.com/warm"] == ["True"]


def test_a_pod_that_succeeded_is_not_ready_any_more() -> None:
    before = at(pod(duration="55s"), running(pod()))
    status = podstates.succeeded(before, now=LATER)
    assert status["phase"] == "Succeeded"
    by_type = {one["type"]: one for one in status["conditions"]}
    for type_ in ("ContainersReady", "Ready"):
        assert (by_type[type_]["status"], by_type[type_]["reason"]) == ("False", "PodCompleted")
        assert by_type[type_]["lastTransitionTime"] == LATER
    assert (by_type["Initialized"]["status"], by_type["Initialized"]["lastTransitionTime"]) == ("True", NOW)
    for container in status["containerStatuses"]:
        assert (container["ready"], container["started"]) == (False, False)
        assert container["state"] == {
            "terminated": {"exitCode": 0, "reason": "Completed", "startedAt": NOW, "finishedAt": LATER}
        }


def test_the_objects_given_are_not_changed() -> None:
    given = at(pod(), {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "before"}]})
    running(given)
    assert given["status"]["conditions"] == [{"type": "Ready", "status": "False", "lastTransitionTime": "before"}]


@pytest.mark.parametrize(
    ("cidr", "index", "address"),
    [
        ("10.1.2.0/24", 0, "10.1.2.1"),
        ("10.1.2.0/24", 9, "10.1.2.10"),
        ("10.1.2.0/24", 253, "10.1.2.254"),
        ("10.1.2.0/24", 254, "10.1.2.1"),
        ("10.255.0.0/16", 300, "10.255.1.45"),
    ],
)
def test_addresses_of_pods_come_from_their_node(cidr: str, index: int, address: str) -> None:
    assert podstates.pod_address(cidr, index) == address
