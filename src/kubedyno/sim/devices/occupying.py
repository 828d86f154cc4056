"""Who has which GPU: what pods ask for, and an account for nodes whose kubelet keeps none.

KWOK runs pods without giving them devices. Here they get the first GPUs that have room, as the device manager of a
kubelet would choose without topology.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from kubedyno.client.informer import Key
from kubedyno.controllers.podfacts import is_finished, phase
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.model.keys import FRACTION_ANNOTATION, SHARED_GPU_LABEL
from kubedyno.sim import marks
from kubedyno.sim.devices import sharing
from kubedyno.sim.devices.identity import gpu_index
from kubedyno.sim.devices.inventory import NVIDIA_DRIVER, Inventory
from kubedyno.sim.devices.plugin import gpu_share, is_own

FAKE_UTILISATION: Final = "run.ai/simulated-gpu-utilization"
"""The fake GPU operator's name for the annotation `marks.UTILISATION`."""

_RANGE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:-\s*(\d+(?:\.\d+)?)\s*)?")
_DEVICE: Final = re.compile(r"gpu-(\d+)(?:-mig-.*)?")
_FULL: Final = 100.0


class Holding(Protocol):
    """A container that has a GPU or a part of it."""

    @property
    def namespace(self) -> str:
        """Of its pod."""
        ...

    @property
    def pod(self) -> str:
        """Name of its pod."""
        ...

    @property
    def container(self) -> str:
        """Its name."""
        ...


GivenGpus = Callable[[str], Mapping[int, Sequence[Holding]]]
"""From a node's name to who has which of its GPUs there, by the GPU's index."""


class Holder(msgspec.Struct, frozen=True):
    """A container that has a GPU or a part of it."""

    namespace: str
    pod: str
    container: str


class GpuPod(msgspec.Struct, frozen=True, kw_only=True):
    """What matters of a bound pod that has something to do with GPUs."""

    uid: str
    node: str
    container: str
    """The one that shares and claims are told of."""
    is_running: bool
    wants: tuple[tuple[str, str, int], ...] = ()
    """Container, extended resource and count."""
    is_reservation: bool = False
    reserved: str = ""
    """UUID of the GPU that a reservation pod said it has."""
    group: str = ""
    fraction: float = 1.0
    percent: tuple[float, float] | None = None
    """Between which two it uses each of its GPUs; None when it does not say."""


def gpu_pod(pod: Object) -> GpuPod | None:
    """None for a pod that has nothing to do with GPUs, is not bound, or is over."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName") or is_finished(pod):
        return None
    wants = tuple(_wants(spec.get("containers") or []))
    group = meta.labels(pod).get(SHARED_GPU_LABEL, "")
    claiming = [one["name"] for one in spec.get("containers") or [] if (one.get("resources") or {}).get("claims")]
    if not wants and not group and not claiming:
        return None
    annotations = meta.annotations(pod)
    return GpuPod(
        uid=pod["metadata"]["uid"],
        node=spec["nodeName"],
        container=claiming[0] if claiming else spec["containers"][0]["name"],
        is_running=phase(pod) == "Running",
        wants=wants,
        is_reservation=meta.labels(pod).get("app") in sharing.APPS,
        reserved=annotations.get(sharing.RESERVED, ""),
        group=group,
        fraction=_fraction(annotations.get(FRACTION_ANNOTATION, "")),
        percent=utilisation_range(annotations.get(marks.UTILISATION) or annotations.get(FAKE_UTILISATION) or ""),
    )


def _wants(containers: Sequence[Object]) -> Iterator[tuple[str, str, int]]:
    for container in containers:
        for name, text in ((container.get("resources") or {}).get("limits") or {}).items():
            if is_own(name) and (count := Quantity.parse(text).to_int()):
                yield container["name"], name, count


def utilisation_range(text: str) -> tuple[float, float] | None:
    """`80` is 80 to 80, `20-60` is that, and at most 100; None for anything else, as the fake GPU operator takes it."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    low = min(float(found[1]), _FULL)
    return low, max(low, min(float(found[2]), _FULL)) if found[2] else low


def _fraction(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 1.0


class Account:
    """GPUs given to pods on nodes whose kubelet does not tell."""

    def __init__(self) -> None:
        self._held: dict[Key, tuple[str, list[tuple[str, str, int]]]] = {}
        """By pod: its node, and container, resource and GPU of each device."""
        self._nodes: dict[str, dict[Key, None]] = {}

    def take(self, key: Key, pod: GpuPod, inventory: Inventory) -> None:
        """Give a pod what it asks for, as far as there is any; one that has GPUs keeps them."""
        if key in self._held or (pod.is_reservation and not pod.reserved):
            return
        devices: list[tuple[str, str, int]] = []
        if pod.is_reservation:
            index = gpu_index(pod.node, pod.reserved, inventory.count)
            devices += [] if index is None else [(pod.container, pod.wants[0][1] if pod.wants else "", index)]
        else:
            free = self._free(pod.node, inventory)
            for container, resource, count in pod.wants:
                for _ in range(count):
                    # The GPU with the fewest parts in use, as the device plugin spreads time-slices; else the first.
                    room = [(-left, index) for (name, index), left in free.items() if name == resource and left]
                    if room:
                        index = min(room)[1]
                        free[resource, index] -= 1
                        devices.append((container, resource, index))
        if devices:
            self._held[key] = (pod.node, devices)
            self._nodes.setdefault(pod.node, {})[key] = None

    def _free(self, node: str, inventory: Inventory) -> dict[tuple[str, int], int]:
        """How many devices of each resource every GPU has left."""
        left = {
            (resource, index): count
            for index in range(inventory.count)
            for resource, count in gpu_share(inventory, index).items()
        }
        for key in self._nodes.get(node, ()):
            for _, resource, index in self._held[key][1]:
                if left.get((resource, index)):
                    left[resource, index] -= 1
        return left

    def release(self, key: Key) -> None:
        """Take back what a pod has."""
        node, _ = self._held.pop(key, ("", []))
        members = self._nodes.get(node, {})
        members.pop(key, None)
        if not members:
            self._nodes.pop(node, None)

    def holders(self, node: str) -> dict[int, list[Holder]]:
        """Who has which GPU of a node."""
        found: dict[int, list[Holder]] = {}
        for key in self._nodes.get(node, ()):
            for container, _, index in self._held[key][1]:
                found.setdefault(index, []).append(Holder(*key, container))
        return found


def claimed(claim: Object) -> list[tuple[str, int, Key]]:
    """Node, GPU and pod of each device of NVIDIA's driver that an allocated ResourceClaim gives to a pod."""
    status = claim.get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
    namespace = claim["metadata"].get("namespace", "")
    pods = [(namespace, one["name"]) for one in status.get("reservedFor") or [] if one.get("resource") == "pods"]
    return [
        (one["pool"], int(device[1]), pod)
        for one in results
        if one.get("driver") == NVIDIA_DRIVER and (device := _DEVICE.fullmatch(one["device"]))
        for pod in pods
    ]
