"""Defaults of Jobs and CronJobs. A CronJob's template of a Job has none of a Job's own."""

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

_NO_LIMIT = 2**31 - 1

CONSTANTS: Constants = {
    "batch.v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
}


def _job(job: Object) -> None:
    spec = job["spec"]
    if "parallelism" not in spec:
        spec.setdefault("completions", 1)
        spec["parallelism"] = 1
    spec.setdefault("backoffLimit", _NO_LIMIT if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    metadata, labels = job["metadata"], spec["template"]["metadata"].get("labels")
    if labels and not metadata.get("labels"):
        metadata["labels"] = {**labels}


FUNCTIONS: Functions = {"batch.v1.Job": _job}
