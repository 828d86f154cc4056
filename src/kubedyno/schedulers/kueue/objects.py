"""Kueue's API objects: what must be there before it starts."""

from typing import Any

from kubedyno.model.queues import Queue
from kubedyno.model.workloads import PRIORITIES
from kubedyno.schedulers.dialects.kueue import DEFAULT_QUEUE, KUEUE
from kubedyno.schedulers.kueue.manager import NAME, NAMESPACE

_RBAC = "rbac.authorization.k8s.io"


def base() -> list[dict[str, Any]]:
    """What its manifests would install, as far as its process looks at it, and the queue of those who name none."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": NAME},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": f"system:serviceaccounts:{NAMESPACE}"}],
        },
        *(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta1",
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
            for name, value in PRIORITIES.items()
        ),
        *KUEUE.queues((Queue(name=DEFAULT_QUEUE),)),
    ]
