"""KAI's API objects: what must be there before it starts."""

from typing import Any

from kubedyno.schedulers.dialects.kai import DEFAULT_QUEUE, ROOT_QUEUE, queue
from kubedyno.schedulers.kai.components import NAMESPACE

_RESERVATION = "kai-resource-reservation"

# 100 and above is non-preemptible in KAI's eyes.
_PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}


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
        queue(ROOT_QUEUE, parent=None),
        queue(DEFAULT_QUEUE, parent=ROOT_QUEUE),
    ]
