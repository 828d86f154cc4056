"""The memory manager's Static policy: memory and huge pages of Guaranteed pods are charged to NUMA nodes.

A node serves containers that live on it alone, or those that spread over one and the same group of nodes, never both.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.model.numa import bits, refusals
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.hints import Hint, Hints, marked
from kubedyno.model.numa.machine import Machine
from kubedyno.model.numa.pods import Container, Pod, memory_requests

MEMORY = "memory"


class Block(msgspec.Struct, frozen=True):
    """`size` bytes of one resource on a group of NUMA nodes."""

    nodes: Bits
    resource: str
    size: int


class Bank(msgspec.Struct, frozen=True):
    """One resource on one NUMA node, in bytes."""

    allocatable: int
    free: int

    @property
    def charged(self) -> int:
        """What containers hold."""
        return self.allocatable - self.free


class Cell(msgspec.Struct, frozen=True):
    """One NUMA node: its banks, the blocks that lie on it, and the group of nodes they spread over."""

    banks: Mapping[str, Bank]
    group: Bits
    blocks: int = 0


Reusable: TypeAlias = Mapping[tuple[Bits, str], int]
"""Bytes that init containers of the pod leave behind, by group of nodes and resource."""


class MemoryLedger(msgspec.Struct, frozen=True):
    """NUMA nodes by id, and blocks by pod and container."""

    cells: Mapping[int, Cell]
    assigned: Mapping[str, Mapping[str, Sequence[Block]]] = {}


def empty(machine: Machine, reserved: Mapping[int, Mapping[str, int]]) -> MemoryLedger:
    """The ledger of a node without pods; `reserved` is bytes by NUMA node and resource (`reservedMemory`)."""
    if not any(amounts.get(MEMORY) for amounts in reserved.values()):
        raise UsageError("[memorymanager] you should specify the system reserved memory")
    cells = {}
    for node, totals in machine.memory.items():
        huge = sum(size for resource, size in totals.items() if resource != MEMORY)
        banks = {}
        for resource, size in totals.items():
            left = size - reserved.get(node, {}).get(resource, 0) - (huge if resource == MEMORY else 0)
            banks[resource] = Bank(left, left)
        cells[node] = Cell(banks, 1 << node)
    return MemoryLedger(cells)


def hints(ledger: MemoryLedger, pod: Pod, container: Container, reusable: Reusable) -> Hints | None:
    """Where the container's memory could come from; None if the policy does not look at it."""
    requests = memory_requests(container)
    if not pod.pinned or requests is None:
        return None
    held = ledger.assigned.get(pod.uid, {}).get(container.name)
    return _fitting(ledger, requests, reusable) if held is None else _held_hints(held, requests)


def pod_hints(ledger: MemoryLedger, pod: Pod, reusable: Reusable) -> Hints | None:
    """Where the memory of all containers together could come from."""
    requests = pod_requests(pod)
    if not pod.pinned or not requests:
        return None
    for container in pod.containers:
        held = ledger.assigned.get(pod.uid, {}).get(container.name)
        if held is not None:
            return _held_hints(held, requests)
    return _fitting(ledger, requests, reusable)


def pod_requests(pod: Pod) -> dict[str, int] | None:
    """Bytes that the pod needs at most at a time. What init containers alone ask for is left out, as in the kubelet."""
    amounts = [memory_requests(container) for container in pod.containers]
    if None in amounts:
        return None
    kept = {name for container in pod.containers if not container.init for name in memory_requests(container) or ()}
    need = pod.longest_need(lambda container: memory_requests(container) or {})
    return {name: amount for name, amount in need.items() if name in kept}


def allocate(
    ledger: MemoryLedger, pod: Pod, container: Container, affinity: Hint, reusable: Reusable
) -> tuple[MemoryLedger, Reusable]:
    """The ledger with the container's memory charged, and what later containers of the pod may reuse."""
    if not pod.pinned:
        return ledger, reusable
    held = ledger.assigned.get(pod.uid, {}).get(container.name)
    if held is not None:
        return ledger, _reusable_after(reusable, container, held)
    requests = memory_requests(container)
    if requests is None:
        raise refusals.failed("[memorymanager] failed to represent quantity as int64")
    nodes = _nodes(ledger, requests, affinity, reusable)
    blocks = [Block(nodes, resource, size) for resource, size in requests.items()]
    cells = dict(ledger.cells)
    for block in blocks:
        _charge(cells, block, max(0, block.size - reusable.get((nodes, block.resource), 0)))
    containers = _without_reused(pod, container, blocks, ledger.assigned.get(pod.uid, {}))
    containers[container.name] = blocks
    return MemoryLedger(cells, {**ledger.assigned, pod.uid: containers}), _reusable_after(reusable, container, blocks)


def release(ledger: MemoryLedger, uid: str, container: str | None = None) -> MemoryLedger:
    """The ledger without one container of a pod, or without the pod."""
    held = ledger.assigned.get(uid, {})
    cells = dict(ledger.cells)
    for name, blocks in held.items():
        if container in {None, name}:
            for block in blocks:
                _refund(cells, block)
    kept = {} if container is None else {name: blocks for name, blocks in held.items() if name != container}
    others = {other: containers for other, containers in ledger.assigned.items() if other != uid}
    return MemoryLedger(cells, {**others, uid: kept} if kept else others)


def squeeze(ledger: MemoryLedger, uid: str, wanted: Mapping[str, Sequence[Block]]) -> MemoryLedger:
    """The ledger with a pod's blocks charged as far as there is room on their nodes; that is what the pod then holds.

    Nothing is charged to nodes that others use in another group.
    """
    held: dict[str, list[Block]] = {}
    cells = dict(ledger.cells)
    for name, blocks in wanted.items():
        for block in blocks:
            used = (cells[node] for node in bits.members(block.nodes) if cells[node].blocks > 0)
            size = min(block.size, _total(MemoryLedger(cells), block.nodes, block.resource)[1])
            if size > 0 and all(cell.group == block.nodes for cell in used):
                kept = Block(block.nodes, block.resource, size)
                _charge(cells, kept, size)
                held.setdefault(name, []).append(kept)
    return MemoryLedger(cells, {**ledger.assigned, uid: held}) if held else ledger


def _fitting(ledger: MemoryLedger, requests: Mapping[str, int], reusable: Reusable) -> dict[str, Sequence[Hint]]:
    """Hints for groups of nodes with room. None at all is an empty answer, which the merge takes for no opinion."""
    cells = ledger.cells
    smallest = len(cells)
    fitting = []
    for mask in bits.subsets(cells):
        totals = {resource: _total(ledger, mask, resource) for resource in requests}
        if any(totals[resource][0] < size for resource, size in requests.items()):
            continue
        smallest = min(smallest, mask.bit_count())
        if _joins(ledger, mask) and all(
            totals[resource][1] + reusable.get((mask, resource), 0) >= size for resource, size in requests.items()
        ):
            fitting.append(mask)
    return {resource: marked(fitting, smallest) for resource in requests} if fitting else {}


def _total(ledger: MemoryLedger, mask: Bits, resource: str) -> tuple[int, int]:
    """Bytes allocatable and free on these nodes."""
    banks = [bank for node in bits.members(mask) if (bank := ledger.cells[node].banks.get(resource))]
    return sum(bank.allocatable for bank in banks), sum(bank.free for bank in banks)


def _joins(ledger: MemoryLedger, mask: Bits) -> bool:
    """Whether a block on these nodes leaves every node in one group."""
    if mask.bit_count() == 1:
        return ledger.cells[mask.bit_length() - 1].group.bit_count() <= 1
    return not splits_groups(ledger, mask)


def splits_groups(ledger: MemoryLedger, mask: Bits) -> bool:
    """Whether several nodes are to be used together of which one is used otherwise already."""
    if mask.bit_count() == 1:
        return False
    used = (ledger.cells[node] for node in bits.members(mask) if ledger.cells[node].blocks > 0)
    return any(cell.group.bit_count() == 1 or cell.group != mask for cell in used)


def _held_hints(held: Sequence[Block], requests: Mapping[str, int]) -> Hints | None:
    """The answer for a container that has its memory already: where it lies, if that is what it asks for."""
    if len(held) != len(requests) or any(requests.get(block.resource) != block.size for block in held):
        return None
    return {block.resource: [Hint(block.nodes, preferred=True)] for block in held}


def _nodes(ledger: MemoryLedger, requests: Mapping[str, int], affinity: Hint, reusable: Reusable) -> Bits:
    """The nodes to charge: those of the merged hint, widened where the merge has narrowed them too far."""
    chosen = affinity
    if chosen.nodes is None:
        offers = _fitting(ledger, requests, reusable)
        if not offers:
            raise refusals.failed(
                "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
            )
        chosen = _best(offers[MEMORY])
        if affinity.preferred and not chosen.preferred:
            raise refusals.failed("[memorymanager] failed to find the default preferred hint")
    nodes = chosen.nodes or 0
    if any(_total(ledger, nodes, resource)[1] < size for resource, size in requests.items()):
        offers = _fitting(ledger, requests, reusable)
        wider = [hint for hint in offers.get(MEMORY, ()) if nodes & ~(hint.nodes or 0) == 0]
        if not wider:
            raise refusals.failed("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
        extended = _best(wider)
        if chosen.preferred and not extended.preferred:
            raise refusals.failed("[memorymanager] failed to find the extended preferred hint")
        nodes = extended.nodes or 0
    if splits_groups(ledger, nodes):
        raise refusals.failed("[memorymanager] preferred hint violates NUMA node allocation")
    return nodes


def _best(offers: Sequence[Hint]) -> Hint:
    return min(offers, key=lambda hint: (not hint.preferred, (hint.nodes or 0).bit_count(), hint.nodes or 0))


def _charge(cells: dict[int, Cell], block: Block, size: int) -> None:
    """Put a block on its nodes; lower nodes are drained first."""
    for node in bits.members(block.nodes):
        cell = cells[node]
        banks = dict(cell.banks)
        if bank := banks.get(block.resource):
            taken = min(size, max(bank.free, 0))
            banks[block.resource] = Bank(bank.allocatable, bank.free - taken)
            size -= taken
        cells[node] = Cell(banks, block.nodes, cell.blocks + 1)


def _refund(cells: dict[int, Cell], block: Block) -> None:
    size = block.size
    for node in bits.members(block.nodes):
        cell = cells[node]
        banks = dict(cell.banks)
        if bank := banks.get(block.resource):
            returned = min(size, bank.charged)
            banks[block.resource] = Bank(bank.allocatable, bank.free + returned)
            size -= returned
        blocks = cell.blocks - 1
        cells[node] = Cell(banks, cell.group if blocks else 1 << node, blocks)


def _reusable_after(reusable: Reusable, container: Container, blocks: Sequence[Block]) -> Reusable:
    """An init container leaves what it has to those after it, which use it up."""
    after = dict(reusable)
    for block in blocks:
        key = block.nodes, block.resource
        left = after.get(key, 0)
        after[key] = max(left, block.size) if container.passes else max(0, left - block.size)
    return after


def _without_reused(
    pod: Pod, container: Container, blocks: Sequence[Block], held: Mapping[str, Sequence[Block]]
) -> dict[str, Sequence[Block]]:
    """Blocks of earlier init containers shrink by what is reused, so that it is refunded once."""
    containers = dict(held)
    for block in blocks:
        size = block.size
        for earlier in pod.containers:
            if earlier.name == container.name or not earlier.init:
                break
            if earlier.passes and earlier.name in containers:
                shrunk = []
                for old in containers[earlier.name]:
                    same = (old.nodes, old.resource) == (block.nodes, block.resource)
                    cut = min(old.size, size) if same else 0
                    size -= cut
                    shrunk.append(Block(old.nodes, old.resource, old.size - cut))
                containers[earlier.name] = shrunk
    return containers
