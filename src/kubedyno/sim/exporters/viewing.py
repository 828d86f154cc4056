"""What the kubelet of a simulated node tells through its pod-resources API, and what its machine shows. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from kubedyno.model.numa import bits
from kubedyno.model.numa.admission import Ledger
from kubedyno.model.numa.podresources import Devices, Holding, Host, Memory, Pod, View
from kubedyno.model.numa.pods import Container
from kubedyno.sim.kubelet.ledger import Charge, NodeLedger
from kubedyno.sim.kubelet.machines import Build, Device
from kubedyno.sim.kubelet.requests import CPU

_NOTHING = Holding()


def view_of(ledger: NodeLedger) -> View:
    """The kubelet's answers to `List` and `GetAllocatableResources`.

    All pods that the node holds are told, with every container but those init containers that pass: what only they
    have is charged, and not told, as with a real kubelet.
    """
    return View(
        pods=tuple(_pod(ledger, uid, charge) for uid, charge in ledger.pods.items()),
        allocatable=_allocatable(ledger),
    )


def host_of(ledger: NodeLedger) -> Host:
    """What an exporter reads of the machine; UsageError where the node's settings make none."""
    build = ledger.build
    machine = build.machine
    numbers = bits.members(machine.numa_nodes)
    return Host(
        cpus={number: tuple(bits.members(machine.nodes.get(number, 0))) for number in numbers},
        memory=machine.memory,
        distances={number: dict(enumerate(row)) for number, row in enumerate(machine.distances)},
        policy=build.settings.topology_manager_policy,
        scope=build.settings.topology_manager_scope,
    )


def _pod(ledger: NodeLedger, uid: str, charge: Charge) -> Pod:
    needs = charge.needs
    staying = [container.name for container in needs.containers if not container.passes]
    if ledger.aligned is None:
        held = _unaligned(ledger.build, charge)
    else:
        held = {name: _aligned(ledger.build, ledger.aligned, uid, name) for name in staying}
    return Pod(
        namespace=charge.namespace,
        name=charge.name,
        containers={name: held.get(name, _NOTHING) for name in staying},
        guaranteed=needs.guaranteed,
        whole_cpus=any(map(_asks_whole_cpus, needs.containers)),
    )


def _asks_whole_cpus(container: Container) -> bool:
    asked = container.requests.get(CPU)
    return asked is not None and asked.to_int() * 1000 == asked.milli()


def _aligned(build: Build, ledger: Ledger, uid: str, container: str) -> Holding:
    """What the managers of an aligned node have given one container."""
    blocks = ledger.memory.assigned.get(uid, {}).get(container, ())
    devices = ledger.devices.assigned.get(uid, {}).get(container, {})
    return Holding(
        cpus=tuple(bits.members(ledger.cpus.assigned.get(uid, {}).get(container, 0))),
        memory=tuple(Memory(block.resource, block.size, tuple(bits.members(block.nodes))) for block in blocks),
        devices=tuple(
            told
            for resource, chosen in sorted(devices.items())
            for told in _placed(resource, (one for one in build.devices.get(resource, ()) if one.id in chosen))
        ),
    )


def _unaligned(build: Build, charge: Charge) -> Mapping[str, Holding]:
    """What containers have on a node on which nothing is aligned: devices."""
    found: dict[str, list[Devices]] = {}
    for container, resource, places in charge.devices:
        listed = build.devices.get(resource, ())
        chosen = (listed[place] for place in bits.members(places) if place < len(listed))
        found.setdefault(container, []).extend(_placed(resource, chosen))
    return {container: Holding(devices=tuple(devices)) for container, devices in found.items()}


def _allocatable(ledger: NodeLedger) -> Holding:
    """All that can be given out: CPUs and memory where a manager counts them, and devices that are healthy."""
    node = ledger.build.numa
    cpus = node.machine.all_cpus & ~node.cpus.reserved if node is not None and node.cpus is not None else 0
    return Holding(
        cpus=tuple(bits.members(cpus)),
        memory=tuple(_banks(ledger.aligned)) if ledger.aligned is not None else (),
        devices=tuple(
            told
            for resource, listed in sorted(ledger.build.devices.items())
            for told in _placed(resource, (device for device in listed if device.gpu not in ledger.lost))
        ),
    )


def _banks(ledger: Ledger) -> Iterator[Memory]:
    for number, cell in ledger.memory.cells.items():
        for resource, bank in cell.banks.items():
            if bank.allocatable:
                yield Memory(resource, bank.allocatable, (number,))


def _placed(resource: str, devices: Iterable[Device]) -> Iterator[Devices]:
    """The devices by their places."""
    places: dict[int, list[str]] = {}
    for device in devices:
        places.setdefault(device.numa_node, []).append(device.id)
    for place, ids in sorted(places.items()):
        yield Devices(resource, tuple(ids), (place,))
