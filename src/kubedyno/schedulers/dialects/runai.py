"""Run:ai's own kinds, which its operator makes Jobs and PyTorchJobs of."""

from typing import Any

from kubedyno.kube.resources import DISTRIBUTED_WORKLOADS, TRAINING_WORKLOADS
from kubedyno.model import keys
from kubedyno.model.dialects import ANYWHERE, Place, Surroundings
from kubedyno.model.queues import Queue
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects import queued
from kubedyno.schedulers.dialects.following import BATCH_JOBS, RUNAI_WORKLOADS, TRAINING_JOBS, UNDER_ANY
from kubedyno.schedulers.dialects.ways import DECIDED, way
from kubedyno.schedulers.dialects.written import NAMESPACE, WrittenDialect, metadata

QUEUE_LABEL = "runai/queue"


class RunaiDialect(WrittenDialect):
    """A project is a namespace `runai-<project>` and a queue of its own name."""

    name = "runai"
    folder = "runai"
    scheduler_name = "runai-scheduler"
    lifecycle = way(
        (*RUNAI_WORKLOADS, BATCH_JOBS, TRAINING_JOBS, *UNDER_ANY),
        made=("workload",),
        general=("job", "first_pod"),
        detailed=("job", "first_pod", "podgroup", "gang_ready", "volume_bound", *DECIDED),
    )

    def project_name(self, project: str) -> str:
        """The namespace of the project."""
        return f"runai-{project}"

    def place(self, project: str | None) -> Place:
        """The namespace and the queue of the project."""
        if project is None:
            return Place(NAMESPACE, queued.DEFAULT_QUEUE)
        return Place(self.project_name(project), project)

    def queues(self, queues: tuple[Queue, ...], around: Surroundings = ANYWHERE) -> list[dict[str, Any]]:
        """The queue of each project: Run:ai's scheduler is KAI."""
        del around
        return [queued.queue(one, parent=one.parent or queued.ROOT_QUEUE) for one in queues]

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """A TrainingWorkload, or a DistributedWorkload whose master counts as one of the pods."""
        resource = DISTRIBUTED_WORKLOADS if workload.is_gang else TRAINING_WORKLOADS
        queue = workload.queue or queued.DEFAULT_QUEUE
        labels = {keys.WORKLOAD_LABEL: workload.name, **workload.labels}
        spec = {
            "name": {"value": workload.name},
            "image": {"value": "simulated"},
            "cpu": {"value": workload.cpu},
            "memory": {"value": workload.memory},
            "gpu": {"value": str(workload.gpus)},
            "labels": {"items": {key: {"value": value} for key, value in labels.items()}},
            "schedulerName": {"value": self.scheduler_name},
        }
        if workload.is_gang:
            spec |= {"distFramework": {"value": "PyTorch"}, "numWorkers": {"value": workload.pods - 1}}
        return [
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": metadata(workload, **{QUEUE_LABEL: queue, keys.QUEUE_LABEL: queue}),
                "spec": spec,
            }
        ]


RUNAI = RunaiDialect()
