"""The reference scheduler: KAI's queues and PodGroups, and pods alone where nothing holds them together."""

from typing import Any

from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects import queued
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_REFERENCE
from kubedyno.schedulers.dialects.queued import QueuedDialect
from kubedyno.schedulers.dialects.ways import SEVERAL, SINGLE, way
from kubedyno.schedulers.dialects.written import claims, is_job


class ReferenceDialect(QueuedDialect):
    """Of our reference scheduler, which reads KAI's objects and Kubernetes' own; its templates are those of `kube`."""

    name = "reference"
    folder = "kube"
    lifecycle = way(
        (BATCH_JOBS, *UNDER_REFERENCE),
        made=("job", "podgroup"),
        general=("first_pod",),
        detailed=("first_pod", "gang_ready", "volume_bound"),
        only={"job": SINGLE, "podgroup": SEVERAL},
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """A Job, a pod, or the PodGroup and then its pods.

        A pod names its queue itself; it needs a group only for what a pod cannot say.
        """
        if is_job(workload):
            return [*claims(workload), self.job(workload)]
        pods = self.pods(workload)
        if workload.is_gang or workload.closeness is not None or workload.preemptible is not None:
            pods = queued.grouped(workload, pods)
        return [*claims(workload), *pods]


REFERENCE = ReferenceDialect()
