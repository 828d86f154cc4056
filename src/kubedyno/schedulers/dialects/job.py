"""Batch Jobs under any scheduler."""

from typing import Any

from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, UNDER_ANY
from kubedyno.schedulers.dialects.ways import DECIDED, way
from kubedyno.schedulers.dialects.written import WrittenDialect, claims, metadata, parallel


class JobDialect(WrittenDialect):
    """One Job for each workload, with as many parallel pods as it has; each is scheduled for itself."""

    name = "job"
    folder = "job"
    lifecycle = way(
        (BATCH_JOBS, *UNDER_ANY),
        made=("job",),
        general=("first_pod",),
        detailed=("first_pod", "podgroup", "last_pod", "volume_bound", *DECIDED),
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The Job."""
        return [
            *claims(workload),
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": metadata(workload),
                "spec": {**parallel(workload), "template": self.pod_template(workload)},
            },
        ]


JOB = JobDialect()
