"""Workloads as Kubernetes itself writes them: Jobs, and gangs as PodGroups of scheduling.k8s.io."""

from typing import Any

from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_KUBE
from kubedyno.schedulers.dialects.podgroup import grouped
from kubedyno.schedulers.dialects.ways import SEVERAL, SINGLE, way
from kubedyno.schedulers.dialects.written import WrittenDialect


class KubeDialect(WrittenDialect):
    """Of kube-scheduler: Jobs of one pod, gangs as PodGroups; for scenarios plain pods instead of Jobs."""

    name = "kube"
    folder = "kube"
    lifecycle = way(
        (BATCH_JOBS, *UNDER_KUBE),
        made=("job", "podgroup"),
        general=("first_pod",),
        detailed=("first_pod", "gang_ready", "volume_bound"),
        only={"job": SINGLE, "podgroup": SEVERAL},
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The PodGroup of a gang, then its pods."""
        pods = self.pods(workload)
        return grouped(workload, pods) if workload.is_gang else pods


class ReferenceDialect(KubeDialect):
    """Of our reference scheduler, which reads the same objects."""

    name = "reference"


KUBE = KubeDialect()
REFERENCE = ReferenceDialect()
