"""Workloads as Kubernetes itself writes them: Jobs, and gangs as PodGroups of scheduling.k8s.io."""

from typing import Any

from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects import podgroup
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_KUBE
from kubedyno.schedulers.dialects.ways import way_of_groups
from kubedyno.schedulers.dialects.written import WrittenDialect


class KubeDialect(WrittenDialect):
    """Of kube-scheduler: Jobs of one pod, gangs as PodGroups; for scenarios also plain pods."""

    name = "kube"
    folder = "kube"
    lifecycle = way_of_groups((BATCH_JOBS, *UNDER_KUBE))

    def grouped(self, workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The PodGroup of a gang, or of a pod with a wish for its place, and then its pods."""
        return podgroup.grouped(workload, pods) if workload.is_gang or workload.closeness is not None else pods


KUBE = KubeDialect()
