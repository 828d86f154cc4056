"""How exporters count: what each NUMA zone has left, from what a kubelet tells. Pure.

Two are known, and they differ. The resource-topology-exporter (`rte`) counts whatever the kubelet tells, and charges
memory that lies on several NUMA nodes in full to each of them. The topology updater of node-feature-discovery (`nfd`)
drains such nodes in their order, as the kubelet does; but it counts only pods that are Guaranteed and have devices, or
a container with whole CPUs, and goes below zero where CPUs or devices are given out twice. Neither sees what pods use
of CPUs that are shared.

What is allocatable, real exporters ask when they start; later answers of the kubelet do not change it.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from kubedyno.model.numa.podresources import Holding, Host, Pod, View
from kubedyno.model.numa.zones import Amount
from kubedyno.sim.exporters.settings import Style

CPU: Final = "cpu"
MEMORY: Final = "memory"
NODE: Final = "Node"
"""The type of zones that are NUMA nodes."""

_Counts = dict[int, Counter[str]]
"""CPUs, bytes or devices by NUMA node and resource."""


class Zone(msgspec.Struct, frozen=True):
    """A zone as it is written: the costs of reaching others by their names, and its resources."""

    name: str
    type: str = NODE
    costs: Mapping[str, int] = {}
    resources: Mapping[str, Amount] = {}


def zone_name(number: int) -> str:
    """The name of the zone that stands for a NUMA node."""
    return f"node-{number}"


def is_memory(resource: str) -> bool:
    """Whether it is counted in bytes by the memory manager."""
    return resource == MEMORY or resource.startswith("hugepages-")


def zones_of(view: View, host: Host, style: Style, rng: random.Random | None = None) -> tuple[Zone, ...]:
    """The zones as an exporter of that style counts them.

    They are as many as the machine has NUMA nodes, and numbered from 0: both exporters take that for granted, and are
    wrong where numbers are left out. `nfd` writes them in random order; without `rng` they are ascending.
    """
    count = len(host.cpus.keys() | host.memory.keys())
    resources = (_rte if style == "rte" else _nfd)(view, host, range(count))
    zones = [
        Zone(
            name=zone_name(number),
            costs={zone_name(other): cost for other, cost in host.distances.get(number, {}).items()},
            resources=dict(sorted(resources[number].items())),
        )
        for number in range(count)
    ]
    if rng is not None and style == "nfd":
        rng.shuffle(zones)
    return tuple(zones)


def _rte(view: View, host: Host, numbers: Iterable[int]) -> dict[int, dict[str, Amount]]:
    places = _places(host)
    allocatable = _counted([view.allocatable], places)
    used = _counted((held for pod in view.pods for held in pod.containers.values()), places)
    found = {}
    for number in numbers:
        installed = {CPU: len(host.cpus.get(number, ())), **host.memory.get(number, {})}
        # A NUMA node of which nothing can be given out has its CPUs, and all are reserved.
        amounts = allocatable.get(number) or {CPU: 0}
        taken = used.get(number, Counter())
        found[number] = {
            resource: Amount(max(installed.get(resource, 0), amount), amount, max(0, amount - taken[resource]))
            for resource, amount in amounts.items()
        }
    return found


def _places(host: Host) -> dict[int, int]:
    """The NUMA node of each CPU."""
    return {cpu: number for number, cpus in host.cpus.items() for cpu in cpus}


def _counted(holdings: Iterable[Holding], places: Mapping[int, int]) -> _Counts:
    """All of it, each in full on every NUMA node that it may lie on; CPUs that the machine does not have are left."""
    counts: _Counts = {}
    for held in holdings:
        for number, resource, amount in _parts(held, places):
            counts.setdefault(number, Counter())[resource] += amount
    return counts


def _parts(held: Holding, places: Mapping[int, int]) -> Iterator[tuple[int, str, int]]:
    for cpu in held.cpus:
        if cpu in places:
            yield places[cpu], CPU, 1
    for memory in held.memory:
        if memory.size:
            for number in memory.nodes:
                yield number, memory.type, memory.size
    for devices in held.devices:
        for number in devices.nodes:
            yield number, devices.resource, len(devices.ids)


def _nfd(view: View, host: Host, numbers: Iterable[int]) -> dict[int, dict[str, Amount]]:
    places = _places(host)
    allocatable = _counted([view.allocatable], places)
    kept_back = Counter(places[cpu] for cpu in places.keys() - set(view.allocatable.cpus))
    capacity: dict[int, dict[str, int]] = {}
    for number in numbers:
        amounts = allocatable.get(number) or Counter({CPU: 0})
        allocatable[number] = amounts
        installed = host.memory.get(number, {})
        capacity[number] = {
            resource: amount + kept_back[number] if resource == CPU else installed.get(resource, amount)
            for resource, amount in amounts.items()
        }
    left = {number: dict(allocatable[number]) for number in capacity}
    homes = _homes(view.allocatable, places)
    for pod in view.pods:
        if counts(pod, "nfd"):
            for held in pod.containers.values():
                _take_one_by_one(left, homes, held, with_cpus=pod.whole_cpus)
                _drain(left, held)
    return {
        number: {
            resource: Amount(capacity[number][resource], allocatable[number][resource], amount)
            for resource, amount in amounts.items()
        }
        for number, amounts in left.items()
    }


def counts(pod: Pod, style: Style) -> bool:
    """Whether an exporter of that style counts what the pod holds."""
    if style == "rte":
        return True
    return pod.guaranteed and (pod.whole_cpus or any(held.devices for held in pod.containers.values()))


def _homes(allocatable: Holding, places: Mapping[int, int]) -> dict[tuple[str, str], int]:
    """The one NUMA node that each CPU and device counts on: of several, the last that was told."""
    homes = {(CPU, str(cpu)): places[cpu] for cpu in allocatable.cpus if cpu in places}
    for devices in allocatable.devices:
        for number in devices.nodes:
            homes.update(((devices.resource, device), number) for device in devices.ids)
    return homes


def _take_one_by_one(
    left: Mapping[int, dict[str, int]], homes: Mapping[tuple[str, str], int], held: Holding, *, with_cpus: bool
) -> None:
    """CPUs and devices; those that are not allocatable are not known."""
    things = [(CPU, str(cpu)) for cpu in held.cpus] if with_cpus else []
    things += [(devices.resource, device) for devices in held.devices for device in devices.ids]
    for resource, thing in things:
        amounts = left.get(homes.get((resource, thing), -1))
        if amounts is not None:
            amounts[resource] -= 1


def _drain(left: Mapping[int, dict[str, int]], held: Holding) -> None:
    """Memory, from the first of its NUMA nodes as far as it goes, then from the next."""
    for memory in held.memory:
        size = memory.size
        for number in memory.nodes:
            amounts = left.get(number)
            if amounts is None:
                continue
            if memory.type not in amounts:
                break
            taken = min(size, amounts[memory.type])
            amounts[memory.type] -= taken
            size -= taken
