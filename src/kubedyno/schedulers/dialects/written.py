"""What the dialects have in common: templates that are files, and projects that are namespaces."""

from pathlib import Path
from typing import Any

from kubedyno.kube.resources import NAMESPACES, Resource
from kubedyno.model.dialects import Form, Place
from kubedyno.model.lifecycles import Lifecycle
from kubedyno.model.workloads import Workload, pod

_TEMPLATES = Path(__file__).with_name("templates")
WORKLOAD_LABEL = "kubedyno/workload"
NAMESPACE = "default"


class WrittenDialect:
    """A dialect whose workload templates lie in the folder `templates/<folder>`."""

    name: str
    lifecycle: Lifecycle
    folder: str
    scheduler_name: str = "default-scheduler"
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

    def queues(self, names: tuple[str, ...]) -> list[dict[str, Any]]:
        """It knows no queues."""
        del names
        return []

    def pods(self, workload: Workload) -> list[dict[str, Any]]:
        """The pods of a workload, where nothing else makes them."""
        return [pod(workload, index, scheduler_name=self.scheduler_name) for index in range(workload.pods)]

    def pod_template(self, workload: Workload, *, container: str = "main") -> dict[str, Any]:
        """What the pods of a workload are made from, where something else makes them."""
        made = pod(workload, 0, scheduler_name=self.scheduler_name)
        made["spec"]["containers"][0]["name"] = container
        return {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}


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
