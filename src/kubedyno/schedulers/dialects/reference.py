"""The reference scheduler: KAI's queues and PodGroups, and pods alone where nothing holds them together."""

from typing import Any

from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects import queued
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_REFERENCE
from kubedyno.schedulers.dialects.queued import QueuedDialect
from kubedyno.schedulers.dialects.ways import way_of_groups


class ReferenceDialect(QueuedDialect):
    """Of our reference scheduler, which reads KAI's objects and Kubernetes' own; its templates are those of `kube`."""

    name = "reference"
    folder = "kube"
    lifecycle = way_of_groups((BATCH_JOBS, *UNDER_REFERENCE))

    def grouped(self, workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The PodGroup, then its pods. A pod names its queue itself; it needs a group only for what it cannot say."""
        if workload.is_gang or workload.closeness is not None or workload.preemptible is not None:
            return queued.grouped(workload, pods)
        return pods


REFERENCE = ReferenceDialect()
