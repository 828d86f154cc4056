"""Kueue: suspended Jobs in a LocalQueue, started when there is quota for all of their pods."""

from typing import Any

from kubedyno.kube.resources import KUEUE_LOCAL_QUEUES, Resource
from kubedyno.model.dialects import Place
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, QUEUED_WORKLOADS, UNDER_KUBE
from kubedyno.schedulers.dialects.ways import way
from kubedyno.schedulers.dialects.written import NAMESPACE, WrittenDialect, metadata, parallel

DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue itself takes for Jobs that name none."""

_FLAVOR = "default-flavor"
_PLENTY = {"cpu": "1000000", "memory": "1000Ti", "nvidia.com/gpu": "1000000"}


class KueueDialect(WrittenDialect):
    """Jobs that Kueue holds back; kube-scheduler places their pods."""

    name = "kueue"
    folder = "kueue"
    project_kind: Resource = KUEUE_LOCAL_QUEUES
    lifecycle = way(
        (BATCH_JOBS, QUEUED_WORKLOADS, *UNDER_KUBE),
        made=("job",),
        general=("admitted", "first_pod"),
        detailed=("workload", "admitted", "first_pod", "last_pod", "volume_bound"),
    )

    def place(self, project: str | None) -> Place:
        """The LocalQueue that the project is."""
        return Place(NAMESPACE, project or DEFAULT_QUEUE)

    def queues(self, names: tuple[str, ...]) -> list[dict[str, Any]]:
        """A ClusterQueue with plenty of quota and a LocalQueue for each, and the one flavor that they share."""
        if not names:
            return []
        flavor = {"apiVersion": KUEUE_LOCAL_QUEUES.api_version, "kind": "ResourceFlavor", "metadata": {"name": _FLAVOR}}
        return [flavor, *(made for name in names for made in _queue(name))]

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """A suspended Job."""
        return [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": metadata(workload, **{"kueue.x-k8s.io/queue-name": workload.queue or DEFAULT_QUEUE}),
                "spec": {"suspend": True, **parallel(workload), "template": self.pod_template(workload)},
            }
        ]


def _queue(name: str) -> list[dict[str, Any]]:
    quotas = [{"name": resource, "nominalQuota": amount} for resource, amount in _PLENTY.items()]
    return [
        {
            "apiVersion": KUEUE_LOCAL_QUEUES.api_version,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [
                    {"coveredResources": list(_PLENTY), "flavors": [{"name": _FLAVOR, "resources": quotas}]}
                ],
            },
        },
        {
            "apiVersion": KUEUE_LOCAL_QUEUES.api_version,
            "kind": KUEUE_LOCAL_QUEUES.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"clusterQueue": name},
        },
    ]


KUEUE = KueueDialect()
