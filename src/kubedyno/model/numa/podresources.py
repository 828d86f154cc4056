"""What a kubelet tells through its pod-resources API (v1): who has which CPUs, memory and devices, on which NUMA node.

`List` and `GetAllocatableResources` in one value. It tells active pods only, and of init containers those that restart,
as Kubernetes does since 1.34.
"""

from collections.abc import Mapping

import msgspec


class Devices(msgspec.Struct, frozen=True):
    """Devices of one resource with the same place. No NUMA node: the plugin did not say."""

    resource: str
    ids: tuple[str, ...]
    nodes: tuple[int, ...] = ()


class Memory(msgspec.Struct, frozen=True):
    """Bytes of one type (`memory`, `hugepages-1Gi`) that may lie on any of these NUMA nodes."""

    type: str
    size: int
    nodes: tuple[int, ...] = ()


class Holding(msgspec.Struct, frozen=True):
    """CPUs, memory and devices, as one container has them, or a node for all."""

    cpus: tuple[int, ...] = ()
    memory: tuple[Memory, ...] = ()
    devices: tuple[Devices, ...] = ()


class Pod(msgspec.Struct, frozen=True):
    """A pod with what its containers hold, by their names.

    `guaranteed` and `whole_cpus` (a container asks for whole CPUs) are not in the kubelet's answer: some exporters ask
    the API server for each pod to know them.
    """

    namespace: str
    name: str
    containers: Mapping[str, Holding] = {}
    guaranteed: bool = True
    whole_cpus: bool = True


class View(msgspec.Struct, frozen=True):
    """All that a kubelet tells at one moment."""

    pods: tuple[Pod, ...] = ()
    allocatable: Holding = Holding()


class Host(msgspec.Struct, frozen=True):
    """What an exporter reads of the machine itself and of the kubelet's settings, not through the API.

    CPUs by NUMA node, bytes by NUMA node and type, rows of the distance table by NUMA node.
    """

    cpus: Mapping[int, tuple[int, ...]]
    memory: Mapping[int, Mapping[str, int]] = {}
    distances: Mapping[int, Mapping[int, int]] = {}
    policy: str = "none"
    scope: str = "container"
