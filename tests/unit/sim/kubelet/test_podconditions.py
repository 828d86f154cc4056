"""The kubelet's conditions of pods."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubedyno.sim.kubelet import containers, podconditions

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
# What GeneratePodInitializedCondition, GeneratePodReadyCondition and GenerateContainersReadyCondition of the kubelet
# v1.36.3 (status, reason, message) answer to the statuses that simulated pods come by.
KUBELET = json.loads(Path(__file__).with_name("condition_cases.json").read_text())


@pytest.mark.parametrize("case", KUBELET)
def test_conditions_are_those_of_a_kubelet(case: dict[str, Any]) -> None:
    pod = {
        "metadata": {},
        "spec": {
            "containers": [{"name": "b"}, {"name": "a"}],
            "initContainers": case["initContainers"],
            "readinessGates": [{"conditionType": type_} for type_ in case["gates"]],
        },
        "status": {"conditions": [{"type": type_, "status": status} for type_, status in case["conditions"].items()]},
    }
    found = podconditions.conditions(
        pod,
        containers.shape_of(pod["spec"]),
        case["regular"],
        case["initial"],
        phase=case["phase"],
        has_sandbox=True,
        now=NOW,
    )
    told = {one["type"]: [one["status"], one.get("reason", ""), one.get("message", "")] for one in found}
    assert told == {"PodReadyToStartContainers": ["True", "", ""], **case["kubelet"]}


@pytest.mark.parametrize(
    ("conditions", "is_ready"),
    [
        ({}, False),
        ({"Ready": "True"}, False),
        ({"Ready": "True", "ContainersReady": "False"}, False),
        ({"Ready": "False", "ContainersReady": "True"}, False),
        ({"Ready": "Unknown", "ContainersReady": "Unknown"}, False),
        ({"PodScheduled": "False", "Ready": "True", "ContainersReady": "True"}, True),
    ],
)
def test_a_pod_is_ready_when_it_and_its_containers_say_so(conditions: dict[str, str], is_ready: bool) -> None:
    status = {"conditions": [{"type": type_, "status": said} for type_, said in conditions.items()]}
    assert podconditions.is_ready(status) is is_ready
