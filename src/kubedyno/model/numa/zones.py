"""What a node's ledger says of each NUMA node: the truth that exporters and checks are held to."""

from collections.abc import Mapping

import msgspec

from kubedyno.model.numa import bits
from kubedyno.model.numa.admission import Ledger, Node


class Amount(msgspec.Struct, frozen=True):
    """CPUs, bytes or devices: installed, for pods, and not held by any."""

    capacity: int
    allocatable: int
    available: int


def zones(node: Node, ledger: Ledger) -> dict[int, dict[str, Amount]]:
    """Amounts by NUMA node and resource.

    As the kubelet's pod-resources API tells it: CPUs and memory only where a manager counts them. A device near to
    several NUMA nodes counts on each.
    """
    found: dict[int, dict[str, Amount]] = {number: {} for number in bits.members(node.machine.numa_nodes)}
    if node.cpus is not None:
        free = node.cpus.free(ledger.cpus)
        for number, cpus in node.machine.nodes.items():
            allocatable = cpus & ~node.cpus.reserved
            found[number]["cpu"] = Amount(cpus.bit_count(), allocatable.bit_count(), (cpus & free).bit_count())
    for number, cell in ledger.memory.cells.items():
        for resource, bank in cell.banks.items():
            found[number][resource] = Amount(node.machine.memory[number][resource], bank.allocatable, bank.free)
    for resource, plugin in node.plugins.items():
        held = ledger.devices.of(resource)
        for number, zone in found.items():
            near = {device for device, nodes in plugin.devices.items() if nodes >> number & 1}
            if near:
                healthy = near & plugin.healthy
                zone[resource] = Amount(len(near), len(healthy), len(healthy - held))
    return found


def overlaps(ledger: Ledger) -> list[str]:
    """What two pods hold at once, as sentences; a sound ledger has none."""
    faults = []
    for kind, holdings in _holdings(ledger).items():
        holders: dict[str, str] = {}
        for uid, things in holdings.items():
            for thing in sorted(things):
                other = holders.setdefault(thing, uid)
                if other != uid:
                    faults.append(f"{kind} {thing} is held by pods {other} and {uid}")
    return faults


def _holdings(ledger: Ledger) -> dict[str, Mapping[str, set[str]]]:
    kinds: dict[str, dict[str, set[str]]] = {"cpu": {}}
    for uid, containers in ledger.cpus.assigned.items():
        kinds["cpu"][uid] = {str(cpu) for cpus in containers.values() for cpu in bits.members(cpus)}
    for uid, held in ledger.devices.assigned.items():
        for resources in held.values():
            for resource, chosen in resources.items():
                kinds.setdefault(resource, {}).setdefault(uid, set()).update(chosen)
    return dict(kinds)
