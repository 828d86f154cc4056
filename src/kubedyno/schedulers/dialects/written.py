"""What the dialects have in common: templates that are files, projects that are namespaces, pods and Jobs."""

from pathlib import Path
from typing import Any, Final

from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import NAMESPACES, Resource
from kubedyno.model.dialects import ANYWHERE, Form, Place, Surroundings
from kubedyno.model.keys import WORKLOAD_LABEL
from kubedyno.model.lifecycles import Lifecycle
from kubedyno.model.queues import Queue
from kubedyno.model.workloads import Group, Workload, claim_template, pod

_TEMPLATES = Path(__file__).with_name("templates")
NAMESPACE = "default"

_EVICTIONS: Final = 1_000_000
"""How often a Job replaces its pod: each eviction counts as a failure, and six would end it otherwise."""


class WrittenDialect:
    """A dialect whose workload templates lie in the folder `templates/<folder>`."""

    name: str
    lifecycle: Lifecycle
    folder: str
    scheduler_name: str = "default-scheduler"
    holds_pods_back: bool = False
    project_kind: Resource = NAMESPACES

    def project_name(self, project: str) -> str:
        """The project's own name."""
        return project

    def place(self, project: str | None) -> Place:
        """The namespace that the project is."""
        return Place(project or NAMESPACE)

    def template(self, form: Form) -> str:
        """The text of the file; the volume claim is written alike in all dialects."""
        path = _TEMPLATES / "pvc.yaml" if form == "pvc" else _TEMPLATES / self.folder / f"{form}.yaml"
        return path.read_text()

    def queues(self, queues: tuple[Queue, ...], around: Surroundings = ANYWHERE) -> list[dict[str, Any]]:
        """It knows no queues."""
        del queues, around
        return []

    def pods(self, workload: Workload) -> list[dict[str, Any]]:
        """The pods of a workload, where nothing else makes them; those of its groups one group after another."""
        if not workload.groups:
            return [self.pod(workload, index) for index in range(workload.pods)]
        return [self.pod(workload, index, group) for group in workload.groups for index in range(group.pods)]

    def pod(self, workload: Workload, index: int, group: Group | None = None) -> dict[str, Any]:
        """One pod of a workload, or of one of its groups."""
        if workload.fraction is not None:
            raise UsageError(
                f"workload {workload.name} asks for {workload.fraction:g} of a GPU, for which dialect {self.name} has "
                "no words; ask for whole GPUs, or use kai or reference"
            )
        return pod(workload, index, scheduler_name=self.scheduler_name, group=group)

    def pod_template(self, workload: Workload, *, container: str = "main") -> dict[str, Any]:
        """What the pods of a workload are made from, where something else makes them."""
        if workload.groups:
            raise UsageError(
                f"workload {workload.name} has groups, which cannot be made from one template; "
                "use a dialect that writes pods"
            )
        made = self.pod(workload, 0)
        made["spec"]["containers"][0]["name"] = container
        described = {key: made["metadata"][key] for key in ("labels", "annotations") if key in made["metadata"]}
        return {"metadata": described, "spec": made["spec"]}

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """A Job, or pods after what holds them together; claims go first."""
        if is_job(workload):
            return [*claims(workload), self.job(workload)]
        return [*claims(workload), *self.grouped(workload, self.pods(workload))]

    def grouped(self, workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The pods of a workload, after what makes them a gang; here nothing does."""
        del workload
        return pods

    def job(self, workload: Workload) -> dict[str, Any]:
        """A Job of one pod, which it replaces as often as it is evicted."""
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata(workload),
            "spec": {"backoffLimit": _EVICTIONS, "template": self.pod_template(workload)},
        }


def is_job(workload: Workload) -> bool:
    """Whether it is one pod that a Job is to make."""
    return workload.as_job and not workload.is_gang


def claims(workload: Workload) -> list[dict[str, Any]]:
    """What must be there before the pods of a workload that has DRA claims; empty for others."""
    return [claim_template(workload)] if workload.claims else []


def metadata(workload: Workload, **labels: str) -> dict[str, Any]:
    """Of the object that a workload is."""
    return {
        "name": workload.name,
        "namespace": workload.namespace,
        "labels": {WORKLOAD_LABEL: workload.name, **workload.labels, **labels},
    }


def parallel(workload: Workload) -> dict[str, Any]:
    """The fields of a Job's spec that make as many pods as the workload has."""
    if workload.pods == 1:
        return {}
    return {"completionMode": "Indexed", "completions": workload.pods, "parallelism": workload.pods}
