"""A run in the shape that KAI's scale tests write: `kwok_scale_test.json`. Pure.

Scenarios that mirror one of KAI's specs have its name, so that its dashboard draws them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.results.ginkgo import go_duration, labelled
from kubedyno.scenarios.sizes import all_gpus, share_of_gpus

_FILL: Final = "Fill Cluster with single GPU Jobs"
_WAITING: Final = 0.1
"""Of the cluster's GPUs: what `kai/fill-with-pending` has wait unless it is told otherwise."""
_NAMES: Final[Mapping[str, str]] = {
    "kai/topology-preferred": "Allocate with preferred topology",
    "kai/topology-none": "Allocate without preferred topology",
    "kai/fill": _FILL,
    "kai/fill-live": f"{_FILL} - scheduler is running while submitting jobs",
    "kai/reclaim-unschedulable": "Average time to unschedulable for distributed job",
    "kai/reclaim-large": "Reclaim time for one very large job",
    "kai/reclaim-latency": "Measuring reclaim time for single GPU",
    "kai/reclaim-distributed": "Multi Node Reclaim for distributed jobs",
    "kai/consolidate": "Consolidation to run multiple distributed jobs",
    "kai/reclaim-full-nodes": "Reclaim time for one very large job",
    "kai/burst": "NCCL Simulation on empty cluster",
}


def kai_results(trials: Sequence[TrialRecord]) -> dict[str, Any]:
    """All trials that ran; unlike there a failed one is told, too."""
    ran = [trial for trial in trials if trial.verdict != Verdict.NOT_APPLICABLE]
    return {
        "status": "success" if all(trial.verdict == Verdict.PASSED for trial in ran) else "failure",
        "tests": [
            {
                "test_name": _name(trial),
                "status": "success" if trial.verdict == Verdict.PASSED else "failure",
                "details": _details(trial),
            }
            for trial in ran
        ],
    }


def _name(trial: TrialRecord) -> str:
    """The name of the spec that a scenario mirrors; two have their sizes in it."""
    nodes = trial.parameters.get("nodes")
    if isinstance(nodes, int) and trial.scenario == "kai/fill-with-pending":
        return f"{_FILL} with {share_of_gpus(nodes, _WAITING)} pending tasks in background"
    if isinstance(nodes, int) and trial.scenario == "kai/reclaim-many":
        return f"Reclaim {all_gpus(nodes)} single GPU Jobs"
    return _NAMES.get(trial.scenario, trial.scenario)


def _details(trial: TrialRecord) -> dict[str, Any]:
    details: dict[str, Any] = {"scenario": trial.scenario, "scheduler": trial.subject, "engine": trial.engine}
    details |= trial.parameters
    details |= labelled(trial.measurements)
    details["time"] = go_duration(trial.timed_s if trial.timed_s is not None else trial.duration_s)
    if trial.message:
        details["message"] = trial.message
    return details
