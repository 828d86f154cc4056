"""scheduler-plugins: gangs as PodGroups of scheduling.x-k8s.io, whose pods name them in a label."""

from typing import Any

from kubedyno.kube.resources import COSCHEDULING_POD_GROUPS
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_PLUGINS
from kubedyno.schedulers.dialects.ways import SEVERAL, SINGLE, way
from kubedyno.schedulers.dialects.written import WrittenDialect, claims, is_job, metadata

SCHEDULER_NAME = "scheduler-plugins"
_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


class CoschedulingDialect(WrittenDialect):
    """Jobs of one pod, gangs as PodGroups and their pods; for scenarios plain pods instead of Jobs."""

    name = "plugins"
    folder = "plugins"
    scheduler_name = SCHEDULER_NAME
    lifecycle = way(
        (BATCH_JOBS, *UNDER_PLUGINS),
        made=("job", "podgroup"),
        general=("first_pod",),
        detailed=("first_pod", "gang_ready", "volume_bound"),
        only={"job": SINGLE, "podgroup": SEVERAL},
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The PodGroup of a gang, then its pods; a Job where the one pod is to be replaced."""
        if is_job(workload):
            return [*claims(workload), self.job(workload)]
        pods = self.pods(workload)
        return [*claims(workload), *(_grouped(workload, pods) if workload.is_gang else pods)]


def _grouped(workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for member in pods:
        member["metadata"]["labels"][_GROUP_LABEL] = workload.name
    group = {
        "apiVersion": COSCHEDULING_POD_GROUPS.api_version,
        "kind": COSCHEDULING_POD_GROUPS.kind,
        "metadata": metadata(workload),
        "spec": {"minMember": workload.least_pods},
    }
    return [group, *pods]


COSCHEDULING = CoschedulingDialect()
