"""Node pools as API objects: the shape of a node, and the Node objects of a pool."""

from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

_NODES_AT_MOST = 65536  # one /24 of 10.0.0.0/8 each


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of one kind."""

    name: str
    count: int
    gpus: int = 8
    cpu: str = "32"
    memory: str = "256Gi"
    pods: int = 110
    labels: Mapping[str, str] = msgspec.field(default_factory=lambda: {"type": "kwok"})


def nodes(pool: Pool) -> Iterator[dict[str, Any]]:
    """The pool's Node objects: `<pool>-0`, `<pool>-1`, ..."""
    if not 0 <= pool.count <= _NODES_AT_MOST:
        raise ValueError(f"a pool has 0 to {_NODES_AT_MOST} nodes, not {pool.count}")
    return (_node(pool, index) for index in range(pool.count))


def _node(pool: Pool, index: int) -> dict[str, Any]:
    name = f"{pool.name}-{index}"
    capacity = {"cpu": pool.cpu, "memory": pool.memory, "pods": str(pool.pods)}
    if pool.gpus:
        capacity["nvidia.com/gpu"] = str(pool.gpus)
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubedyno/pool": pool.name,
        **pool.labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            # KWOK manages nodes with this annotation where it runs in a cluster; harmless elsewhere.
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        # Pod addresses come from the node's own range, so they are unique; KWOK does not check for overflow.
        "spec": {"podCIDR": f"10.{index // 256}.{index % 256}.0/24"},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kubeletVersion": "v1.36.3",
                "containerRuntimeVersion": "",
                "kernelVersion": "",
                "osImage": "",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
                "kubeProxyVersion": "",
            },
        },
    }


def default_stages() -> tuple[Path, ...]:
    """The Stage files that KWOK is given unless others are named."""
    folder = Path(str(resources.files("kubedyno.sim"))) / "stages"
    return tuple(sorted(folder.glob("*.yaml")))
