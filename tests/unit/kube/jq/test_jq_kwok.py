from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kube import jq
from kubedyno.kube.jq.kwok import Requirement, outputs

pytestmark = pytest.mark.unit

POD = {
    "metadata": {"name": "p", "finalizers": ["f"], "annotations": {"empty": ""}},
    "spec": {"replicas": 3, "hostNetwork": True, "paused": False},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, {"type": "X", "status": "No"}]},
}


@pytest.mark.parametrize(
    ("query", "operator", "values", "matches"),
    [
        (".status.phase", "In", ["Pending", "Running"], True),
        (".status.phase", "NotIn", ["Pending"], True),
        (".status.phase", "Exists", [], True),
        (".metadata.deletionTimestamp", "DoesNotExist", [], True),
        (".metadata.deletionTimestamp", "In", ["x"], False),
        (".metadata.deletionTimestamp", "NotIn", ["x"], True),
        ('.metadata.annotations["empty"]', "Exists", [], True),
        (".status.conditions[].status", "In", ["No"], True),
        (".status.conditions[].status", "NotIn", ["No"], False),
        (".spec.hostNetwork", "In", ["true"], True),
        (".spec.paused", "In", ["false"], True),
        (".spec.paused", "Exists", [], True),
        # A number of the object is a float in KWOK, and equal to no text; one that jq makes is an int.
        (".spec.replicas", "In", ["3"], False),
        (".spec.replicas", "NotIn", ["3"], True),
        (".spec.replicas + 0", "In", ["3"], False),
        (".spec.replicas | floor", "In", ["3"], False),
        (".spec.replicas % 5", "In", ["3"], True),
        ("3.0", "In", ["3"], False),
        (".metadata.finalizers | length", "In", ["1"], True),
        (".metadata.finalizers", "In", ["f"], False),
        (".metadata.finalizers", "Exists", [], True),
        # A query that fails finds nothing, whatever it gave before.
        (".status.phase, .status.phase.x", "Exists", [], False),
        (".status.phase, .status.phase.x", "NotIn", ["Running"], True),
        (".status.missing[]", "DoesNotExist", [], True),
    ],
)
def test_a_requirement_matches_as_kwok_does(query: str, operator: str, values: list[str], matches: bool) -> None:
    assert Requirement.of(jq.compile(query), operator, values).matches(POD) is matches


@pytest.mark.parametrize(
    ("operator", "values", "told"),
    [
        ("In", [], "values set can't be empty"),
        ("NotIn", [], "values set can't be empty"),
        ("Exists", ["x"], "values set must be empty"),
        ("Gt", ["1"], 'operator "Gt" is not supported'),
    ],
)
def test_a_wrong_requirement_is_refused_in_kwoks_words(operator: str, values: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Requirement.of(jq.compile("."), operator, values)


@pytest.mark.parametrize(
    ("query", "found"), [(".a", [1]), (".b", []), (".a.b", None), (".a, .a.b", None), ("null, 1, false", [1, False])]
)
def test_nulls_are_left_out_and_a_failure_is_no_list(query: str, found: list[Any] | None) -> None:
    assert outputs(jq.compile(query), {"a": 1}) == found
