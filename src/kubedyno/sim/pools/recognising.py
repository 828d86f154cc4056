"""From what nodes say to what a pool would say: GPU models by their labels, topology trees by their values."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kubedyno.sim import hardware
from kubedyno.sim.devices.inventory import Inventory, Mig, Shared, Sharing
from kubedyno.sim.hardware import GPU, Gpu
from kubedyno.sim.pools import topology
from kubedyno.sim.pools.nodes import CLIQUE, HOSTNAME
from kubedyno.sim.pools.pool import AT_ONCE, NODE_LEVEL, SHOWN, Gpus, Level, Topology, level_label

_PRODUCT: Final = f"{GPU}.product"
_STEP: Final = re.compile(r"([a-z0-9]+)-(\d+)(?:-|$)")
_PARTITION: Final = re.compile(r"nvidia\.com/mig-(\d+g\.\d+gb(?:\.me)?)\.count")


def from_inventory(devices: Inventory) -> Gpus:
    """The GPUs of a node that says itself what it has."""
    return Gpus(
        model=devices.model,
        custom=devices.custom,
        plain=devices.plain,
        count=_count(devices.count, hardware.gpu(devices.model) if devices.model else None),
        show=SHOWN if devices.show == SHOWN else devices.show,
        mig=devices.mig,
        sharing=devices.sharing,
        delay=f"{devices.delay_seconds:g}s" if devices.delay_seconds else AT_ONCE,
        partitionable=devices.partitionable,
        driver=devices.driver,
    )


def from_labels(labels: Mapping[str, str], capacity: Mapping[str, str]) -> Gpus | None:
    """The GPUs that GPU feature discovery tells of; None where it does not, or the catalogue does not have them.

    UsageError for partitions that the catalogue does not know.
    """
    product = labels.get(_PRODUCT, "").removesuffix("-SHARED")
    whole_product, cut, profile = product.partition("-MIG-")
    gpu = _gpu_of(whole_product)
    if gpu is None:
        return None
    try:
        replicas = int(labels.get(f"{GPU}.replicas", "1"))
        count = int(labels.get(f"{GPU}.count", "0"))
        mig = _mig(gpu, labels, count, int(capacity.get(GPU, "0")))
    except ValueError:
        return None
    if cut:
        # The count is that of partitions; a GPU holds as many of them as go.
        each = gpu.profile(profile).count
        mig, count = Mig(strategy="single", layout={profile: each}), count // each
    strategy: Shared = "mps" if labels.get(f"{GPU}.sharing-strategy") == "mps" else "time-slicing"
    return Gpus(
        model=gpu.name,
        count=_count(count, gpu),
        mig=mig,
        sharing=Sharing(strategy=strategy, replicas=replicas) if replicas > 1 else None,
    )


def _count(count: int, gpu: Gpu | None) -> int | None:
    """Left out where it is the usual one."""
    return None if gpu is not None and count == gpu.server.gpus else count


def _gpu_of(product: str) -> Gpu | None:
    return next((gpu for gpu in hardware.catalogue().values() if gpu.product.replace(" ", "-") == product), None)


def _mig(gpu: Gpu, labels: Mapping[str, str], count: int, whole: int) -> Mig | None:
    """Partitions that are shown each by its own name."""
    numbers = {found[1]: int(text) for key, text in labels.items() if (found := _PARTITION.fullmatch(key))}
    cut = count - whole
    if not numbers or cut <= 0:
        return None
    return Mig(layout={gpu.profile(name).name: number // cut for name, number in numbers.items()}, whole=whole)


def tree(labels: Sequence[Mapping[str, str]]) -> Topology | None:
    """The tree whose places the nodes' labels are, all of them and in this order; None where they are not."""
    if not labels:
        return None
    levels: list[tuple[str, str]] = []
    path = ""
    while True:
        following = _next_level(labels[0], path, [name for name, _ in levels])
        if following is None:
            break
        name, key = following
        path = labels[0][key]
        levels.append((name, key))
    if not levels:
        return None
    counts = [1 + max((_last_number(own.get(key, "")) for own in labels), default=0) for _, key in levels]
    leaves: dict[str, int] = {}
    for own in labels:
        leaf = own.get(levels[-1][1], "")
        leaves[leaf] = leaves.get(leaf, 0) + 1
    found = [_level(name, count, key) for (name, key), count in zip(levels, counts, strict=True)]
    if max(leaves.values()) > 1:
        found.append(Level(level=NODE_LEVEL, count=max(leaves.values())))
    candidate = Topology(levels=tuple(found))
    return candidate if _is_tree_of(candidate, labels) else None


def _next_level(labels: Mapping[str, str], path: str, above: Sequence[str]) -> tuple[str, str] | None:
    """Name and label key of the level below `path`; of several labels that tell it, the usual one."""
    prefix = f"{path}-" if path else ""
    found = []
    for key, value in labels.items():
        if not value.startswith(prefix) or key in {CLIQUE, HOSTNAME}:
            continue
        step = _STEP.fullmatch(value.removeprefix(prefix))
        if step and step[1] not in above:
            found.append((key != level_label(step[1]), key, step[1]))
    if not found:
        return None
    _, key, name = min(found)
    return name, key


def _last_number(value: str) -> int:
    number = value.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _level(name: str, count: int, key: str) -> Level:
    return Level(level=name, count=count, label="" if level_label(name) == key else key)


def _is_tree_of(candidate: Topology, labels: Sequence[Mapping[str, str]]) -> bool:
    if len(labels) > candidate.leaves:
        return False
    for index, own in enumerate(labels):
        places = topology.places(candidate, index, "")
        for level in candidate.levels:
            if level.level != NODE_LEVEL and own.get(level.key) != places[level.level]:
                return False
    return True
