"""The kubelet's checks of a bound pod, held to the answers of a real kubelet 1.36.3.

`admission_cases.json` was recorded from the admission handler of Kubernetes' own kubelet, with random nodes and pods.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kube import merge_keys
from kubedyno.kube.codec import Object
from kubedyno.kube.strategic import apply_strategic_patch
from kubedyno.model.numa.admission import Rejection
from kubedyno.sim.kubelet.admission import rejected_status
from kubedyno.sim.kubelet.ledger import NodeLedger

pytestmark = pytest.mark.unit

CASES = json.loads(Path(__file__).with_name("admission_cases.json").read_text())
NOW = "2026-05-06T07:08:09Z"
REFUSED = Rejection("OutOfcpu", "Node didn't have enough resource: cpu, requested: 2, used: 1, capacity: 2")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_pods_are_taken_and_refused_as_the_kubelet_did(case: dict[str, Any]) -> None:
    ledger = NodeLedger(case["node"])
    for pod in case["others"]:
        ledger.charge(pod)
    before = ledger.held()
    answer = ledger.admit(case["pod"])
    assert (answer and [answer.reason, answer.message]) == case["answer"]
    if answer:
        assert ledger.held() == before


def _node(**status: Any) -> Object:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10", **status}
    return {"metadata": {"name": "n", "labels": {"zone": "a"}}, "status": {"allocatable": allocatable}}


def _pod(requests: dict[str, str], uid: str = "u", **spec: Any) -> Object:
    container = {"name": "main", "resources": {"requests": requests, "limits": requests}}
    return {
        "metadata": {"name": f"pod-{uid}", "namespace": "d", "uid": uid, "generation": 1},
        "spec": {"nodeName": "n", "containers": [container], **spec},
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    }


def test_the_words_of_a_shortage_are_the_kubelets() -> None:
    ledger = NodeLedger(_node())
    assert ledger.admit(_pod({"cpu": "3"}, "first")) is None
    assert ledger.admit(_pod({"cpu": "2"}, "second")) == Rejection(
        "OutOfcpu", "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000"
    )


def test_a_gpu_that_no_plugin_answers_for_is_missed_by_name() -> None:
    ledger = NodeLedger(_node(**{"nvidia.com/gpu": "1"}))
    assert ledger.admit(_pod({"nvidia.com/gpu": "1"}, "first")) is None
    refused = ledger.admit(_pod({"nvidia.com/gpu": "1"}, "second"))
    assert refused is not None
    assert refused.reason == "OutOfnvidia.com/gpu"


def test_extended_resources_that_the_node_does_not_know_are_not_checked() -> None:
    assert NodeLedger(_node()).admit(_pod({"example.com/licence": "5"})) is None


def test_a_node_without_the_label_still_runs_linux() -> None:
    assert NodeLedger(_node()).admit(_pod({}, nodeSelector={"kubernetes.io/os": "linux"})) is None


def test_only_noexecute_taints_keep_a_bound_pod_away() -> None:
    node = _node() | {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    assert NodeLedger(node).admit(_pod({})) is None
    node = _node() | {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}}
    assert NodeLedger(node).admit(_pod({})) == Rejection(
        "TaintToleration", "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
    )


def _rejected(pod: Object) -> Object:
    keys = merge_keys.merge_keys_for("v1", "Pod")
    assert keys is not None
    status: Object = apply_strategic_patch(pod, {"status": rejected_status(pod, REFUSED, NOW)}, keys)["status"]
    return status


def test_a_refused_pod_has_failed_and_keeps_no_condition_of_the_kubelet() -> None:
    pod = _pod({"cpu": "1"})
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
    assert _rejected(pod) == {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": f"Pod was rejected: {REFUSED.message}",
        "observedGeneration": 1,
        "qosClass": "Guaranteed",
        "startTime": NOW,
    }


def test_conditions_and_claims_of_others_stay_on_a_refused_pod_and_all_that_it_reported_goes() -> None:
    pod = _pod({"cpu": "1"})
    pod["metadata"]["generation"] = 3
    kept = [{"type": "example.com/gate", "status": "True"}, {"type": "DisruptionTarget", "status": "True"}]
    pod["status"] |= {
        "phase": "Running",
        "startTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 2,
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "hostIP": "10.1.0.1",
        "nominatedNodeName": "n",
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "claim"}],
        "conditions": [{"type": "Ready", "status": "True"}, *kept, {"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"name": "main", "ready": True}],
    }
    assert _rejected(pod) == {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": f"Pod was rejected: {REFUSED.message}",
        "observedGeneration": 3,
        "qosClass": "Guaranteed",
        "startTime": "2026-01-01T00:00:00Z",
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "claim"}],
        "conditions": kept,
    }
