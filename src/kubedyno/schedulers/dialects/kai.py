"""KAI: workloads in queues, which its podgrouper makes PodGroups of, or with PodGroups of our own."""

from typing import Any

from kubedyno.kube.resources import KAI_QUEUES, Resource
from kubedyno.model.dialects import Place
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects import queued
from kubedyno.schedulers.dialects.following import BATCH_JOBS, TRAINING_JOBS, UNDER_KAI
from kubedyno.schedulers.dialects.queued import DEFAULT_QUEUE, QueuedDialect
from kubedyno.schedulers.dialects.ways import DECIDED, way
from kubedyno.schedulers.dialects.written import NAMESPACE


class KaiDialect(QueuedDialect):
    """Jobs and PyTorchJobs in queues below one root; for scenarios Jobs, and PodGroups with their pods."""

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

    def grouped(self, workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The PodGroup and then its pods, be it one.

        podgrouper makes the group of a Job's pod, and leaves a pod alone that names its group and has no owner.
        """
        return queued.grouped(workload, pods)


KAI = KaiDialect()
