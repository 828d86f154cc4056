"""Admission by the topology manager: a pod gets its CPUs, memory and devices on the right NUMA nodes, or is refused."""

import enum
from collections.abc import Mapping, Sequence

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.model.numa import devices, memory, refusals
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.cpus import CpuLedger, StaticCpus
from kubedyno.model.numa.devices import DeviceLedger, Devices, Plugin
from kubedyno.model.numa.hints import NOWHERE, Hint, Hints
from kubedyno.model.numa.machine import Machine
from kubedyno.model.numa.memory import Block, MemoryLedger
from kubedyno.model.numa.merging import Merger, Policy
from kubedyno.model.numa.options import TopologyOptions
from kubedyno.model.numa.pods import Container, Pod


class Scope(enum.StrEnum):
    """`topologyManagerScope`: whether hints are merged for each container or once for the pod."""

    CONTAINER = "container"
    POD = "pod"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node's hardware and its kubelet's configuration.

    `cpus` None is cpuManagerPolicy none; `reserved_memory` (bytes by NUMA node and resource) None is
    memoryManagerPolicy None.
    """

    machine: Machine
    policy: Policy = Policy.NONE
    scope: Scope = Scope.CONTAINER
    options: TopologyOptions = TopologyOptions()
    cpus: StaticCpus | None = None
    reserved_memory: Mapping[int, Mapping[str, int]] | None = None
    plugins: Mapping[str, Plugin] = {}

    def __post_init__(self) -> None:
        """Refuse what a kubelet would not start with."""
        if self.policy is Policy.NONE:
            return
        if self.machine.numa_nodes.bit_count() > self.options.most_nodes:
            raise UsageError(f"unsupported on machines with more than {self.options.most_nodes} NUMA Nodes")
        if self.options.prefer_closest and not self.machine.distances:
            raise UsageError("cannot discover NUMA topology: error getting NUMA distances from cadvisor")
        if self.cpus is not None and self.cpus.options.by_socket:
            if self.policy is Policy.SINGLE_NUMA_NODE:
                raise UsageError(_BY_SOCKET_NEEDS_SEVERAL)
            if self.machine.socket_count > self.machine.node_count:
                raise UsageError(
                    "Align by socket is not compatible with hardware "
                    "where number of sockets are more than number of NUMA"
                )


# The kubelet's own spelling.
_BY_SOCKET_NEEDS_SEVERAL = (
    f"Topol{'gy'} manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
)


class Ledger(msgspec.Struct, frozen=True):
    """What the pods of a node hold. `affinity` is the merged hint by pod and container; policy none leaves none."""

    cpus: CpuLedger
    memory: MemoryLedger
    devices: DeviceLedger = DeviceLedger()
    affinity: Mapping[str, Mapping[str, Hint]] = {}


class Assignment(msgspec.Struct, frozen=True):
    """What one container was given. `cpus` None: it runs on the shared pool."""

    cpus: Bits | None
    memory: Sequence[Block]
    devices: Mapping[str, frozenset[str]]
    affinity: Hint


class Admitted(msgspec.Struct, frozen=True):
    """The ledger with the pod charged, and what each container got."""

    ledger: Ledger
    containers: Mapping[str, Assignment]


class Rejection(msgspec.Struct, frozen=True):
    """The refusal as the pod's status tells it, without the prefix `Pod was rejected: `."""

    reason: str
    message: str


def empty(node: Node) -> Ledger:
    """The ledger of a node without pods."""
    return Ledger(
        cpus=node.cpus.empty() if node.cpus else CpuLedger(node.machine.all_cpus),
        memory=MemoryLedger({}) if node.reserved_memory is None else memory.empty(node.machine, node.reserved_memory),
    )


def admit(node: Node, ledger: Ledger, pod: Pod) -> Admitted | Rejection:
    """Charge the pod to the node's ledger, or say why not; a refused pod leaves nothing behind.

    A pod that the ledger knows already, as after a kubelet's restart, is given what it had.
    """
    attempt = _Attempt(node, ledger, pod)
    try:
        attempt.run()
    except refusals.Refused as refusal:
        return Rejection(refusal.reason, refusal.message)
    return Admitted(attempt.ledger(), {container.name: attempt.given(container) for container in pod.containers})


def release(node: Node, ledger: Ledger, uid: str) -> Ledger:
    """The ledger without a pod that ended; releasing one that is not there changes nothing."""
    return Ledger(
        cpus=node.cpus.release(ledger.cpus, uid) if node.cpus else ledger.cpus,
        memory=memory.release(ledger.memory, uid),
        devices=devices.release(ledger.devices, uid),
        affinity={other: merged for other, merged in ledger.affinity.items() if other != uid},
    )


class _Attempt:
    """One pod's way through the managers: device, CPU and memory manager in this order, container by container."""

    def __init__(self, node: Node, ledger: Ledger, pod: Pod) -> None:
        self.node = node
        self.pod = pod
        self.cpus = ledger.cpus
        self.memory = ledger.memory
        self.devices = ledger.devices
        self.device_manager = Devices(node.plugins, node.machine.numa_nodes)
        self.others = {uid: merged for uid, merged in ledger.affinity.items() if uid != pod.uid}
        self.affinity: dict[str, Hint] = {}
        # What init containers have and those after them may have instead.
        self.reusable_cpus: Bits = 0
        self.reusable_memory: memory.Reusable = {}
        self.reusable_devices: devices.Reusable = {}

    def run(self) -> None:
        node = self.node
        merger = Merger(node.policy, node.machine.numa_nodes, node.machine.distances, node.options.prefer_closest)
        by_container = node.policy is not Policy.NONE and node.scope is Scope.CONTAINER
        common = NOWHERE
        if node.policy is not Policy.NONE and node.scope is Scope.POD:
            common = self._merged(merger, self._pod_hints())
        for container in self.pod.containers:
            hint = self._merged(merger, self._hints(container)) if by_container else common
            if node.policy is not Policy.NONE:
                self.affinity[container.name] = hint
            self._allocate(container, hint)

    def ledger(self) -> Ledger:
        affinity = {**self.others, self.pod.uid: self.affinity} if self.affinity else self.others
        return Ledger(self.cpus, self.memory, self.devices, affinity)

    def given(self, container: Container) -> Assignment:
        uid, name = self.pod.uid, container.name
        held = self.devices.assigned.get(uid, {}).get(name, {})
        return Assignment(
            cpus=self.cpus.assigned.get(uid, {}).get(name),
            memory=self.memory.assigned.get(uid, {}).get(name, ()),
            devices={resource: frozenset(chosen) for resource, chosen in held.items()},
            affinity=self.affinity.get(name, NOWHERE),
        )

    @staticmethod
    def _merged(merger: Merger, providers: Sequence[Hints | None]) -> Hint:
        hint, admitted = merger.merge(providers)
        if not admitted:
            raise refusals.unaligned()
        return hint

    def _hints(self, container: Container) -> list[Hints | None]:
        node, pod = self.node, self.pod
        return [
            self.device_manager.hints(self.devices, pod, container, self.reusable_devices),
            node.cpus.hints(self.cpus, pod, container, self.reusable_cpus) if node.cpus else None,
            memory.hints(self.memory, pod, container, self.reusable_memory) if self._counts_memory else None,
        ]

    def _pod_hints(self) -> list[Hints | None]:
        node, pod = self.node, self.pod
        return [
            self.device_manager.pod_hints(self.devices, pod),
            node.cpus.pod_hints(self.cpus, pod) if node.cpus else None,
            memory.pod_hints(self.memory, pod, self.reusable_memory) if self._counts_memory else None,
        ]

    def _allocate(self, container: Container, hint: Hint) -> None:
        node, pod = self.node, self.pod
        self.devices, self.reusable_devices = self.device_manager.allocate(
            self.devices, pod, container, hint, self.reusable_devices
        )
        if node.cpus:
            self.cpus, self.reusable_cpus = node.cpus.allocate(self.cpus, pod, container, hint, self.reusable_cpus)
        if self._counts_memory:
            self.memory, self.reusable_memory = memory.allocate(self.memory, pod, container, hint, self.reusable_memory)

    @property
    def _counts_memory(self) -> bool:
        return self.node.reserved_memory is not None
