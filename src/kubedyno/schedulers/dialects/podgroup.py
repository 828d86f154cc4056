"""PodGroups of scheduling.k8s.io, whatever their size."""

from typing import Any

from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import POD_GROUPS
from kubedyno.model.workloads import Closeness, Workload
from kubedyno.schedulers.dialects.following import UNDER_KUBE
from kubedyno.schedulers.dialects.ways import way
from kubedyno.schedulers.dialects.written import WrittenDialect, claims, metadata


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
        return [*claims(workload), *grouped(workload, self.pods(workload))]


def grouped(workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A PodGroup of the pods, and the pods as its members; who preempts it must take it whole."""
    if workload.groups:
        raise UsageError(f"workload {workload.name} has groups, which PodGroups of scheduling.k8s.io do not have")
    spec: dict[str, Any] = {
        "schedulingPolicy": {"gang": {"minCount": workload.least_pods}},
        "disruptionMode": "PodGroup",
        "priorityClassName": workload.priority,
    }
    if workload.closeness is not None:
        spec["schedulingConstraints"] = {"topology": [{"key": _level(workload.name, workload.closeness)}]}
    for member in pods:
        member["spec"]["schedulingGroup"] = {"podGroupName": workload.name}
    group = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": metadata(workload),
        "spec": spec,
    }
    return [group, *pods]


def _level(name: str, closeness: Closeness) -> str:
    """The node label that all pods must agree in."""
    if closeness.required is None or closeness.preferred is not None:
        raise UsageError(
            f"workload {name} prefers a topology level, but PodGroups of scheduling.k8s.io can only require one"
        )
    return closeness.required


PODGROUP = PodGroupDialect()
