"""KAI's API objects: what must be there before it starts, and how queues and gangs are written for it."""

from typing import Any

from kubedyno.model.workloads import Workload, pod
from kubedyno.schedulers.kai.components import NAMESPACE

_SCHEDULER_NAME = "kai-scheduler"
_ROOT_QUEUE = "default-parent-queue"
_DEFAULT_QUEUE = "default-queue"
_RESERVATION = "kai-resource-reservation"

# 100 and above is non-preemptible in KAI's eyes.
_PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}

_UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


class KaiDialect:
    """PodGroups of scheduling.run.ai, in queues below one root."""

    def queues(self, names: tuple[str, ...]) -> list[dict[str, Any]]:
        """Leaf queues without quota or limit."""
        return [_queue(name, parent=_ROOT_QUEUE) for name in names]

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The PodGroup, then its pods.

        podgrouper leaves a pod alone when it names its group and has no owner. The queue is also a label of the
        group, or the queue's own status would not count it.
        """
        queue = workload.queue or _DEFAULT_QUEUE
        group = {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {
                "name": workload.name,
                "namespace": workload.namespace,
                "labels": {**workload.labels, "kai.scheduler/queue": queue},
            },
            "spec": {"minMember": workload.pods, "queue": queue, "priorityClassName": "train"},
        }
        pods = [pod(workload, index, scheduler_name=_SCHEDULER_NAME) for index in range(workload.pods)]
        for member in pods:
            member["metadata"]["annotations"] = {"pod-group-name": workload.name}
            member["metadata"]["labels"]["kai.scheduler/queue"] = queue
        return [group, *pods]


def base() -> list[dict[str, Any]]:
    """What KAI's chart would install, as far as its processes look at it."""
    return [
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in (NAMESPACE, _RESERVATION, "kai-scale-adjust")
        ),
        # Pods that reserve a GPU for fractions run under it, and are refused without.
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _RESERVATION, "namespace": _RESERVATION}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "kai-scheduler"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [
                {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Group",
                    "name": f"system:serviceaccounts:{NAMESPACE}",
                }
            ],
        },
        *(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
            for name, value in _PRIORITIES.items()
        ),
        _queue(_ROOT_QUEUE, parent=None),
        _queue(_DEFAULT_QUEUE, parent=_ROOT_QUEUE),
    ]


def _queue(name: str, *, parent: str | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"resources": dict.fromkeys(("gpu", "cpu", "memory"), _UNLIMITED)}
    if parent is not None:
        spec["parentQueue"] = parent
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
