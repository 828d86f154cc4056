"""Kueue: suspended Jobs in a LocalQueue, started when there is quota for all of their pods."""

from typing import Any

from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import KUEUE_LOCAL_QUEUES, Resource
from kubedyno.model.dialects import ANYWHERE, Place, Surroundings
from kubedyno.model.queues import Queue
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects import cohorts
from kubedyno.schedulers.dialects.following import BATCH_JOBS, QUEUED_WORKLOADS, UNDER_KUBE
from kubedyno.schedulers.dialects.ways import way
from kubedyno.schedulers.dialects.written import NAMESPACE, WrittenDialect, claims, metadata, parallel

DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue itself takes for Jobs that name none."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
_PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"


class KueueDialect(WrittenDialect):
    """Jobs that Kueue holds back; kube-scheduler places their pods."""

    name = "kueue"
    folder = "kueue"
    holds_pods_back = True
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

    def queues(self, queues: tuple[Queue, ...], around: Surroundings = ANYWHERE) -> list[dict[str, Any]]:
        """The flavor that they share, a Cohort for each that others are below, a ClusterQueue and a LocalQueue each."""
        return cohorts.written(queues, around)

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """A suspended Job; several pods are admitted all together.

        Its priority is Kueue's alone. Were it the pods', too, kube-scheduler would preempt others' pods in the moment
        between an eviction and the end of the evicted pods.
        """
        if workload.least_pods < workload.pod_count:
            raise UsageError(
                f"workload {workload.name} may start with fewer pods and grow, for which dialect {self.name} has no "
                "words; leave `least` out, or use kai or reference"
            )
        job = self.job(workload)
        job["metadata"] = metadata(
            workload, **{QUEUE_LABEL: workload.queue or DEFAULT_QUEUE, PRIORITY_LABEL: workload.priority}
        )
        template = job["spec"]["template"]
        del template["spec"]["priorityClassName"]
        wishes = _wishes(workload)
        if wishes:
            template["metadata"]["annotations"] = {**template["metadata"].get("annotations", {}), **wishes}
        job["spec"] |= {"suspend": True, **parallel(workload)}
        return [*claims(workload), job]


def _wishes(workload: Workload) -> dict[str, str]:
    """How close together the pods are to be; Kueue takes one wish, and keeps the stronger."""
    closeness = workload.closeness
    if closeness is None:
        return {}
    if closeness.required:
        return {_REQUIRED: closeness.required}
    return {_PREFERRED: closeness.preferred} if closeness.preferred else {}


KUEUE = KueueDialect()
