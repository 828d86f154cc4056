"""KAI's API objects: what must be there before it starts."""

from typing import Any

from kubedyno.schedulers.dialects.queued import base_queues
from kubedyno.schedulers.kai.components import NAMESPACE
from kubedyno.schedulers.priorities import priority_classes

_RESERVATION = "kai-resource-reservation"


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
        *priority_classes(),
        *base_queues(),
    ]
