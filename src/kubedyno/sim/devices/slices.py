"""ResourceSlices of a node: what stands in them, and how those that exist become those that should.

One pool per node, named like it. As the real driver does it on Kubernetes 1.35 and later: all devices in slices of at
most 128; partitionable GPUs in a slice each, after slices that hold nothing but the counters. Every change gives the
whole pool a new generation, and schedulers wait until all slices of the newest one are there.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.sim import hardware
from kubedyno.sim.devices.identity import gpu_uuid, mig_uuid
from kubedyno.sim.devices.inventory import Inventory

GPU_LOST: Final = "gpu.nvidia.com/gpu-lost"
"""Taint of devices of a GPU that is gone; the driver gives it the effect NoSchedule."""

DRIVER_LABEL: Final = "resource.k8s.io/driver"
"""Of slices of plain devices."""

_MOST_DEVICES: Final = 128
_MOST_ADVANCED_DEVICES: Final = 64
"""Of a slice with taints or counters."""
_MOST_COUNTER_SETS: Final = 8
_INDEX_DIGITS: Final = 5
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class Live(msgspec.Struct, frozen=True):
    """What must be known of a slice that exists."""

    name: str
    uid: str
    owner: str
    """UID of the Node that owns it."""
    index: int
    """Its place in the pool, which its name begins with; -1 for any other name."""
    generation: int
    count: int
    digest: bytes
    """Of its content."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, in this order; indexes are those of the wanted contents."""

    generation: int
    delete: tuple[Live, ...]
    update: tuple[tuple[int, Live], ...]
    create: tuple[int, ...]


def contents(node: str, inventory: Inventory, lost: Iterable[int] = ()) -> list[Object]:
    """`devices` or `sharedCounters` of each slice of the node's pool; GPUs by the index in `lost` are tainted."""
    gone = frozenset(lost)
    if inventory.plain is not None:
        groups = [[_plain(inventory, index)] for index in range(inventory.count)]
    elif inventory.partitionable:
        return _partitionable(node, inventory, gone)
    else:
        groups = [_of_gpu(node, inventory, index) for index in range(inventory.count)]
    devices = [device for index, group in enumerate(groups) for device in (_tainted(group) if index in gone else group)]
    most = _MOST_ADVANCED_DEVICES if gone else _MOST_DEVICES
    # A driver without devices publishes one empty slice: its pool is known and complete.
    return [{"devices": devices[at : at + most]} for at in range(0, max(len(devices), 1), most)]


def _partitionable(node: str, inventory: Inventory, gone: frozenset[int]) -> list[Object]:
    gpu = inventory.gpu
    sets = [hardware.dra_counter_set(gpu, index) for index in range(inventory.count)]
    devices = [
        hardware.dra_partitionable_devices(gpu, index, uuid=gpu_uuid(node, index)) for index in range(inventory.count)
    ]
    return [
        *({"sharedCounters": sets[at : at + _MOST_COUNTER_SETS]} for at in range(0, len(sets), _MOST_COUNTER_SETS)),
        *({"devices": _tainted(group) if index in gone else group} for index, group in enumerate(devices)),
    ]


def _of_gpu(node: str, inventory: Inventory, index: int) -> list[Object]:
    """The whole GPU, or the partitions that it is cut into; the first `whole` GPUs of a node are not cut."""
    gpu, mig, own = inventory.gpu, inventory.mig, gpu_uuid(node, index)
    if mig is None or not mig.layout or index < mig.whole:
        return [hardware.dra_device(gpu, index, uuid=own)]
    return [
        hardware.dra_mig_device(
            gpu, index, profile, start, uuid=mig_uuid(node, index, profile.name, start), parent_uuid=own
        )
        for profile, start in hardware.placed(gpu, mig.layout)
    ]


def _plain(inventory: Inventory, index: int) -> Object:
    plain = inventory.plain
    assert plain is not None  # noqa: S101 - the caller looked
    device: Object = {"name": f"{plain.prefix}{index}"}
    if plain.attributes:
        device["attributes"] = {name: {_kind(value): value} for name, value in plain.attributes.items()}
    if plain.capacity:
        device["capacity"] = {name: {"value": str(Quantity.parse(value))} for name, value in plain.capacity.items()}
    return device


def _kind(value: bool | int | str) -> str:
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"


def _tainted(devices: Iterable[Object]) -> list[Object]:
    return [{**device, "taints": [{"key": GPU_LOST, "effect": "NoSchedule"}]} for device in devices]


def digest(content: Object) -> bytes:
    """A short name of a slice's content; when taints were added does not count."""
    told: dict[str, Any] = {"sharedCounters": content.get("sharedCounters") or []}
    told["devices"] = [_without_times(device) for device in content.get("devices") or []]
    return hashlib.blake2b(_encoder.encode(told), digest_size=16).digest()


def _without_times(device: Object) -> Object:
    taints = device.get("taints")
    if not taints:
        return device
    bare = [{name: value for name, value in taint.items() if name != "timeAdded"} for taint in taints]
    return {**device, "taints": bare}


def live(obj: Object) -> Live:
    """What must be known of a slice."""
    spec, metadata = obj["spec"], obj["metadata"]
    pool = spec.get("pool") or {}
    owner = next((one["uid"] for one in meta.owner_references(obj) if one.get("kind") == "Node"), "")
    prefix = metadata["name"].partition("-")[0]
    is_index = len(prefix) == _INDEX_DIGITS and all(digit in "0123456789abcdef" for digit in prefix)
    return Live(
        metadata["name"],
        metadata["uid"],
        owner,
        int(prefix, 16) if is_index else -1,
        pool.get("generation") or 0,
        pool.get("resourceSliceCount") or 0,
        digest(spec),
    )


def plan(wanted: Sequence[bytes], existing: Iterable[Live], *, owner: str) -> Plan | None:
    """How to get to slices with the `wanted` digests; None when they are there already.

    Slices of another owner are those of a node that had the name before. Of two slices for one place the newer
    generation stays: a request whose answer was lost may have made a second one.
    """
    known = sorted(existing, key=lambda one: (-one.generation, one.name))
    matched: dict[int, Live] = {}
    obsolete: list[Live] = []
    for one in known:
        if one.owner == owner and 0 <= one.index < len(wanted) and one.index not in matched:
            matched[one.index] = one
        else:
            obsolete.append(one)
    generation = max((one.generation for one in known), default=0)
    if not obsolete and all(
        index in matched
        and matched[index].digest == content
        and matched[index].generation == generation
        and matched[index].count == len(wanted)
        for index, content in enumerate(wanted)
    ):
        return None
    return Plan(
        generation=generation + 1,
        delete=tuple(obsolete),
        update=tuple(sorted(matched.items())),
        create=tuple(index for index in range(len(wanted)) if index not in matched),
    )


def pool(node: str, generation: int, count: int) -> Object:
    """The pool as all of its slices name it."""
    return {"name": node, "generation": generation, "resourceSliceCount": count}


def new_slice(
    driver: str, index: int, pool: Object, content: Object, *, owner: str, is_labelled: bool = False
) -> Object:
    """The slice to create for the node that the pool is named after; `owner` is its UID.

    Its name is as the kubelet plugin library of Kubernetes 1.36 makes it. That knows no labels; those who write slices
    by hand tell the driver in one.
    """
    node = pool["name"]
    return {
        "metadata": {
            "generateName": f"{index:0{_INDEX_DIGITS}x}-{driver}-{node}-",
            **({"labels": {DRIVER_LABEL: driver}} if is_labelled else {}),
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": owner, "controller": True}],
        },
        "spec": {"driver": driver, "nodeName": node, "pool": pool, **content},
    }


def renew(obj: Object, pool: Object, content: Object) -> None:
    """Give a slice that exists another content, in place; taints that stay keep the time when they were added."""
    spec = obj["spec"]
    times = {
        (device["name"], taint["key"], taint["effect"]): taint["timeAdded"]
        for device in spec.get("devices") or []
        for taint in device.get("taints") or []
        if "timeAdded" in taint
    }
    for field in ("devices", "sharedCounters"):
        spec.pop(field, None)
    spec |= {"pool": pool, **content}
    if times and "devices" in content:
        spec["devices"] = [_with_times(device, times) for device in content["devices"]]


def _with_times(device: Object, times: Mapping[tuple[str, str, str], str]) -> Object:
    taints = []
    for taint in device.get("taints") or []:
        added = times.get((device["name"], taint["key"], taint["effect"]))
        taints.append({**taint, "timeAdded": added} if added else taint)
    return {**device, "taints": taints} if taints else device
