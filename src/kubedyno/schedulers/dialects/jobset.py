"""JobSets under any scheduler."""

from typing import Any

from kubedyno.kube.resources import JOB_SETS
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import BATCH_JOBS, SETS_OF_JOBS, UNDER_ANY
from kubedyno.schedulers.dialects.ways import DECIDED, way
from kubedyno.schedulers.dialects.written import WrittenDialect, claims, metadata, parallel


class JobSetDialect(WrittenDialect):
    """One JobSet of one Job for each workload."""

    name = "jobset"
    folder = "jobset"
    lifecycle = way(
        (SETS_OF_JOBS, BATCH_JOBS, *UNDER_ANY),
        made=("workload",),
        general=("job", "first_pod"),
        detailed=("job", "first_pod", "podgroup", "last_pod", "volume_bound", *DECIDED),
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The JobSet."""
        job = {"spec": {**parallel(workload), "template": self.pod_template(workload)}}
        return [
            *claims(workload),
            {
                "apiVersion": JOB_SETS.api_version,
                "kind": JOB_SETS.kind,
                "metadata": metadata(workload),
                "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": job}]},
            },
        ]


JOBSET = JobSetDialect()
