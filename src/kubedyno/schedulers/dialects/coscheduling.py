"""scheduler-plugins: gangs as PodGroups of scheduling.x-k8s.io, whose pods name them in a label."""

from typing import Any

from kubedyno.kube.resources import COSCHEDULING_POD_GROUPS
from kubedyno.model.keys import COSCHEDULING_LABEL
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_PLUGINS
from kubedyno.schedulers.dialects.ways import way_of_groups
from kubedyno.schedulers.dialects.written import WrittenDialect, metadata

SCHEDULER_NAME = "scheduler-plugins"


class CoschedulingDialect(WrittenDialect):
    """Jobs of one pod, gangs as PodGroups and their pods; for scenarios plain pods instead of Jobs."""

    name = "plugins"
    folder = "plugins"
    scheduler_name = SCHEDULER_NAME
    lifecycle = way_of_groups((BATCH_JOBS, *UNDER_PLUGINS))

    def grouped(self, workload: Workload, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The PodGroup of a gang, then its pods."""
        if not workload.is_gang:
            return pods
        for member in pods:
            member["metadata"]["labels"][COSCHEDULING_LABEL] = workload.name
        group = {
            "apiVersion": COSCHEDULING_POD_GROUPS.api_version,
            "kind": COSCHEDULING_POD_GROUPS.kind,
            "metadata": metadata(workload),
            "spec": {"minMember": workload.least_pods},
        }
        return [group, *pods]


COSCHEDULING = CoschedulingDialect()
