from typing import Any

import pytest

from kubedyno.lab.installing import usable

pytestmark = pytest.mark.unit


def node(ready: str | None, *taints: str) -> dict[str, Any]:
    return {
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]} if taints else {},
        "status": {"conditions": [{"type": "Ready", "status": ready}]} if ready else {},
    }


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (node("True"), True),
        (node("True", "nvidia.com/gpu"), True),
        (node("True", "node.kubernetes.io/not-ready"), False),
        (node("True", "nvidia.com/gpu", "node.kubernetes.io/unreachable"), False),
        (node("False"), False),
        (node("Unknown"), False),
        (node(None), False),
        ({}, False),
    ],
)
def test_a_node_can_be_used_when_it_is_ready_and_free_of_the_taints_of_its_creation(
    seen: dict[str, Any], expected: bool
) -> None:
    assert usable(seen) is expected
