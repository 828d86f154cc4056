"""PyTorchJobs under any scheduler."""

from typing import Any

from kubedyno.kube.resources import PYTORCH_JOBS
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.dialects.following import TRAINING_JOBS, UNDER_ANY
from kubedyno.schedulers.dialects.ways import DECIDED, way
from kubedyno.schedulers.dialects.written import WrittenDialect, claims, metadata

_CONTAINER = "pytorch"
"""The training operator looks for a container of this name."""


class PyTorchJobDialect(WrittenDialect):
    """One PyTorchJob for each workload: a master alone, or workers alone."""

    name = "pytorchjob"
    folder = "pytorchjob"
    lifecycle = way(
        (TRAINING_JOBS, *UNDER_ANY),
        made=("job",),
        general=("first_pod",),
        detailed=("first_pod", "podgroup", "gang_ready", "volume_bound", *DECIDED),
    )

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The PyTorchJob."""
        template = self.pod_template(workload, container=_CONTAINER)
        policy = template["spec"].pop("restartPolicy")
        replicas = {"replicas": workload.pods, "restartPolicy": policy, "template": template}
        return [
            *claims(workload),
            {
                "apiVersion": PYTORCH_JOBS.api_version,
                "kind": PYTORCH_JOBS.kind,
                "metadata": metadata(workload),
                "spec": {"pytorchReplicaSpecs": {"Worker" if workload.is_gang else "Master": replicas}},
            },
        ]


PYTORCHJOB = PyTorchJobDialect()
