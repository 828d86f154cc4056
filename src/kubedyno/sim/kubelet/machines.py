"""What the kubelet of a node finds there: amounts for pods, device plugins, and the machine under its managers.

Nodes of one pool are alike, so all of this is made once for each kind of node and shared.
"""

import functools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.model.numa import admission as numa
from kubedyno.model.numa import bits
from kubedyno.model.numa.admission import Ledger, Node, Scope
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.cpus import StaticCpus
from kubedyno.model.numa.devices import Plugin, Preference
from kubedyno.model.numa.machine import Layout, Machine
from kubedyno.model.numa.merging import Policy
from kubedyno.model.numa.options import CpuOptions, TopologyOptions
from kubedyno.sim import marks
from kubedyno.sim.devices import inventory as inventories
from kubedyno.sim.devices.inventory import Inventory
from kubedyno.sim.devices.plugin import gpu_share, node_resources
from kubedyno.sim.kubelet import settings as kubelets
from kubedyno.sim.kubelet.requests import CPU, amount, is_counted
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa

_REMEMBERED: Final = 1024
_CPU_POLICIES: Final = ("none", "static")
_MEMORY_POLICIES: Final = ("None", "Static")


class Device(msgspec.Struct, frozen=True):
    """What a device plugin offers: GPU `3`, or a partition or share of it, `3:1`; `gpu` is its number on the node."""

    id: str
    gpu: int
    numa_node: int


Devices = Mapping[str, Sequence[Device]]
"""Devices by resource, in the order in which they are given out."""


class Build(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A kind of node.

    `capacity` is what it has for pods (`status.allocatable`), with CPUs in thousandths. `devices` are those of its
    plugins as far as they have registered. `numa` and `empty` are None where no manager aligns anything. `settings` are
    its kubelet's, and `installed` the quantities of the whole node.
    """

    capacity: Mapping[str, int]
    devices: Devices
    numa: Node | None
    empty: Ledger | None
    settings: KubeletSettings = kubelets.DEFAULTS
    installed: Mapping[str, str] = {}

    @functools.cached_property
    def machine(self) -> Machine:
        """The hardware, whether or not anything is aligned; UsageError where such a machine cannot be."""
        if self.numa is not None:
            return self.numa.machine
        with located(f"annotation {marks.KUBELET}"):
            return _shaped(self.settings.numa, self.installed.get(CPU, "0"), self.installed.get("memory", "0"))

    @functools.cached_property
    def gpus(self) -> Mapping[str, int]:
        """The number of the GPU by device."""
        return {device.id: device.gpu for devices in self.devices.values() for device in devices}

    @functools.cached_property
    def counts_all_devices(self) -> bool:
        """Whether the node's allocatable has every device, so that it cannot be less than what is given out."""
        return all(self.capacity.get(resource, 0) >= len(listed) for resource, listed in self.devices.items())

    def healthy(self, resource: str, lost: AbstractSet[int]) -> Bits:
        """Devices of the resource, by their places in its list, that are not on lost GPUs."""
        devices = self.devices[resource]
        if not lost:
            return (1 << len(devices)) - 1
        return bits.of(place for place, device in enumerate(devices) if device.gpu not in lost)

    def continues(self, before: "Build") -> bool:
        """Whether what was given out on a node of the kind that it was `before` is still right."""
        if (self.numa is None) != (before.numa is None):
            return False
        if self.numa and before.numa and _managers(self.numa) != _managers(before.numa):
            return False
        return all(before.devices.get(resource, listed) == listed for resource, listed in self.devices.items())

    def without(self, gpus: AbstractSet[int]) -> Node | None:
        """The machine while these GPUs are lost."""
        if self.numa is None or not gpus:
            return self.numa
        plugins = {
            resource: msgspec.structs.replace(
                plugin, unhealthy=frozenset(device for device in plugin.devices if self.gpus[device] in gpus)
            )
            for resource, plugin in self.numa.plugins.items()
        }
        return msgspec.structs.replace(self.numa, plugins=plugins)


def _managers(node: Node) -> tuple[object, ...]:
    return node.machine, node.policy, node.scope, node.options, node.cpus, node.reserved_memory


def build_of(node: Object) -> Build:
    """The kind that the node is of; UsageError where a kubelet would not start with its settings."""
    status, annotations = node.get("status") or {}, meta.annotations(node)
    return _build(
        tuple((status.get("capacity") or {}).items()),
        tuple((status.get("allocatable") or {}).items()),
        annotations.get(marks.KUBELET, ""),
        annotations.get(marks.DEVICES, ""),
    )


@functools.lru_cache(maxsize=_REMEMBERED)
def _build(
    capacity: tuple[tuple[str, str], ...], allocatable: tuple[tuple[str, str], ...], kubelet: str, annotated: str
) -> Build:
    settings = kubelets.read(kubelet) if kubelet else kubelets.DEFAULTS
    # A plugin that has not registered yet, or is gone for good, has left no trace in the capacity.
    registered = {name for name, _ in (*capacity, *allocatable)}
    whole = dict(capacity or allocatable)
    found = _all_devices(annotated, _zones(settings)) if annotated else {}
    devices = {resource: listed for resource, listed in found.items() if resource in registered}
    with located(f"annotation {marks.KUBELET}"):
        machine, empty = _started(settings, whole, devices)
    amounts = {name: amount(name, Quantity.parse(text)) for name, text in allocatable if is_counted(name)}
    return Build(capacity=amounts, devices=devices, numa=machine, empty=empty, settings=settings, installed=whole)


def check(settings: KubeletSettings, capacity: Mapping[str, str]) -> None:
    """UsageError where a kubelet would not start with these settings on a node that has so much."""
    _started(settings, capacity, {})


def _started(
    settings: KubeletSettings, capacity: Mapping[str, str], devices: Devices
) -> tuple[Node, Ledger] | tuple[None, None]:
    """The machine with its managers, and what they have given out at first: nothing."""
    machine = aligned_machine(
        settings, cpus=capacity.get(CPU, "0"), memory=capacity.get("memory", "0"), devices=devices
    )
    return (machine, numa.empty(machine)) if machine else (None, None)


def aligned_machine(settings: KubeletSettings, *, cpus: str, memory: str, devices: Devices) -> Node | None:
    """The machine with its managers; None with settings under which nothing is aligned or exclusive.

    `cpus` and `memory` are quantities of the whole node. UsageError where a kubelet would not start.
    """
    policy = _chosen("topologyManagerPolicy", settings.topology_manager_policy, tuple(Policy))
    scope = _chosen("topologyManagerScope", settings.topology_manager_scope, tuple(Scope))
    _chosen("cpuManagerPolicy", settings.cpu_manager_policy, _CPU_POLICIES)
    _chosen("memoryManagerPolicy", settings.memory_manager_policy, _MEMORY_POLICIES)
    static_cpus = settings.cpu_manager_policy == "static"
    static_memory = settings.memory_manager_policy == "Static"
    if policy == Policy.NONE and not static_cpus and not static_memory:
        return None
    machine = _shaped(settings.numa, cpus, memory)
    return Node(
        machine=machine,
        policy=Policy(policy),
        scope=Scope(scope),
        options=TopologyOptions.parse(settings.topology_manager_policy_options),
        cpus=_static_cpus(settings, machine) if static_cpus else None,
        reserved_memory=_reserved_memory(settings, machine) if static_memory else None,
        plugins={
            resource: Plugin(
                {device.id: 1 << device.numa_node for device in listed},
                preference=_first_of([device.id for device in listed]),
            )
            for resource, listed in devices.items()
        },
    )


def _first_of(order: Sequence[str]) -> Preference:
    """A plugin that prefers its devices in this order."""

    def preferred(available: AbstractSet[str], must: AbstractSet[str], count: int) -> AbstractSet[str]:
        others = [device for device in order if device in available and device not in must]
        return must | set(others[: max(0, count - len(must))])

    return preferred


def _chosen(field: str, written: str, allowed: Sequence[str]) -> str:
    if written not in allowed:
        raise UsageError(f"{field} is {written!r}: write one of {', '.join(allowed)}")
    return written


def _zones(settings: KubeletSettings) -> int:
    return settings.numa.sockets * settings.numa.nodes_per_socket if settings.numa else 1


def _shaped(shape: Numa | None, cpus: str, memory: str) -> Machine:
    """The machine of that shape; `cpus` and `memory` are quantities of all of it."""
    return _machine(shape, Quantity.parse(cpus).to_int(), Quantity.parse(memory).to_int())


def _machine(shape: Numa | None, cpus: int, memory: int) -> Machine:
    if shape is None:
        shape = Numa(sockets=1, threads_per_core=1 if cpus % 2 else 2)
    counts = {
        "sockets": shape.sockets,
        "nodesPerSocket": shape.nodes_per_socket,
        "threadsPerCore": shape.threads_per_core,
    }
    for field, count in counts.items():
        if count < 1:
            raise UsageError(f"numa.{field} is {count}: write 1 or more")
    zones = shape.sockets * shape.nodes_per_socket
    cores, rest = divmod(cpus, zones * shape.threads_per_core)
    if rest or not cores:
        raise UsageError(
            f"numa: {cpus} CPUs cannot be divided into {zones} NUMA nodes of whole cores "
            f"with {shape.threads_per_core} threads: write a multiple of {zones * shape.threads_per_core} CPUs"
        )
    pages = {name: Quantity.parse(written).to_int() for name, written in shape.hugepages.items()}
    return Layout(
        sockets=shape.sockets,
        nodes_per_socket=shape.nodes_per_socket,
        cores_per_cache=cores,
        threads_per_core=shape.threads_per_core,
        memory_per_node={"memory": memory // zones, **pages},
    ).machine()


def _static_cpus(settings: KubeletSettings, machine: Machine) -> StaticCpus:
    # Alpha options are let through: whoever writes them here has set the feature gate.
    options = CpuOptions.parse(settings.cpu_manager_policy_options, alpha=True)
    if settings.reserved_cpus < 1:
        raise UsageError(
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero: "
            "write reservedCpus, 1 or more"
        )
    return StaticCpus.reserving(machine, settings.reserved_cpus, options)


def _reserved_memory(settings: KubeletSettings, machine: Machine) -> dict[int, dict[str, int]]:
    reserved = {}
    for number, written in settings.reserved_memory.items():
        if not number.isdecimal() or int(number) not in machine.memory:
            raise UsageError(
                f"reservedMemory names NUMA node {number!r}: the machine has {', '.join(map(str, machine.memory))}"
            )
        reserved[int(number)] = {"memory": Quantity.parse(written).to_int()}
    return reserved


@functools.lru_cache(maxsize=_REMEMBERED)
def _all_devices(annotated: str, zones: int) -> Devices:
    return devices_of(inventories.read(annotated), zones)


def devices_of(inventory: Inventory, zones: int) -> dict[str, list[Device]]:
    """The devices that the plugin of such a node offers, on a machine with so many NUMA nodes.

    Of shared GPUs each is given out once before any is given out again, as NVIDIA's plugin prefers it.
    """
    offered: dict[str, list[Device]] = {resource: [] for resource, _ in node_resources(inventory).capacity}
    places = _places(inventory, zones) if offered else ()
    for number, place in enumerate(places):
        for resource, count in gpu_share(inventory, number).items():
            names = [f"{number}:{order}" for order in range(count)] if count > 1 else [str(number)]
            offered.get(resource, []).extend(Device(name, number, place) for name in names)
    if inventory.replicas > 1:
        for listed in offered.values():
            listed.sort(key=lambda device: int(device.id.partition(":")[2] or 0))
    return offered


def _places(inventory: Inventory, zones: int) -> Sequence[int]:
    """The NUMA node of each GPU: as in its usual server, or spread evenly over a machine that is built otherwise."""
    usual, count = inventory.gpu.server.numa, inventory.count
    if count <= len(usual) and len(set(usual)) == zones:
        return usual[:count]
    return [number * zones // count for number in range(count)]
