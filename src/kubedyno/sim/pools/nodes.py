"""The Node objects of a pool, as their kubelets register them: whole, and ready at once."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.sim import hardware, marks
from kubedyno.sim.devices import inventory as inventories
from kubedyno.sim.devices.inventory import UNCUT
from kubedyno.sim.devices.plugin import node_resources
from kubedyno.sim.hardware import GPU
from kubedyno.sim.kubelet import nodestates
from kubedyno.sim.kubelet import settings as kubelets
from kubedyno.sim.pools import ranges, topology
from kubedyno.sim.pools.pool import DEFAULT_CPU, DEFAULT_MEMORY, Gpus, Pool
from kubedyno.sim.pools.templating import Templates

HOSTNAME: Final = "kubernetes.io/hostname"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
CLIQUE: Final = "nvidia.com/gpu.clique"

# What a kubelet 1.36 with its default feature gates declares, sorted as the API server asks.
DECLARED_FEATURES: Final = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)
_VERSIONS: Final = {
    "containerRuntimeVersion": "containerd://2.1.4",
    "kernelVersion": "6.8.0-85-generic",
    "kubeProxyVersion": "",
    "kubeletVersion": "v1.36.3",
    "operatingSystem": "linux",
    "osImage": "Ubuntu 24.04.3 LTS",
}
_KUBELET_PORT: Final = 10250


def node_name(pool: str, index: int) -> str:
    """The name of the node of that place in the pool."""
    return f"{pool}-{index}"


def index_of(pool: str, name: str) -> int | None:
    """The place of a node in its pool by its name; None for a name that the pool would not give."""
    prefix, _, number = name.rpartition("-")
    return int(number) if prefix == pool and number.isdecimal() and str(int(number)) == number else None


def nodes(pool: Pool, *, now: str, slots: Iterable[int] | None = None) -> Iterator[Object]:
    """All nodes of a pool; `slots` are the numbers of their address ranges (none: from the first on)."""
    maker = NodeMaker(pool, now=now)
    for index, slot in zip(range(pool.size), slots if slots is not None else ranges.free(()), strict=False):
        yield maker.node(index, slot)


def device_resources(pool: Pool) -> dict[str, str]:
    """The extended resources that the pool's GPUs are shown as, whenever they appear."""
    gpus = pool.gpus
    if isinstance(gpus, int):
        return {GPU: str(gpus)} if gpus else {}
    devices = pool.inventory(0)
    return dict(node_resources(devices).capacity) if devices else {}


def capacity(pool: Pool) -> dict[str, str]:
    """What a node of the pool has when it registers: GPUs that come later are not in it."""
    server = pool.model.server if pool.model else None
    cpu = pool.cpu if pool.cpu is not None else server.cpu if server else DEFAULT_CPU
    memory = pool.memory if pool.memory is not None else f"{server.memory_gib}Gi" if server else DEFAULT_MEMORY
    found = {"cpu": _quantity("cpu", cpu), "memory": _quantity("memory", memory), "pods": str(pool.pods)}
    if pool.ephemeral_storage is not None:
        found["ephemeral-storage"] = _quantity("ephemeralStorage", pool.ephemeral_storage)
    found |= {name: _quantity(f"resources.{name}", amount) for name, amount in pool.resources.items()}
    is_late = isinstance(pool.gpus, Gpus) and pool.gpus.delay_s > 0
    return found if is_late else found | device_resources(pool)


def allocatable(pool: Pool, all_there_is: Mapping[str, str]) -> dict[str, str]:
    """What pods can have of it."""
    found = dict(all_there_is)
    for name, amount in pool.reserved.items():
        if name not in found:
            raise UsageError(f"reserved.{name}: the nodes have no {name}; they have {', '.join(found)}")
        left = Quantity.parse(found[name]) - Quantity.parse(_quantity(f"reserved.{name}", amount))
        if left.nanos < 0:
            raise UsageError(f"reserved.{name}: {amount} is more than the {found[name]} that a node has")
        found[name] = str(left)
    return found


def _quantity(field: str, written: str | float) -> str:
    """The amount as the API server prints it."""
    with located(field):
        return str(Quantity.parse(written))


class NodeMaker:
    """Makes the nodes of one pool; what they share is worked out once."""

    def __init__(self, pool: Pool, *, now: str) -> None:
        self._pool = pool
        self._capacity = capacity(pool)
        self._allocatable = allocatable(pool, self._capacity)
        self._conditions = nodestates.conditions(now)
        self._templates = Templates()
        self._labels = {
            "kubernetes.io/arch": pool.arch,
            "kubernetes.io/os": "linux",
            # The controller-manager would add these to every node, with a write each.
            "beta.kubernetes.io/arch": pool.arch,
            "beta.kubernetes.io/os": "linux",
            **_gpu_labels(pool),
        }
        self._annotations = {marks.FAKE: "fake"}
        if pool.kubelet != kubelets.DEFAULTS:
            self._annotations[marks.KUBELET] = kubelets.written(pool.kubelet)
        self._devices = pool.inventory(0)
        self._by_clique: dict[str, dict[str, str]] = {}

    def node(self, index: int, slot: int) -> Object:
        """Node `index` with the address range of number `slot`. Parts of it are shared: do not change them."""
        pool = self._pool
        name = node_name(pool.name, index)
        places = topology.places(pool.topology, index, name) if pool.topology else {}
        variables: dict[str, str | int] = {"index": index, "name": name, "pool": pool.name}
        variables.update((level.replace("-", "_"), value) for level, value in places.items())
        clique = pool.clique(index)
        spec: Object = {**ranges.spec_of(slot), "providerID": f"kubedyno://{name}"}
        if pool.taints:
            spec["taints"] = self._taints(variables)
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": self._labels_of(index, clique, places, variables),
                "annotations": self._annotations_of(clique, variables),
            },
            "spec": spec,
            "status": self._status(name, slot),
        }

    def _labels_of(
        self, index: int, clique: str, places: Mapping[str, str], variables: Mapping[str, str | int]
    ) -> dict[str, str]:
        pool = self._pool
        labels = {HOSTNAME: str(variables["name"]), **self._labels}
        if clique:
            labels[CLIQUE] = clique
        if pool.topology is not None:
            labels |= topology.labels(pool.topology, places)
        for key, text in pool.labels.items():
            labels[key] = self._filled(f"labels.{key}", text, variables)
        if index < len(pool.nodes):
            labels |= pool.nodes[index]
        labels[marks.POOL] = pool.name
        return labels

    def _annotations_of(self, clique: str, variables: Mapping[str, str | int]) -> dict[str, str]:
        own = self._by_clique.get(clique)
        if own is None:
            own = self._by_clique[clique] = dict(self._annotations)
            if self._devices is not None:
                own[marks.DEVICES] = inventories.written(msgspec.structs.replace(self._devices, clique=clique))
        texts = self._pool.annotations
        return own | {key: self._filled(f"annotations.{key}", text, variables) for key, text in texts.items()}

    def _taints(self, variables: Mapping[str, str | int]) -> list[Object]:
        made = []
        for number, taint in enumerate(self._pool.taints):
            value = self._filled(f"taints[{number}].value", taint.value, variables)
            made.append({"key": taint.key, **({"value": value} if value else {}), "effect": taint.effect})
        return made

    def _filled(self, field: str, text: str, variables: Mapping[str, str | int]) -> str:
        with located(field):
            return self._templates.render(text, variables)

    def _status(self, name: str, slot: int) -> Object:
        # Identities are drawn from the name: the same pool gives the same nodes.
        digest = hashlib.blake2b(name.encode(), digest_size=48).hexdigest()
        return {
            "capacity": self._capacity,
            "allocatable": self._allocatable,
            "conditions": self._conditions,
            "addresses": ranges.addresses(name, slot),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": _KUBELET_PORT}},
            "nodeInfo": {
                "architecture": self._labels["kubernetes.io/arch"],
                "bootID": _uuid(digest[:32]),
                "machineID": digest[32:64],
                "systemUUID": _uuid(digest[64:]),
                **_VERSIONS,
            },
            "declaredFeatures": list(DECLARED_FEATURES),
        }


def _uuid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _gpu_labels(pool: Pool) -> dict[str, str]:
    """What GPU feature discovery says of the pool's GPUs, and the machine that they are in."""
    gpu = pool.model
    if gpu is None or isinstance(pool.gpus, int):
        return {}
    mig, sharing = pool.gpus.mig or UNCUT, pool.gpus.sharing
    return {
        INSTANCE_TYPE: gpu.server.machine.replace(" ", "-"),
        **hardware.gpu_feature_labels(
            gpu,
            pool.gpus.number,
            strategy=mig.strategy,
            layout=mig.layout,
            whole=mig.whole,
            sharing=sharing.strategy if sharing else "none",
            replicas=sharing.replicas if sharing else 1,
        ),
    }
