"""Workloads as Kubernetes itself writes them: plain pods, and gangs as PodGroups of scheduling.k8s.io.

The gates switch on what 1.36 has behind them: gangs, topology-aware placement and preemption of whole groups. An API
server serves PodGroups only with the gate and the API version both on; either alone is ignored in silence.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kubedyno.model.workloads import Workload, pod

FEATURE_GATES: Mapping[str, bool] = MappingProxyType(
    {
        "GenericWorkload": True,
        "GangScheduling": True,
        "TopologyAwareWorkloadScheduling": True,
        "WorkloadAwarePreemption": True,
    }
)
RUNTIME_CONFIG: Mapping[str, str] = MappingProxyType({"scheduling.k8s.io/v1alpha2": "true"})


class NativeDialect:
    """Plain pods, and gangs as PodGroups of scheduling.k8s.io."""

    def queues(self, names: tuple[str, ...]) -> list[dict[str, Any]]:
        """kube-scheduler knows no queues."""
        del names
        return []

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The PodGroup of a gang, then its pods."""
        pods = [pod(workload, index, scheduler_name="default-scheduler") for index in range(workload.pods)]
        if not workload.is_gang:
            return pods
        group = {
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "PodGroup",
            "metadata": {"name": workload.name, "namespace": workload.namespace, "labels": workload.labels},
            "spec": {"schedulingPolicy": {"gang": {"minCount": workload.pods}}},
        }
        for member in pods:
            member["spec"]["schedulingGroup"] = {"podGroupName": workload.name}
        return [group, *pods]
