"""What a kubelet says of pods, and what it need not remember."""

from typing import Any

import pytest

from kubedyno.kube.meta import copied
from kubedyno.sim.kubelet import containers, podstates

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:05:00Z"


class Addresses:
    host_ips = ("127.0.0.1",)

    def pod_ips(self) -> tuple[str, ...]:
        return ("10.0.0.1",)


class NoAddresses:
    host_ips = ()

    def pod_ips(self) -> tuple[str, ...]:
        return ()


def pod(conditions: list[dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "generation": 2},
        "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}], **spec},
        "status": {"phase": "Pending", "conditions": conditions or []},
    }


def running(given: dict[str, Any]) -> dict[str, Any]:
    return podstates.running(
        given, now=NOW, addresses=Addresses(), turns=[NOW] * len(given["spec"].get("initContainers", ()))
    )


def test_what_a_stage_of_kwok_sets_for_a_running_pod_is_there() -> None:
    status = running(pod(initContainers=[{"name": "first", "image": "x"}]))
    assert {"phase", "startTime", "hostIP", "hostIPs", "podIP", "podIPs"} <= set(status)
    assert {"Initialized", "Ready", "ContainersReady"} <= {
        one["type"] for one in status["conditions"] if one["status"] == "True" and one["lastTransitionTime"] == NOW
    }
    for one in (*status["containerStatuses"], *status["initContainerStatuses"]):
        assert {"image", "name", "ready", "restartCount", "state"} <= set(one)
        assert one["ready"] is True


def test_only_what_changes_is_told() -> None:
    known = {"type": "Initialized", "status": "True", "observedGeneration": 2, "lastTransitionTime": "before"}
    turned = {"type": "Ready", "status": "False", "lastTransitionTime": "before", "reason": "old", "message": "words"}
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "before"}
    given = pod([bound, known, turned])
    before = copied(given)
    told = {one["type"]: one for one in running(given)["conditions"]}
    assert set(told) == {"PodReadyToStartContainers", "Ready", "ContainersReady"}
    assert told["Ready"] == {
        "type": "Ready",
        "status": "True",
        "observedGeneration": 2,
        "lastTransitionTime": NOW,
        "reason": None,
        "message": None,
    }
    assert given == before


def test_a_condition_of_another_generation_is_told_without_a_new_time() -> None:
    known = {"type": "Initialized", "status": "True", "observedGeneration": 1, "lastTransitionTime": "before"}
    (told,) = (one for one in running(pod([known]))["conditions"] if one["type"] == "Initialized")
    assert told == {"type": "Initialized", "status": "True", "observedGeneration": 2}


def test_a_node_without_addresses_gives_none() -> None:
    status = podstates.running(pod(), now=NOW, addresses=NoAddresses(), turns=[])
    assert not {"hostIP", "hostIPs", "podIP", "podIPs"} & set(status)


def test_containers_that_the_status_does_not_know_are_left_out() -> None:
    given = pod()
    given["status"] = {
        "phase": "Running",
        "observedGeneration": 1,
        "containerStatuses": running(given)["containerStatuses"][:1],
    }
    status = podstates.corrected(given, now=LATER)
    assert status is not None
    assert [one["name"] for one in status["containerStatuses"]] == ["a"]
    assert {one["type"]: one.get("message") for one in status["conditions"]}["Ready"] == (
        "containers with unready status: [b]"
    )


def test_when_the_containers_started() -> None:
    given = pod()
    assert podstates.started_ns(given) is None
    given["status"] |= running(given)
    assert podstates.started_ns(given) == containers.stamp_ns(NOW)
    given["status"] |= podstates.stopped(given, code=143, now=LATER)
    assert podstates.started_ns(given) is None


@pytest.mark.parametrize("which", ["containerStatuses", "initContainerStatuses"])
def test_whether_anything_runs(which: str) -> None:
    assert not podstates.is_anything_running({})
    assert not podstates.is_anything_running({which: [{"state": {"waiting": {}}}, {"state": {}}]})
    assert podstates.is_anything_running({which: [{"state": {"terminated": {}}}, {"state": {"running": {}}}]})


def test_what_is_forgotten_and_what_is_kept() -> None:
    given: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "u",
            "resourceVersion": "7",
            "generation": 1,
            "managedFields": [{}],
            "labels": {"job-type": "short-lived", "app": "x"},
            "annotations": {"kubedyno/duration": "3s", "kubedyno/gpu-utilisation": "80", "note": "long"},
            "finalizers": ["x"],
        },
        "spec": {
            "nodeName": "n",
            "volumes": [{}],
            "tolerations": [{}],
            "restartPolicy": "Never",
            "readinessGates": [{"conditionType": "warm"}],
            "containers": [{"name": "a", "image": "i", "env": [{}], "resources": {"limits": {"cpu": "1"}}}],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "podIP": "10.0.0.1",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "True"},
                {"type": "warm", "status": "True"},
            ],
            "containerStatuses": [{"name": "a", "imageID": "x", "state": {"running": {"startedAt": NOW}}}],
        },
    }
    podstates.forget_unneeded(given)
    cut = {
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "u",
            "resourceVersion": "7",
            "generation": 1,
            "finalizers": ["x"],
            "annotations": {"kubedyno/duration": "3s"},
            "labels": {"job-type": "short-lived"},
        },
        "spec": {
            "nodeName": "n",
            "restartPolicy": "Never",
            "readinessGates": [{"conditionType": "warm"}],
            "containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "1"}}}],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "warm", "status": "True"}],
            "containerStatuses": [{"name": "a", "state": {"running": {"startedAt": NOW}}}],
        },
    }
    assert given == cut
    podstates.forget_unneeded(given)
    assert given == cut


def test_a_pod_without_a_status_can_be_cut_too() -> None:
    given = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "a"}]}}
    podstates.forget_unneeded(given)
    assert given == {
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"containers": [{"name": "a"}]},
        "status": {"conditions": []},
    }
