"""The hardware of a node as the kubelet discovers it: CPUs in cores, caches, sockets and NUMA nodes; their memory."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from kubedyno.model.numa import bits
from kubedyno.model.numa.bits import Bits


class Cpu(msgspec.Struct, frozen=True):
    """Where one logical CPU sits. Ids are unique on the machine; a core's is that of its first CPU."""

    core: int
    socket: int
    node: int
    cache: int = 0


class Machine(msgspec.Struct, frozen=True, dict=True):
    """`cpus` by id. `memory` is bytes by NUMA node and resource: `memory` in all, and each kind of huge pages.

    `distances` are the rows of the ACPI table, by NUMA node.
    """

    cpus: Mapping[int, Cpu]
    memory: Mapping[int, Mapping[str, int]] = {}
    distances: Sequence[Sequence[int]] = ()

    @cached_property
    def all_cpus(self) -> Bits:
        """All CPUs."""
        return bits.of(self.cpus)

    @cached_property
    def cores(self) -> dict[int, Bits]:
        """CPUs by core."""
        return self._grouped("core")

    @cached_property
    def sockets(self) -> dict[int, Bits]:
        """CPUs by socket."""
        return self._grouped("socket")

    @cached_property
    def nodes(self) -> dict[int, Bits]:
        """CPUs by NUMA node."""
        return self._grouped("node")

    @cached_property
    def caches(self) -> dict[int, Bits]:
        """CPUs by last-level cache."""
        return self._grouped("cache")

    @cached_property
    def numa_nodes(self) -> Bits:
        """The NUMA nodes that have CPUs or memory."""
        return bits.of(self.nodes) | bits.of(self.memory)

    @cached_property
    def socket_count(self) -> int:
        """Sockets with CPUs."""
        return len(self.sockets)

    @cached_property
    def node_count(self) -> int:
        """NUMA nodes with CPUs."""
        return len(self.nodes)

    @cached_property
    def cpus_per_core(self) -> int:
        """Hardware threads of a core."""
        return len(self.cpus) // len(self.cores) if self.cores else 0

    @cached_property
    def cpus_per_socket(self) -> int:
        """CPUs of a socket."""
        return len(self.cpus) // len(self.sockets) if self.sockets else 0

    @cached_property
    def cpus_per_cache(self) -> int:
        """CPUs that share a last-level cache."""
        return len(self.cpus) // len(self.caches) if self.caches else 0

    def cpus_of_nodes(self, nodes: Bits) -> Bits:
        """The CPUs of these NUMA nodes."""
        return self._united(self.nodes, bits.members(nodes))

    def sockets_of_nodes(self, nodes: Bits) -> list[int]:
        """The sockets that these NUMA nodes have CPUs in."""
        within = self.cpus_of_nodes(nodes)
        return [socket for socket, cpus in self.sockets.items() if cpus & within]

    def cpus_of_sockets(self, sockets: Sequence[int]) -> Bits:
        """The CPUs of these sockets."""
        return self._united(self.sockets, sockets)

    def _grouped(self, level: str) -> dict[int, Bits]:
        groups: dict[int, Bits] = {}
        for cpu, place in self.cpus.items():
            group: Any = getattr(place, level)
            groups[group] = groups.get(group, 0) | 1 << cpu
        return groups

    @staticmethod
    def _united(groups: Mapping[int, Bits], wanted: Sequence[int]) -> Bits:
        united = 0
        for group in wanted:
            united |= groups.get(group, 0)
        return united


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """A regular machine; counts are per the level above. Linux numbers first threads first, then their siblings."""

    sockets: int = 1
    nodes_per_socket: int = 1
    caches_per_node: int = 1
    cores_per_cache: int = 1
    threads_per_core: int = 1
    memory_per_node: Mapping[str, int] = {}
    local_distance: int = 10
    socket_distance: int = 12
    remote_distance: int = 21

    def machine(self) -> Machine:
        """The machine that is laid out like this."""
        nodes = self.sockets * self.nodes_per_socket
        cores_per_node = self.caches_per_node * self.cores_per_cache
        cores = nodes * cores_per_node
        cpus = {}
        for thread in range(self.threads_per_core):
            for core in range(cores):
                node = core // cores_per_node
                cpus[thread * cores + core] = Cpu(
                    core=core, socket=node // self.nodes_per_socket, node=node, cache=core // self.cores_per_cache
                )
        return Machine(
            cpus=cpus,
            memory={node: dict(self.memory_per_node) for node in range(nodes)} if self.memory_per_node else {},
            distances=[[self._distance(one, other) for other in range(nodes)] for one in range(nodes)],
        )

    def _distance(self, one: int, other: int) -> int:
        if one == other:
            return self.local_distance
        same_socket = one // self.nodes_per_socket == other // self.nodes_per_socket
        return self.socket_distance if same_socket else self.remote_distance
