"""Whether a pod may go to a node, and what is left there: pure functions on objects and numbers."""

import functools
import math
from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from kubedyno.kinds.admission import totals
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.placement import NodeSelector, is_tolerated, required_affinity
from kubedyno.kube.quantities import Quantity
from kubedyno.model.keys import FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION
from kubedyno.schedulers.reference.demands import Demand, demand_of

GPU = "nvidia.com/gpu"
PODS = "pods"

DEVICES: Final = "device "
"""Before the signature of devices where they stand among the resources of a node."""

CUTTING: Final = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep pods away."""

UNSCHEDULABLE: Final = "node(s) were unschedulable"
UNTOLERATED: Final = "node(s) had untolerated taint(s)"
UNWANTED: Final = "node(s) didn't match Pod's node affinity/selector"
UNREACHED: Final = "node(s) didn't match PersistentVolume's node affinity"
"""kube-scheduler's words for nodes that may not be used."""

Amounts = dict[str, int]
"""Resources in thousandths of their units."""


class Needs(msgspec.Struct, frozen=True, cache_hash=True):
    """What a pod asks of a node. Pods of one template share one object: needs are found once for all."""

    requests: tuple[tuple[str, int], ...]
    """Whole GPUs among them, parts of GPUs not."""
    selector: tuple[tuple[str, str], ...]
    affinity: bytes
    """The required node affinity as JSON; empty: none."""
    tolerations: bytes
    """As JSON."""
    volumes: tuple[bytes, ...] = ()
    """Node selectors of its volumes as JSON, all of which must match."""
    fraction: int = 0
    """Thousandths of one GPU that it shares with others."""
    gpu_memory: int = 0
    """MiB of one GPU that it shares; what part that is depends on the node."""
    devices: tuple[tuple[str, int], ...] = ()
    """Devices that its claims still want: a signature and how many."""
    claimed: int = 0
    """How many devices its claims have."""
    demand: Demand | None = None
    """What NUMA zones must give it, where a node has them; None: nothing."""

    @property
    def gpus(self) -> int:
        """Thousandths of GPUs: whole ones, parts as far as they are known without a node, and devices of claims."""
        devices = 1000 * (self.claimed + sum(count for _, count in self.devices))
        for name, amount in self.requests:
            if name == GPU:
                return amount + self.fraction + devices
        return self.fraction + devices

    @property
    def is_shared(self) -> bool:
        """Whether it takes a part of one GPU."""
        return bool(self.fraction or self.gpu_memory)


def needs_of(pod: Object) -> Needs:
    """The needs of a pod."""
    spec, annotations = pod["spec"], meta.annotations(pod)
    told = (
        _of_resources(spec),
        spec.get("nodeSelector"),
        required_affinity(spec),
        spec.get("tolerations"),
        annotations.get(FRACTION_ANNOTATION),
        annotations.get(GPU_MEMORY_ANNOTATION),
    )
    return _needs(msgspec.json.encode(told))


@functools.lru_cache(maxsize=4096)
def _needs(told: bytes) -> Needs:
    resources, selector, affinity, tolerations, fraction, memory = msgspec.json.decode(told)
    return Needs(
        tuple(sorted(_requests(msgspec.json.encode(resources)).items())),
        tuple(sorted((selector or {}).items())),
        msgspec.json.encode(affinity) if affinity else b"",
        msgspec.json.encode(tolerations or []),
        fraction=_thousandths(fraction),
        gpu_memory=int(memory) if memory and memory.isdigit() else 0,
        demand=demand_of(resources),
    )


def _thousandths(fraction: str | None) -> int:
    """Of a GPU; what is no part of one is nothing, as if it had not been written."""
    try:
        part = float(fraction or 0)
    except ValueError:
        return 0
    return math.ceil(round(part * 1000, 6)) if 0 < part < 1 else 0


def _of_resources(spec: Object) -> Object:
    return {
        "containers": [_read(one) for one in spec.get("containers") or ()],
        "initContainers": [_read(one) for one in spec.get("initContainers") or ()],
        "resources": spec.get("resources"),
        "overhead": spec.get("overhead"),
    }


def _read(container: Mapping[str, Any]) -> Object:
    return {
        "name": container["name"],
        "resources": container.get("resources"),
        "restartPolicy": container.get("restartPolicy"),
    }


@functools.lru_cache(maxsize=1024)
def _requests(spec: bytes) -> Amounts:
    """Pods of one template are added up once."""
    asked = totals.pod_requests({"spec": msgspec.json.decode(spec)}, with_status=False)
    return {**{name: quantity.milli() for name, quantity in asked.items()}, PODS: 1000}


def allocatable_of(node: Object) -> Amounts:
    """What a node has for pods. Shared: do not change it."""
    return _allocatable(msgspec.json.encode((node.get("status") or {}).get("allocatable") or {}))


@functools.lru_cache(maxsize=1024)
def _allocatable(written: bytes) -> Amounts:
    """Nodes of one sort share one answer, which nobody changes."""
    return {name: Quantity.parse(amount).milli() for name, amount in msgspec.json.decode(written).items()}


class Place(Protocol):
    """Which nodes a pod may be on: `Needs` has it, and so has what is made of them."""

    @property
    def selector(self) -> tuple[tuple[str, str], ...]:
        """Labels that the node must have."""
        ...

    @property
    def affinity(self) -> bytes:
        """The required node affinity as JSON; empty: none."""
        ...

    @property
    def tolerations(self) -> bytes:
        """As JSON."""
        ...

    @property
    def volumes(self) -> tuple[bytes, ...]:
        """Node selectors of volumes as JSON."""
        ...


def refused(name: str, labels: Mapping[str, str], taints: bytes, unschedulable: bool, place: Place) -> str:
    """Why a node with these labels and taints (as JSON, those alone that keep pods away) may not be used."""
    if unschedulable:
        return UNSCHEDULABLE
    tolerations = msgspec.json.decode(place.tolerations)
    if any(not is_tolerated(taint, tolerations) for taint in msgspec.json.decode(taints)):
        return UNTOLERATED
    if any(labels.get(key) != value for key, value in place.selector):
        return UNWANTED
    if place.affinity and not _selector(place.affinity).matches(name, labels):
        return UNWANTED
    if not all(_selector(one).matches(name, labels) for one in place.volumes):
        return UNREACHED
    return ""


def reaches(node: Object, volumes: tuple[bytes, ...]) -> bool:
    """Whether volumes with these node selectors can be mounted on a node."""
    return all(_selector(one).matches(node["metadata"]["name"], meta.labels(node)) for one in volumes)


@functools.lru_cache(maxsize=1024)
def _selector(affinity: bytes) -> NodeSelector:
    return NodeSelector.read(msgspec.json.decode(affinity))
