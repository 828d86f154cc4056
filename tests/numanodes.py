"""Nodes with NUMA zones and pods for them, as objects of the API."""

import json
from collections.abc import Sequence
from typing import Any

from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.kubelet import settings
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa

GIB = 2**30
GPU = "nvidia.com/gpu"


def kubelet(
    policy: str = "single-numa-node", scope: str = "container", zones: int = 2, **options: Any
) -> KubeletSettings:
    """A kubelet that aligns all it can: two CPUs are reserved, and a GiB of each zone."""
    usual: dict[str, Any] = {
        "topology_manager_policy": policy,
        "topology_manager_scope": scope,
        "cpu_manager_policy": "static",
        "reserved_cpus": 2,
        "memory_manager_policy": "Static",
        "reserved_memory": {str(zone): "1Gi" for zone in range(zones)},
        "numa": Numa(sockets=zones, threads_per_core=2),
    }
    return KubeletSettings(**{**usual, **options})


def node(manner: KubeletSettings | None = None, *, name: str = "n", cpus: int = 32, gpus: int = 8) -> Object:
    """A node with 64 GiB; its uid is made of its name."""
    annotations = {}
    amounts = {"cpu": str(cpus), "memory": "64Gi", "pods": "110"}
    if manner:
        annotations[marks.KUBELET] = settings.written(manner)
    if gpus:
        annotations[marks.DEVICES] = json.dumps({"model": "H100", "count": gpus})
        amounts[GPU] = str(gpus)
    return {
        "metadata": {"name": name, "uid": f"uid-of-{name}", "annotations": annotations},
        "status": {"capacity": dict(amounts), "allocatable": amounts},
    }


def pod(
    name: str,
    *containers: dict[str, str],
    init: Sequence[dict[str, str]] = (),
    sidecars: Sequence[dict[str, str]] = (),
    qos: str = "Guaranteed",
) -> Object:
    """A pod whose containers `app0`, `init0`, `sidecar0`, ... request these amounts, and may have no more."""

    def written(kind: str, asked: Sequence[dict[str, str]], **more: str) -> list[Object]:
        return [
            {"name": f"{kind}{number}", "resources": {"requests": amounts, "limits": amounts}, **more}
            for number, amounts in enumerate(asked)
        ]

    return {
        "metadata": {"name": name, "namespace": "d", "uid": f"uid-of-{name}"},
        "spec": {
            "containers": written("app", containers),
            "initContainers": [*written("init", init), *written("sidecar", sidecars, restartPolicy="Always")],
        },
        "status": {"qosClass": qos},
    }
