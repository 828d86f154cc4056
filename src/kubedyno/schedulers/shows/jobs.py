"""What the kinds show that make pods: Job, JobSet, PyTorchJob, and Run:ai's workloads."""

from typing import Final

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers.shows.conditions import created, standing

_JOB: Final = {"Complete": "completed", "Failed": "failed"}
_JOB_SET: Final = {"Completed": "completed", "Failed": "failed"}
_PYTORCH_JOB: Final = {"Running": "running", "Succeeded": "completed", "Failed": "failed"}
_RUNAI: Final = {"Running": "running", "Completed": "completed", "Succeeded": "completed", "Failed": "failed"}


def job(obj: Object) -> list[Shown]:
    """A batch Job: created, completed, failed."""
    return standing(obj, _JOB)


def job_set(obj: Object) -> list[Shown]:
    """A JobSet: created, completed, failed."""
    return standing(obj, _JOB_SET)


def pytorch_job(obj: Object) -> list[Shown]:
    """A PyTorchJob: created, running, completed, failed."""
    return standing(obj, _PYTORCH_JOB)


def runai_workload(obj: Object) -> list[Shown]:
    """One of Run:ai's workloads: created, running, completed, failed; by its conditions, else by its phase."""
    if (obj.get("status") or {}).get("conditions"):
        return standing(obj, _RUNAI)
    found = [created(obj)]
    phase = _RUNAI.get((obj.get("status") or {}).get("phase") or "")
    if phase is not None:
        found.append(Shown(phase))
    return found
