"""What the builtin kubelet says of nodes."""

from typing import Any

import pytest

from kubedyno.sim.kubelet import nodestates

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
NODE: dict[str, Any] = {"metadata": {"name": "gpu-0", "uid": "u-0"}, "spec": {}, "status": {}}


def with_ready(status: str) -> dict[str, Any]:
    return {**NODE, "status": {"conditions": [{"type": "Ready", "status": status}]}}


@pytest.mark.parametrize(
    ("node", "needed"),
    [
        (NODE, True),
        ({"metadata": {"name": "bare"}}, True),
        (with_ready("True"), False),
        (with_ready("False"), True),
        (with_ready("Unknown"), True),
        ({**NODE, "status": {"conditions": [{"type": "DiskPressure", "status": "True"}]}}, True),
    ],
)
def test_only_a_node_that_is_not_ready_needs_a_report(node: dict[str, Any], needed: bool) -> None:
    assert nodestates.needs_report(node) is needed


def test_a_node_that_is_well_says_so() -> None:
    status = nodestates.ready(NODE, now=NOW, address="127.0.0.1")
    assert [(one["type"], one["status"], one["reason"], one["message"]) for one in status["conditions"]] == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    assert {one["lastHeartbeatTime"] for one in status["conditions"]} == {NOW}
    assert {one["lastTransitionTime"] for one in status["conditions"]} == {NOW}
    assert status["addresses"] == [
        {"type": "InternalIP", "address": "127.0.0.1"},
        {"type": "Hostname", "address": "gpu-0"},
    ]
    assert not nodestates.needs_report({**NODE, "status": status})


def test_the_lease_belongs_to_its_node() -> None:
    assert nodestates.lease(NODE, duration_s=40, renewed="2026-01-02T03:04:05.000006Z") == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "gpu-0",
            "namespace": "kube-node-lease",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "gpu-0", "uid": "u-0"}],
        },
        "spec": {
            "holderIdentity": "gpu-0",
            "leaseDurationSeconds": 40,
            "renewTime": "2026-01-02T03:04:05.000006Z",
        },
    }
