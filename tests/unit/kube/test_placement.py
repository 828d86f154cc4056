"""Node selectors, taints and tolerations."""

from typing import Any

import pytest

from kubedyno.kube.placement import NodeSelector, is_tolerated, required_affinity, tolerates

pytestmark = pytest.mark.unit

LABELS = {"zone": "a", "rank": "5"}


def _selector(*terms: dict[str, Any]) -> NodeSelector:
    return NodeSelector.read({"nodeSelectorTerms": list(terms)})


def _labels(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


def _name(operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("terms", "selected"),
    [
        ([_labels("zone", "In", "a", "b")], True),
        ([_labels("zone", "NotIn", "a")], False),
        ([_labels("missing", "NotIn", "a")], True),
        ([_labels("missing", "DoesNotExist")], True),
        ([_labels("zone", "Exists")], True),
        ([_labels("rank", "Gt", "4")], True),
        ([_labels("rank", "Lt", "5")], False),
        ([_labels("zone", "Gt", "4")], False),
        ([_name("In", "node-1")], True),
        ([_name("NotIn", "node-1")], False),
        ([_labels("zone", "In", "b"), _labels("zone", "In", "a")], True),
        ([_labels("zone", "In", "a") | _name("In", "other")], False),
        # What is empty or cannot be read matches nothing, but does not spoil the others.
        ([{}], False),
        ([], False),
        ([_labels("zone", "Bogus", "a")], False),
        ([_labels("bad key!", "In", "a"), _labels("zone", "In", "a")], True),
        ([_name("In", "node-1", "node-2")], False),
        ([_name("Exists", "node-1")], False),
    ],
)
def test_a_node_is_selected_when_a_term_matches(terms: list[dict[str, Any]], *, selected: bool) -> None:
    assert _selector(*terms).matches("node-1", LABELS) is selected


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}, True),
        ({"key": "k", "operator": "Lt", "value": "v"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "other", "value": "v"}, False),
        ({"key": "k"}, False),
    ],
)
def test_tolerations_cover_taints(toleration: dict[str, Any], *, tolerated: bool) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    assert tolerates(toleration, taint) is tolerated
    assert is_tolerated(taint, [{"key": "x", "operator": "Exists"}, toleration]) is tolerated


def test_a_taint_without_a_value_has_the_empty_one() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    assert tolerates({"key": "k"}, taint)
    assert tolerates({"key": "k", "value": ""}, taint)
    assert not tolerates({"key": "k", "value": "v"}, taint)


def test_the_affinity_that_a_pod_insists_on_is_found() -> None:
    wanted = {"nodeSelectorTerms": [_labels("zone", "In", "a")]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}}
    assert required_affinity(spec) == wanted
    assert required_affinity({"affinity": {"nodeAffinity": None}}) is None
    assert required_affinity({}) is None
