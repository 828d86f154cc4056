"""Evictions; what a budget looks like afterwards was seen at the real API server 1.36."""

from typing import Any

import pytest

from kubedyno.kinds.admission import Denied
from kubedyno.kinds.admission.eviction import decide_eviction, still_processed
from kubedyno.kube.codec import Object
from kubedyno.kube.status import Cause

pytestmark = pytest.mark.unit

NOW = "2026-11-15T12:43:59Z"
BEFORE = "2026-11-15T12:43:57Z"
CONDEMNED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
    "lastProbeTime": None,
    "lastTransitionTime": NOW,
}
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


def pod(*, phase: str = "Running", ready: bool = True, **metadata: Any) -> Object:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"name": "e0", "labels": {"app": "a"}, **metadata},
        "status": {"phase": phase, "conditions": conditions},
    }


def allowing(status: str, reason: str, message: str = "", since: str = BEFORE) -> Object:
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "observedGeneration": 1,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def budget(*, spec: Object | None = None, conditions: list[Object] | None = None, **status: Any) -> Object:
    counts = {"currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 2}
    known = {**counts, "observedGeneration": 1, **status}
    return {
        "metadata": {"name": "d", "generation": 1},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}, **(spec or {})},
        "status": {**known, "conditions": conditions or [allowing("True", "SufficientPods")]},
    }


def test_the_last_disruption_is_charged_and_told_as_a_condition() -> None:
    before = budget()
    decided = decide_eviction(pod(), [before], now=NOW)
    assert decided.pod["status"]["conditions"] == [{"type": "Ready", "status": "True"}, CONDEMNED]
    assert decided.budget is not None
    assert decided.budget["status"] == {
        "conditions": [allowing("False", "InsufficientPods", since=NOW)],
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "disruptedPods": {"e0": NOW},
        "disruptionsAllowed": 0,
        "expectedPods": 2,
        "observedGeneration": 1,
    }
    assert not decided.must_be_unchanged
    assert before == budget()


def test_a_disruption_of_several_leaves_the_condition_alone() -> None:
    decided = decide_eviction(pod(), [budget(disruptionsAllowed=2, disruptedPods={"e9": BEFORE})], now=NOW)
    assert decided.budget is not None
    status = decided.budget["status"]
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (1, {"e9": BEFORE, "e0": NOW})
    assert status["conditions"] == [allowing("True", "SufficientPods")]


@pytest.mark.parametrize(
    ("judged", "budgets", "unchanged"),
    [
        (pod(), [], False),
        (pod(), [budget(spec={"selector": {"matchLabels": {"app": "other"}}})], False),
        (pod(), [budget(spec={"selector": None})], False),
        (pod(phase="Pending"), [budget(disruptionsAllowed=0)], True),
        (pod(phase="Succeeded"), [budget(disruptionsAllowed=0)], False),
        (pod(phase="Pending", deletionTimestamp=BEFORE), [budget(disruptionsAllowed=0)], False),
        (pod(ready=False), [budget(disruptionsAllowed=0)], True),
        (
            pod(ready=False),
            [budget(currentHealthy=0, disruptionsAllowed=0, spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"})],
            True,
        ),
    ],
)
def test_what_disrupts_nobody_is_not_charged(judged: Object, budgets: list[Object], *, unchanged: bool) -> None:
    decided = decide_eviction(judged, budgets, now=NOW)
    assert decided.budget is None
    assert decided.must_be_unchanged == unchanged


@pytest.mark.parametrize(
    ("judged", "covering", "told"),
    [
        (
            pod(),
            budget(currentHealthy=1, disruptionsAllowed=0),
            "The disruption budget d needs 1 healthy pods and has 1 currently",
        ),
        (
            pod(ready=False),
            budget(currentHealthy=0, disruptionsAllowed=0),
            "The disruption budget d needs 1 healthy pods and has 0 currently",
        ),
        (
            pod(),
            budget(disruptionsAllowed=0, conditions=[allowing("False", "InsufficientPods")]),
            "The disruption budget d does not allow evicting pods currently",
        ),
        (
            pod(),
            budget(disruptionsAllowed=0, conditions=[allowing("False", "Odd", "because")]),
            "The disruption budget d does not allow evicting pods currently (Odd): because",
        ),
        (
            pod(),
            budget(currentHealthy=0, disruptionsAllowed=0, conditions=[allowing("False", "SyncFailed", "no scale")]),
            "The disruption budget d does not allow evicting pods currently because it failed sync: no scale",
        ),
    ],
)
def test_a_budget_with_nothing_left_says_why(judged: Object, covering: Object, told: str) -> None:
    with pytest.raises(Denied) as denied:
        decide_eviction(judged, [covering], now=NOW)
    status = denied.value.status
    assert (status.code, status.reason, status.message) == (429, "TooManyRequests", VIOLATES)
    assert status.causes == (Cause("DisruptionBudget", told),)


def test_a_budget_that_its_controller_has_not_seen_asks_to_come_again() -> None:
    covering = budget()
    covering["metadata"]["generation"] = 2
    with pytest.raises(Denied) as denied:
        decide_eviction(pod(), [covering], now=NOW)
    status = denied.value.status
    assert status == still_processed("d").status
    assert status.causes == (
        Cause("DisruptionBudget", "The disruption budget d is still being processed by the server."),
    )
    assert status.details is not None
    assert status.details.retry_after_seconds == 10


def test_several_budgets_are_not_supported() -> None:
    with pytest.raises(Denied) as denied:
        decide_eviction(pod(), [budget(), budget()], now=NOW)
    status = denied.value.status
    assert (status.code, status.reason) == (500, "")
    assert status.message == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )


@pytest.mark.parametrize(
    ("covering", "told"),
    [
        (budget(disruptionsAllowed=-1), "pdb disruptions allowed is negative"),
        (
            budget(disruptedPods={f"p{index}": BEFORE for index in range(2001)}),
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ),
    ],
    ids=["negative", "too many"],
)
def test_a_broken_budget_forbids(covering: Object, told: str) -> None:
    with pytest.raises(Denied) as denied:
        decide_eviction(pod(), [covering], now=NOW)
    assert denied.value.status.message == f'poddisruptionbudget.policy "d" is forbidden: {told}'
