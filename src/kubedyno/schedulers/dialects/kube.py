"""Workloads as Kubernetes itself writes them: Jobs, and gangs as PodGroups of scheduling.k8s.io."""

from typing import Any

from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_KUBE
from kubedyno.schedulers.dialects.podgroup import grouped
from kubedyno.schedulers.dialects.ways import SEVERAL, SINGLE, way
from kubedyno.schedulers.dialects.written import WrittenDialect, claims, is_job


class KubeDialect(WrittenDialect):
    """Of kube-scheduler: Jobs of one pod, gangs as PodGroups; for scenarios also plain pods."""

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
        """A Job, a pod, or the PodGroup of a gang and then its pods."""
        if is_job(workload):
            return [*claims(workload), self.job(workload)]
        pods = self.pods(workload)
        if workload.is_gang or workload.closeness is not None:
            pods = grouped(workload, pods)
        return [*claims(workload), *pods]


KUBE = KubeDialect()
