"""What a device plugin gives a node: extended resources, fewer of them when GPUs are lost."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.sim import hardware
from kubedyno.sim.devices.inventory import UNCUT, Inventory
from kubedyno.sim.hardware import GPU

_MIG: Final = "nvidia.com/mig-"

Amounts = tuple[tuple[str, str], ...]


class Resources(msgspec.Struct, frozen=True):
    """The resources of device plugins in a node's status, sorted by name; quantities as texts."""

    capacity: Amounts = ()
    allocatable: Amounts = ()


def node_resources(inventory: Inventory, lost: Iterable[int] = ()) -> Resources:
    """Capacity counts all devices, allocatable those that are healthy: what the kubelet makes of a plugin's list."""
    if "extended" not in inventory.show or inventory.plain is not None:
        return Resources()
    mig = inventory.mig or UNCUT
    total = hardware.gpu_resources(
        inventory.gpu,
        inventory.count,
        strategy=mig.strategy,
        layout=mig.layout,
        whole=mig.whole,
        replicas=inventory.replicas,
    )
    left = dict(total)
    for index in set(lost) & set(range(inventory.count)):
        for name, count in gpu_share(inventory, index).items():
            if name in left:
                left[name] -= count
    return Resources(_amounts(total), _amounts(left))


def plain_resources(now: Resources, lost: Iterable[int] = ()) -> Resources:
    """The same for a node without inventory, whose GPUs are a number in its capacity."""
    total = Quantity.parse(dict(now.capacity).get(GPU, "0")).to_int()
    if not total:
        return now
    left = total - len(set(lost) & set(range(total)))
    return Resources(now.capacity, tuple(sorted({**dict(now.allocatable), GPU: str(left)}.items())))


def gpu_share(inventory: Inventory, index: int) -> dict[str, int]:
    """How much of each extended resource GPU `index` is; the first `whole` GPUs of a node are not cut."""
    mig = inventory.mig
    is_whole = mig is None or not mig.layout or index < mig.whole
    if mig is None or is_whole:
        return {GPU: inventory.replicas}
    if mig.strategy == "single":
        return {GPU: sum(mig.layout.values()) * inventory.replicas}
    return {inventory.gpu.profile(name).resource: count for name, count in mig.layout.items() if count}


def _amounts(counts: Mapping[str, int]) -> Amounts:
    return tuple(sorted((name, str(count)) for name, count in counts.items()))


def is_own(resource: str) -> bool:
    """Whether it is a resource of NVIDIA's device plugin: GPUs, and partitions of them."""
    return resource == GPU or resource.startswith(_MIG)


def shown(node: Object) -> Resources:
    """The resources of NVIDIA's device plugin that a node's status has now."""
    status = node.get("status") or {}
    return Resources(_own(status.get("capacity")), _own(status.get("allocatable")))


def _own(quantities: Mapping[str, str] | None) -> Amounts:
    return tuple(sorted((name, text) for name, text in (quantities or {}).items() if is_own(name)))


def status_patch(now: Resources, wanted: Resources) -> Object | None:
    """The merge patch of a node's status; None when nothing is to change."""
    if now == wanted:
        return None
    fields = (("capacity", now.capacity, wanted.capacity), ("allocatable", now.allocatable, wanted.allocatable))
    return {"status": {name: _change(dict(old), dict(new)) for name, old, new in fields}}


def _change(old: dict[str, str], new: dict[str, str]) -> dict[str, str | None]:
    return {**dict.fromkeys(old.keys() - new.keys()), **new}
