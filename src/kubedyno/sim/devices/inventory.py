"""What devices a node has and how it shows them: written on the node as JSON, the same for all nodes of a pool."""

import functools
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.sim import hardware, marks
from kubedyno.sim.hardware import GPU, Gpu, MigStrategy

Shown = Literal["extended", "dra"]
Shared = Literal["time-slicing", "mps"]

NVIDIA_DRIVER: Final = "gpu.nvidia.com"


class Mig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """How GPUs are cut: all but `whole` of them hold the partitions that `layout` counts by profile."""

    strategy: MigStrategy = "mixed"
    layout: Mapping[str, int] = {}
    whole: int = 0


UNCUT: Final = Mig(strategy="none")
"""All GPUs whole."""


class Sharing(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """Each `nvidia.com/gpu` is advertised `replicas` times."""

    strategy: Shared = "time-slicing"
    replicas: int = 1


class Plain(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Devices of any other DRA driver: `<prefix>0`, `<prefix>1`, ..., all with these attributes and capacities."""

    prefix: str = "gpu"
    attributes: Mapping[str, bool | int | str] = {}
    capacity: Mapping[str, str] = {}
    api_version: str = ""
    """Of its ResourceSlices, which the server must have; empty: the newest that it has."""


class Inventory(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The devices of a node: one of `model` (catalogue), `custom` (as `hardware.custom` takes it) and `plain`."""

    count: int
    model: str | None = None
    custom: Mapping[str, Any] | None = None
    plain: Plain | None = None
    show: tuple[Shown, ...] = ("extended",)
    """`extended`: resources of the node's status, as a device plugin; `dra`: ResourceSlices."""
    mig: Mig | None = None
    sharing: Sharing | None = None
    delay_seconds: float = 0.0
    """From the node's being ready until its devices are shown."""
    partitionable: bool = False
    """DRA: every possible MIG partition is a device beside the whole GPU, and counters say what goes together."""
    clique: str = ""
    """`<cluster uuid>.<clique id>` of an NVLink domain over several nodes."""
    driver: str = NVIDIA_DRIVER
    """Name of the DRA driver."""

    @property
    def gpu(self) -> Gpu:
        """The model of its GPUs; UsageError for one that the catalogue does not have, and for `plain` devices."""
        if self.custom is not None:
            return hardware.custom(self.custom)
        if self.model is None:
            raise UsageError("plain devices have no GPU model")
        return hardware.gpu(self.model)

    @property
    def replicas(self) -> int:
        """How often each `nvidia.com/gpu` is advertised."""
        return self.sharing.replicas if self.sharing else 1


def check(inventory: Inventory) -> Inventory:
    """The inventory itself, when a node can be like that; UsageError with the field otherwise."""
    if sum(given is not None for given in (inventory.model, inventory.custom, inventory.plain)) != 1:
        raise UsageError("devices need one of `model` (a GPU of the catalogue), `custom` and `plain`")
    for field, number in (("count", inventory.count), ("delaySeconds", inventory.delay_seconds)):
        if number < 0:
            raise UsageError(f"`{field}` is {number}: write 0 or more")
    if inventory.replicas < 1:
        raise UsageError(f"`sharing.replicas` is {inventory.replicas}: write 1 or more")
    if inventory.plain is None:
        _check_gpus(inventory)
    elif inventory.mig or inventory.sharing or inventory.partitionable or "extended" in inventory.show:
        raise UsageError("`plain` devices are shown by `dra` alone, without MIG, sharing and partitions")
    else:
        _check_capacity(inventory.plain)
    return inventory


def _check_capacity(plain: Plain) -> None:
    for name, text in plain.capacity.items():
        with located(f"`plain.capacity.{name}`"):
            Quantity.parse(text)


def _check_gpus(inventory: Inventory) -> None:
    gpu, mig = inventory.gpu, inventory.mig
    if mig:
        hardware.gpu_resources(
            gpu,
            inventory.count,
            strategy=mig.strategy,
            layout=mig.layout,
            whole=mig.whole,
            replicas=inventory.replicas,
        )
    if "dra" in inventory.show and inventory.count > gpu.server.gpus:
        raise UsageError(
            f"`count` is {inventory.count}, and a {gpu.server.machine} has places for {gpu.server.gpus} GPUs: "
            "write fewer, or `custom` with a server that has more"
        )
    if inventory.partitionable and mig:
        raise UsageError("`partitionable` offers every partition, `mig` fixes them: write one of both")
    if inventory.partitionable and not gpu.mig:
        raise UsageError(f"GPU {gpu.name} has no MIG: leave `partitionable` out")


def written(inventory: Inventory) -> str:
    """The annotation's text."""
    return msgspec.json.encode(inventory).decode()


@functools.lru_cache(maxsize=256)
def read(text: str) -> Inventory:
    """The inventory of the annotation's text; all nodes of a pool share one object."""
    with located(f"annotation {marks.DEVICES}", msgspec.MsgspecError):
        return check(msgspec.json.decode(text, type=Inventory))


def of(node: Object) -> Inventory | None:
    """The inventory of a node; None where it has none."""
    text = meta.annotations(node).get(marks.DEVICES)
    return read(text) if text else None


def gpu_count(node: Object) -> int:
    """How many GPUs a node has: of its inventory, else as many as it advertises."""
    if (found := of(node)) is not None:
        return found.count
    capacity: Mapping[str, str] = (node.get("status") or {}).get("capacity") or {}
    return Quantity.parse(capacity.get(GPU, "0")).to_int()
