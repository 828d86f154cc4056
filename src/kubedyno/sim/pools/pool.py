"""What a node pool is: data, as Python writes it and as `pools.yaml` does (there in camelCase)."""

import functools
import math
import uuid
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.kit.units import parse_duration_s
from kubedyno.sim import hardware
from kubedyno.sim.devices.inventory import NVIDIA_DRIVER, Inventory, Mig, Plain, Sharing, Shown
from kubedyno.sim.hardware import Gpu
from kubedyno.sim.kubelet.settings import KubeletSettings

DEFAULT_CPU: Final = "32"
DEFAULT_MEMORY: Final = "256Gi"
DEFAULT_PODS: Final = 110
DEFAULT_COUNT: Final = 500
"""Nodes of a pool that says nothing of its size, where NODE_COUNT is not set either."""
NODE_LEVEL: Final = "node"
SHOWN: Final[tuple[Shown, ...]] = ("extended",)
"""How GPUs are shown unless the pool says otherwise."""

AT_ONCE: Final = "0s"

_UUIDS: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "kubedyno")
_KNOWN_LABELS: Final = {
    "region": "topology.kubernetes.io/region",
    "zone": "topology.kubernetes.io/zone",
    NODE_LEVEL: "kubernetes.io/hostname",
}


def level_label(level: str) -> str:
    """The usual label that tells the place of a node at a level: those of Kueue's and KAI's documents."""
    return _KNOWN_LABELS.get(level, f"cloud.provider.com/topology-{level}")


class Taint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A taint of every node of the pool; the value may be a template."""

    key: str
    effect: str
    value: str = ""


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One level of a topology tree: `count` of it in each of the level above."""

    level: str
    count: int
    label: str = ""
    """Key of its label; empty: the usual one."""

    @property
    def key(self) -> str:
        """Key of the label that tells the level's place."""
        return self.label or level_label(self.level)


class Topology(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tree of places, the outermost level first."""

    levels: tuple[Level, ...]
    name: str = ""
    """Of the scheduler's Topology object; empty: the pool's name."""

    @property
    def leaves(self) -> int:
        """How many nodes the tree has room for."""
        return math.prod(level.count for level in self.levels)


class Gpus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """The GPUs of each node, and how they are shown: one of `model`, `custom` and `plain` says what they are."""

    model: str | None = None
    """Name in the catalogue, like H100."""
    custom: Mapping[str, Any] | None = None
    """A GPU that the catalogue does not have, as `hardware.custom` takes it (`{like: H100, memory_mib: ...}`)."""
    plain: Plain | None = None
    """Devices of another DRA driver."""
    count: int | None = None
    """None: as many as the usual server of the model has."""
    show: tuple[Shown, ...] = SHOWN
    mig: Mig | None = None
    sharing: Sharing | None = None
    delay: str = AT_ONCE
    """From the node's being ready until its GPUs appear."""
    partitionable: bool = False
    driver: str = NVIDIA_DRIVER
    cluster_uuid: str = ""
    """Of the NVLink domains; empty: derived from the pool's name."""

    @property
    def gpu(self) -> Gpu | None:
        """The model; None for devices that are no GPUs of NVIDIA's."""
        if self.custom is not None:
            return _custom(msgspec.json.encode(self.custom))
        return _catalogued(self.model) if self.model is not None else None

    @property
    def number(self) -> int:
        """GPUs of one node."""
        if self.count is not None:
            return self.count
        return self.gpu.server.gpus if self.gpu else 1

    @property
    def delay_s(self) -> float:
        """`delay` in seconds."""
        return parse_duration_s(self.delay)


_catalogued = functools.lru_cache(maxsize=64)(hardware.gpu)


@functools.lru_cache(maxsize=64)
def _custom(fields: bytes) -> Gpu:
    return hardware.custom(msgspec.json.decode(fields))


class Pool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Nodes of one kind: `<name>-0`, `<name>-1`, ... Quantities are written as in Kubernetes."""

    name: str
    count: int | None = None
    """None: as many as the topology or `nodes` have."""
    gpus: int | Gpus = 0
    """A number: so many `nvidia.com/gpu` of no model, without labels."""
    cpu: str | int | float | None = None
    """None: that of the GPU's usual server, else 32."""
    memory: str | int | None = None
    """None: that of the GPU's usual server, else 256Gi."""
    pods: int = DEFAULT_PODS
    ephemeral_storage: str | int | None = None
    resources: Mapping[str, str | int] = {}
    """Any other resources, like `rdma/hca: 8`."""
    reserved: Mapping[str, str | int | float] = {}
    """What pods do not get: capacity less this is allocatable."""
    architecture: str | None = None
    """None: that of the GPU's usual server, else amd64."""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    topology: Topology | None = None
    kubelet: KubeletSettings = KubeletSettings()
    nodes: tuple[Mapping[str, str], ...] = ()
    """Labels of single nodes, by index, over all others."""

    @property
    def size(self) -> int:
        """How many nodes it has."""
        if self.count is not None:
            return self.count
        if self.topology is not None:
            return self.topology.leaves
        return len(self.nodes) or DEFAULT_COUNT

    @property
    def model(self) -> Gpu | None:
        """The model of its GPUs, if they have one."""
        return self.gpus.gpu if isinstance(self.gpus, Gpus) else None

    @property
    def arch(self) -> str:
        """The architecture of its machines."""
        return self.architecture or (self.model.server.architecture if self.model else "amd64")

    def inventory(self, index: int) -> Inventory | None:
        """The devices of node `index`; None for GPUs that are a number only."""
        gpus = self.gpus
        if isinstance(gpus, int):
            return None
        devices = Inventory(
            count=gpus.number,
            model=gpus.gpu.name if gpus.gpu and gpus.custom is None else gpus.model,
            custom=gpus.custom,
            plain=gpus.plain,
            mig=gpus.mig,
            sharing=gpus.sharing,
            partitionable=gpus.partitionable,
            clique=self.clique(index),
            driver=gpus.driver,
        )
        # What says nothing is left alone, and so out of the annotation: every node carries these bytes.
        if gpus.show != SHOWN:
            devices = msgspec.structs.replace(devices, show=gpus.show)
        return msgspec.structs.replace(devices, delay_seconds=gpus.delay_s) if gpus.delay_s else devices

    def clique(self, index: int) -> str:
        """`<cluster uuid>.<number>` of the NVLink domain of node `index`; empty where domains end at the server."""
        gpu = self.model
        if gpu is None or isinstance(self.gpus, int) or gpu.nvlink <= gpu.server.gpus:
            return ""
        cluster = self.gpus.cluster_uuid or str(uuid.uuid5(_UUIDS, self.name))
        return f"{cluster}.{index // (gpu.nvlink // gpu.server.gpus)}"


def base(name: str, count: int, *, gpus: int = 8) -> Pool:
    """The usual pool for trying schedulers: 32 CPU, 256Gi, 110 pods, 8 GPUs, label `type=kwok`."""
    return Pool(name=name, count=count, gpus=gpus, labels={"type": "kwok"})
