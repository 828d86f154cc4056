"""What a workload is meant to be, before any scheduler's dialect writes it down."""

from typing import Any

import msgspec


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """`pods` alike pods of `gpus` GPUs each; as a gang all of them start or none does."""

    name: str
    namespace: str = "default"
    queue: str | None = None
    pods: int = 1
    gpus: int = 1
    cpu: str = "1"
    memory: str = "1Gi"
    labels: dict[str, str] = {}

    @property
    def is_gang(self) -> bool:
        """Whether its pods belong together."""
        return self.pods > 1


def pod(workload: Workload, index: int, *, scheduler_name: str) -> dict[str, Any]:
    """A plain pod of the workload; dialects add what groups it."""
    resources = {"cpu": workload.cpu, "memory": workload.memory}
    if workload.gpus:
        resources["nvidia.com/gpu"] = str(workload.gpus)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{workload.name}-{index}",
            "namespace": workload.namespace,
            "labels": {"kubedyno/workload": workload.name, **workload.labels},
        },
        "spec": {
            "schedulerName": scheduler_name,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "main", "image": "simulated", "resources": {"requests": resources, "limits": resources}}
            ],
        },
    }
