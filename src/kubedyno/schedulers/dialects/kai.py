"""KAI: workloads in queues, which its podgrouper makes PodGroups of, or with PodGroups of our own."""

from typing import Any

from kubedyno.kube.resources import KAI_POD_GROUPS, KAI_QUEUES, Resource
from kubedyno.model.dialects import Place
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, TRAINING_JOBS, UNDER_KAI
from kubedyno.schedulers.dialects.ways import DECIDED, way
from kubedyno.schedulers.dialects.written import NAMESPACE, WrittenDialect, metadata

ROOT_QUEUE = "default-parent-queue"
DEFAULT_QUEUE = "default-queue"
QUEUE_LABEL = "kai.scheduler/queue"

_UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


class KaiDialect(WrittenDialect):
    """Jobs and PyTorchJobs in queues below one root; for scenarios PodGroups of scheduling.run.ai and their pods."""

    name = "kai"
    folder = "kai"
    scheduler_name = "kai-scheduler"
    project_kind: Resource = KAI_QUEUES
    lifecycle = way(
        (BATCH_JOBS, TRAINING_JOBS, *UNDER_KAI),
        made=("job",),
        general=("first_pod",),
        detailed=("first_pod", "gang_ready", "podgroup", "volume_bound", *DECIDED),
    )

    def place(self, project: str | None) -> Place:
        """The queue that the project is."""
        return Place(NAMESPACE, project or DEFAULT_QUEUE)

    def queues(self, names: tuple[str, ...]) -> list[dict[str, Any]]:
        """Leaf queues without quota or limit."""
        return [queue(name, parent=ROOT_QUEUE) for name in names]

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The PodGroup, then its pods.

        podgrouper leaves a pod alone when it names its group and has no owner. The queue is also a label of the
        group, or the queue's own status would not count it.
        """
        name = workload.queue or DEFAULT_QUEUE
        group = {
            "apiVersion": KAI_POD_GROUPS.api_version,
            "kind": KAI_POD_GROUPS.kind,
            "metadata": metadata(workload, **{QUEUE_LABEL: name}),
            "spec": {"minMember": workload.pods, "queue": name, "priorityClassName": "train"},
        }
        pods = self.pods(workload)
        for member in pods:
            member["metadata"]["annotations"] = {"pod-group-name": workload.name}
            member["metadata"]["labels"][QUEUE_LABEL] = name
        return [group, *pods]


def queue(name: str, *, parent: str | None) -> dict[str, Any]:
    """A queue without quota or limit; without a parent it is a root."""
    spec: dict[str, Any] = {"resources": dict.fromkeys(("gpu", "cpu", "memory"), _UNLIMITED)}
    if parent is not None:
        spec["parentQueue"] = parent
    return {"apiVersion": KAI_QUEUES.api_version, "kind": KAI_QUEUES.kind, "metadata": {"name": name}, "spec": spec}


KAI = KaiDialect()
