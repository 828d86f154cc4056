"""PodGroups of scheduling.k8s.io, whatever their size."""

from typing import Any

from kubedyno.kube.resources import POD_GROUPS
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import UNDER_KUBE
from kubedyno.schedulers.dialects.ways import way
from kubedyno.schedulers.dialects.written import WrittenDialect, metadata


class PodGroupDialect(WrittenDialect):
    """A PodGroup and its pods, of which all start or none does; one pod is a group, too."""

    name = "podgroup"
    folder = "podgroup"
    lifecycle = way(
        UNDER_KUBE,
        made=("podgroup",),
        general=("first_pod",),
        detailed=("first_pod", "gang_ready", "volume_bound"),
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The PodGroup, then its pods."""
        return grouped(workload, self.pods(workload))


def grouped(workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A PodGroup of the pods, and the pods as its members."""
    for member in pods:
        member["spec"]["schedulingGroup"] = {"podGroupName": workload.name}
    group = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": metadata(workload),
        "spec": {"schedulingPolicy": {"gang": {"minCount": len(pods)}}},
    }
    return [group, *pods]


PODGROUP = PodGroupDialect()
