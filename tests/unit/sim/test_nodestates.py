"""What the builtin kubelet says of nodes."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from kubedyno.sim.kubelet import nodestates

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
BEFORE = "2026-01-01T00:00:00Z"
NODE: dict[str, Any] = {"metadata": {"name": "gpu-0", "uid": "u-0"}, "spec": {}, "status": {}}


def with_ready(status: str, message: str = "") -> dict[str, Any]:
    return {**NODE, "status": {"conditions": [{"type": "Ready", "status": status, "message": message}]}}


@pytest.mark.parametrize(
    ("node", "unready", "needed"),
    [
        (NODE, "", True),
        ({"metadata": {"name": "bare"}}, "", True),
        (with_ready("True"), "", False),
        (with_ready("False"), "", True),
        (with_ready("Unknown"), "", True),
        ({**NODE, "status": {"conditions": [{"type": "DiskPressure", "status": "True"}]}}, "", True),
        (with_ready("True"), "no network", True),
        (with_ready("Unknown"), "no network", True),
        (with_ready("False", "no network"), "no network", False),
        (with_ready("False", "no runtime"), "no network", True),
    ],
)
def test_only_a_node_that_says_something_else_needs_a_report(node: dict[str, Any], unready: str, needed: bool) -> None:
    assert nodestates.needs_report(node, unready=unready) is needed


def told(status: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(one["type"], one["status"], one["reason"], one["message"]) for one in status["conditions"]]


PRESSURES = [
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
]


def test_a_node_that_is_well_says_so() -> None:
    status = nodestates.report(NODE, now=NOW)
    assert told(status) == [*PRESSURES, ("Ready", "True", "KubeletReady", "kubelet is posting ready status")]
    assert {one["lastHeartbeatTime"] for one in status["conditions"]} == {NOW}
    assert {one["lastTransitionTime"] for one in status["conditions"]} == {NOW}
    assert not nodestates.needs_report({**NODE, "status": status})
    assert nodestates.conditions(NOW) == status["conditions"]


def test_a_node_that_is_not_ready_says_why() -> None:
    status = nodestates.report(NODE, now=NOW, unready="container runtime is down")
    assert told(status) == [*PRESSURES, ("Ready", "False", "KubeletNotReady", "container runtime is down")]


def test_a_condition_that_stays_keeps_the_time_of_its_transition() -> None:
    known = [
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": BEFORE},
        {"type": "DiskPressure", "status": "False", "lastTransitionTime": BEFORE},
    ]
    status = nodestates.report({**NODE, "status": {"conditions": known}}, now=NOW)
    times = {one["type"]: one["lastTransitionTime"] for one in status["conditions"]}
    assert times == {"MemoryPressure": NOW, "DiskPressure": BEFORE, "PIDPressure": NOW, "Ready": NOW}


def test_a_bare_node_is_given_addresses_and_room_for_pods() -> None:
    status = nodestates.report(NODE, now=NOW)
    internal, hostname = status["addresses"]
    assert hostname == {"type": "Hostname", "address": "gpu-0"}
    assert internal["type"] == "InternalIP"
    assert ip_address(internal["address"]) in ip_network("100.64.0.0/10")
    assert internal["address"] == nodestates.address_of(NODE)
    assert status["capacity"] == status["allocatable"] == {"cpu": "32", "memory": "256Gi", "pods": "110"}


def test_a_node_whose_devices_are_known_already_is_given_the_rest() -> None:
    gpus = {"nvidia.com/gpu": "8"}
    node = {**NODE, "status": {"capacity": gpus, "allocatable": gpus}}
    whole = {"cpu": "32", "memory": "256Gi", "pods": "110", **gpus}
    assert nodestates.report(node, now=NOW)["capacity"] == whole
    assert nodestates.registered(node)["status"] == {"capacity": whole, "allocatable": whole}


def test_pods_are_admitted_by_what_a_node_will_report() -> None:
    default = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    assert nodestates.registered(NODE)["status"] == {"capacity": default, "allocatable": default}
    assert nodestates.registered({"metadata": {}})["status"]["allocatable"] == default
    some = {**NODE, "status": {"capacity": {"cpu": "4"}, "phase": "x"}}
    assert nodestates.registered(some)["status"] == {
        "capacity": {"cpu": "4"},
        "allocatable": {"cpu": "4"},
        "phase": "x",
    }
    complete = {**NODE, "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}}
    assert nodestates.registered(complete) is complete


def test_what_a_node_has_is_left_as_it_is() -> None:
    addresses = [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.7"}]
    node = {**NODE, "status": {"addresses": addresses, "capacity": {"cpu": "4"}}}
    status = nodestates.report(node, now=NOW)
    assert "addresses" not in status
    assert "capacity" not in status
    assert status["allocatable"] == {"cpu": "4"}
    assert nodestates.address_of(node) == "10.0.0.7"


def test_the_lease_belongs_to_its_node() -> None:
    assert nodestates.lease("gpu-0", "u-0", duration_s=40, renewed="2026-01-02T03:04:05.000006Z") == {
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
