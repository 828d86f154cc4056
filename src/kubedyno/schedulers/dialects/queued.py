"""KAI's own words: Queues, PodGroups of scheduling.run.ai, and what pods and Jobs say of both."""

from typing import Any, Final

from kubedyno.kube.resources import KAI_POD_GROUPS, KAI_QUEUES
from kubedyno.model.dialects import ANYWHERE, Surroundings
from kubedyno.model.keys import (
    FRACTION_ANNOTATION,
    GROUP_ANNOTATION,
    PREEMPTIBILITY_LABEL,
    QUEUE_LABEL,
    SUBGROUP_LABEL,
)
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness, Group, Workload, pod
from kubedyno.schedulers.dialects.written import WrittenDialect, metadata

ROOT_QUEUE: Final = "default-parent-queue"
DEFAULT_QUEUE: Final = "default-queue"
SHARED_GPU_ANNOTATION: Final = "runai/shared-gpu-configmap"
"""Where a pod learns its shared GPU; KAI's webhook would write it, and the binder fails without."""

_TOPOLOGY_ANNOTATIONS: Final = {
    "topology": "kai.scheduler/topology",
    "requiredTopologyLevel": "kai.scheduler/topology-required-placement",
    "preferredTopologyLevel": "kai.scheduler/topology-preferred-placement",
}
"""Of an owner of pods, by the fields of the PodGroup that podgrouper makes of it."""


class QueuedDialect(WrittenDialect):
    """Workloads in KAI's queues."""

    def queues(self, queues: tuple[Queue, ...], around: Surroundings = ANYWHERE) -> list[dict[str, Any]]:
        """Queues below the one root, or below the parent that they name."""
        del around
        return [queue(one, parent=one.parent or ROOT_QUEUE) for one in queues]

    def pod(self, workload: Workload, index: int, group: Group | None = None) -> dict[str, Any]:
        """A pod that names its queue, and the part of a GPU that it wants."""
        made = pod(workload, index, scheduler_name=self.scheduler_name, group=group)
        described = made["metadata"]
        described["labels"][QUEUE_LABEL] = _queue_of(workload)
        if group is not None:
            described["labels"][SUBGROUP_LABEL] = group.name
        if workload.fraction is not None:
            described.setdefault("annotations", {}).update(
                {FRACTION_ANNOTATION: f"{workload.fraction:g}", SHARED_GPU_ANNOTATION: described["name"]}
            )
        return made

    def job(self, workload: Workload) -> dict[str, Any]:
        """The Job says for its pod what a PodGroup would say.

        The queue stands on both: without it on the Job the queue's own status would not count the pod.
        """
        made = super().job(workload)
        said = {QUEUE_LABEL: _queue_of(workload)}
        if workload.preemptible is not None:
            said[PREEMPTIBILITY_LABEL] = _preemptibility(preemptible=workload.preemptible)
        made["metadata"]["labels"] |= said
        made["spec"]["template"]["metadata"]["labels"] |= said
        if workload.closeness is not None:
            wishes = _constraint(workload.closeness)
            made["metadata"]["annotations"] = {_TOPOLOGY_ANNOTATIONS[field]: text for field, text in wishes.items()}
        return made


def grouped(workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A PodGroup of the pods, and the pods as its members.

    The queue is also a label of the group, or the queue's own status would not count it.
    """
    name = _queue_of(workload)
    spec: dict[str, Any] = {
        "minMember": workload.least_pods,
        "queue": name,
        "priorityClassName": workload.priority,
    }
    if workload.preemptible is not None:
        spec["preemptibility"] = _preemptibility(preemptible=workload.preemptible)
    if workload.closeness is not None:
        spec["topologyConstraint"] = _constraint(workload.closeness)
    if workload.groups:
        spec["subGroups"] = [_part(group) for group in workload.groups]
    for member in pods:
        member["metadata"].setdefault("annotations", {})[GROUP_ANNOTATION] = workload.name
    group = {
        "apiVersion": KAI_POD_GROUPS.api_version,
        "kind": KAI_POD_GROUPS.kind,
        "metadata": metadata(workload, **{QUEUE_LABEL: name}),
        "spec": spec,
    }
    return [group, *pods]


def queue(wanted: Queue, *, parent: str | None) -> dict[str, Any]:
    """The Queue object; without a parent it is a root."""
    shares = {"gpu": wanted.gpu, "cpu": wanted.cpu, "memory": wanted.memory}
    spec: dict[str, Any] = {
        "priority": wanted.priority,
        "resources": {resource: _share(share) for resource, share in shares.items()},
    }
    if parent is not None:
        spec["parentQueue"] = parent
    return {
        "apiVersion": KAI_QUEUES.api_version,
        "kind": KAI_QUEUES.kind,
        "metadata": {"name": wanted.name},
        "spec": spec,
    }


def base_queues() -> list[dict[str, Any]]:
    """The root of all queues, and the queue of workloads that name none."""
    return [queue(Queue(name=ROOT_QUEUE), parent=None), queue(Queue(name=DEFAULT_QUEUE), parent=ROOT_QUEUE)]


def _queue_of(workload: Workload) -> str:
    return workload.queue or DEFAULT_QUEUE


def _preemptibility(*, preemptible: bool) -> str:
    return "preemptible" if preemptible else "non-preemptible"


def _part(group: Group) -> dict[str, Any]:
    part: dict[str, Any] = {"name": group.name, "minMember": group.pods if group.least is None else group.least}
    if group.closeness is not None:
        part["topologyConstraint"] = _constraint(group.closeness)
    return part


def _constraint(closeness: Closeness) -> dict[str, str]:
    found = {"topology": closeness.topology}
    if closeness.required is not None:
        found["requiredTopologyLevel"] = closeness.required
    if closeness.preferred is not None:
        found["preferredTopologyLevel"] = closeness.preferred
    return found


def _share(share: Share) -> dict[str, float]:
    return {"quota": share.quota, "overQuotaWeight": share.over_quota_weight, "limit": share.limit}
