"""The CPU manager's static policy: whole CPUs of Guaranteed pods are theirs alone."""

from collections.abc import Mapping

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.model.numa import bits, refusals
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.cpu_picking import NotEnoughCpusError, take_distributed, take_packed
from kubedyno.model.numa.hints import Hint, Hints
from kubedyno.model.numa.machine import Machine
from kubedyno.model.numa.options import CpuOptions
from kubedyno.model.numa.pods import Container, Pod, exclusive_cpus


class CpuLedger(msgspec.Struct, frozen=True):
    """CPUs that all share, and exclusive ones by pod and container."""

    shared: Bits
    assigned: Mapping[str, Mapping[str, Bits]] = {}


class StaticCpus(msgspec.Struct, frozen=True):
    """The static policy on one machine. `reserved` CPUs are for the system and never exclusive."""

    machine: Machine
    reserved: Bits = 0
    options: CpuOptions = CpuOptions()

    @classmethod
    def reserving(cls, machine: Machine, count: int, options: CpuOptions, reserved: Bits = 0) -> "StaticCpus":
        """The policy that keeps `count` CPUs back: those named (`reservedSystemCPUs`), else the first that fit."""
        if not reserved:
            try:
                reserved = cls(machine, 0, options).take(machine.all_cpus, count)
            except NotEnoughCpusError:
                reserved = 0
        if reserved.bit_count() != count:
            raise UsageError(
                "[cpumanager] unable to reserve the required amount of CPUs "
                f"(size of {bits.text(reserved)} did not equal {count})"
            )
        return cls(machine, reserved, options)

    def empty(self) -> CpuLedger:
        """The ledger of a node without pods."""
        shared = self.machine.all_cpus
        return CpuLedger(shared & ~self.reserved if self.options.strict_reservation else shared)

    def free(self, ledger: CpuLedger) -> Bits:
        """CPUs that may become exclusive."""
        return ledger.shared & ~self.reserved

    def hints(self, ledger: CpuLedger, pod: Pod, container: Container, reusable: Bits = 0) -> Hints | None:
        """Where the container's CPUs could come from; None if it gets none of its own."""
        count = exclusive_cpus(pod, container)
        if not count or pod.pod_level:
            return None
        held = ledger.assigned.get(pod.uid, {}).get(container.name)
        if held is None:
            return {"cpu": self._hints(self.free(ledger), reusable, count)}
        # A kubelet that restarted finds the pod in its state file and must come to the same answer.
        return {"cpu": self._hints(held, 0, count) if held.bit_count() == count else []}

    def pod_hints(self, ledger: CpuLedger, pod: Pod) -> Hints | None:
        """Where the CPUs of all containers together could come from."""
        count = pod.longest_need(lambda container: {"cpu": exclusive_cpus(pod, container)}).get("cpu", 0)
        if not count or pod.pod_level:
            return None
        held = 0
        for container in pod.containers:
            cpus = ledger.assigned.get(pod.uid, {}).get(container.name)
            if cpus is None:
                continue
            if cpus.bit_count() != exclusive_cpus(pod, container):
                return {"cpu": []}
            held |= cpus
        if held.bit_count() == count:
            return {"cpu": self._hints(held, 0, count)}
        return {"cpu": self._hints(self.free(ledger), held, count)}

    def allocate(
        self, ledger: CpuLedger, pod: Pod, container: Container, affinity: Hint, reusable: Bits = 0
    ) -> tuple[CpuLedger, Bits]:
        """The ledger with the container's CPUs charged, and what later containers of the pod may reuse."""
        count = exclusive_cpus(pod, container)
        if not count or pod.pod_level:
            return ledger, reusable
        self._check_whole_cores(ledger, count)
        cpus = ledger.assigned.get(pod.uid, {}).get(container.name)
        if cpus is None:
            try:
                cpus = self._chosen(self.free(ledger) | reusable, count, affinity.nodes)
            except NotEnoughCpusError as error:
                raise refusals.failed(str(error)) from None
            containers = {**ledger.assigned.get(pod.uid, {}), container.name: cpus}
            ledger = CpuLedger(ledger.shared & ~cpus, {**ledger.assigned, pod.uid: containers})
        return ledger, reusable | cpus if container.passes else reusable & ~cpus

    def release(self, ledger: CpuLedger, uid: str, container: str | None = None) -> CpuLedger:
        """The ledger without one container of a pod, or without the pod. What anybody still holds stays charged."""
        held = ledger.assigned.get(uid, {})
        kept = {} if container is None else {name: cpus for name, cpus in held.items() if name != container}
        if len(kept) == len(held):
            return ledger
        freed = 0
        for name, cpus in held.items():
            freed |= 0 if name in kept else cpus
        left = {other: containers for other, containers in ledger.assigned.items() if other != uid}
        if kept:
            left[uid] = kept
        for containers in left.values():
            for cpus in containers.values():
                freed &= ~cpus
        return CpuLedger(ledger.shared | freed, left)

    def take(self, free: Bits, count: int) -> Bits:
        """`count` of the free CPUs, as the options say."""
        options = self.options
        if options.across_nodes:
            group = self.machine.cpus_per_core if options.full_cores else 1
            return take_distributed(self.machine, free, count, group=group, spread=options.across_cores)
        return take_packed(self.machine, free, count, spread=options.across_cores, by_cache=options.by_cache)

    def _chosen(self, free: Bits, count: int, nodes: Bits | None) -> Bits:
        """CPUs near the affinity as far as they go, the rest from anywhere."""
        near = 0
        if nodes is not None:
            if self.options.by_socket:
                aligned = free & self.machine.cpus_of_sockets(self.machine.sockets_of_nodes(nodes))
            else:
                aligned = free & self.machine.cpus_of_nodes(nodes)
            near = self.take(aligned, min(count, aligned.bit_count()))
        return near | self.take(free & ~near, count - near.bit_count())

    def _check_whole_cores(self, ledger: CpuLedger, count: int) -> None:
        if not self.options.full_cores:
            return
        per_core = self.machine.cpus_per_core
        if count % per_core:
            raise refusals.partial_core(count, per_core)
        beside_reserved = 0
        for cpus in self.machine.cores.values():
            beside_reserved |= cpus if cpus & self.reserved else 0
        available = (ledger.shared & ~beside_reserved).bit_count()
        if count > available:
            raise refusals.too_few_cores(count, per_core, available)

    def _hints(self, free: Bits, reusable: Bits, count: int) -> list[Hint]:
        nodes = self.machine.nodes
        needed = bits.of(node for node, cpus in nodes.items() if cpus & reusable)
        smallest = len(nodes)
        fitting = []
        for mask in bits.subsets(nodes):
            inside = self.machine.cpus_of_nodes(mask)
            if inside.bit_count() >= count:
                smallest = min(smallest, mask.bit_count())
            # What init containers leave behind must be used, so it must lie inside.
            if needed & ~mask == 0 and reusable.bit_count() + (free & inside).bit_count() >= count:
                fitting.append(mask)
        return [Hint(mask, mask.bit_count() == smallest or self._fills_sockets(mask, smallest)) for mask in fitting]

    def _fills_sockets(self, mask: Bits, smallest: int) -> bool:
        """With align-by-socket: whether it spans no more sockets than the smallest set must."""
        per_socket = self.machine.node_count // self.machine.socket_count if self.options.by_socket else 0
        return bool(per_socket) and len(self.machine.sockets_of_nodes(mask)) == -(-smallest // per_socket)
