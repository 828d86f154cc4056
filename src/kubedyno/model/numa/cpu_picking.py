"""Which CPUs the static policy takes out of those that are free.

Packed: whole NUMA nodes and sockets first, then (if asked for) caches, then cores, then single threads, always from
where the fewest are free, so that large holes stay whole. Distributed: evenly over as few NUMA nodes as can do it.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubedyno.model.numa import bits
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.machine import Machine


class NotEnoughCpusError(Exception):
    """The free CPUs do not serve the request; the text is the kubelet's."""


def take_packed(machine: Machine, free: Bits, count: int, *, spread: bool = False, by_cache: bool = False) -> Bits:
    """`count` of the free CPUs, close together; `spread` takes no whole cores, `by_cache` prefers whole caches."""
    search = _Search(machine, free, count)
    if search.needed <= 0:
        return 0
    if count > search.free.bit_count():
        raise NotEnoughCpusError(
            f"not enough cpus available to satisfy request: requested={count}, available={free.bit_count()}"
        )
    # The larger of the two levels goes first; on a tie NUMA nodes do.
    levels = (search.take_full_nodes, search.take_full_sockets)
    for level in levels if search.nodes_hold_sockets else reversed(levels):
        level()
    if by_cache:
        search.take_caches()
    if not spread:
        search.take_full_cores()
    search.take_threads(spread=spread)
    if search.needed > 0:
        raise NotEnoughCpusError("failed to allocate cpus")
    return search.taken


class _Search:
    """CPUs taken so far and those still free."""

    def __init__(self, machine: Machine, free: Bits, count: int) -> None:
        self.machine = machine
        self.free = free & machine.all_cpus
        self.needed = count
        self.taken = 0
        self.nodes_hold_sockets = machine.socket_count >= machine.node_count

    def take(self, cpus: Bits) -> None:
        self.taken |= cpus
        self.free &= ~cpus
        self.needed -= cpus.bit_count()

    def fullest_first(self, groups: Mapping[int, Bits], within: Bits) -> list[int]:
        """The groups with free CPUs inside `within`, those with the fewest free ones first."""
        return sorted(
            (group for group, cpus in groups.items() if cpus & within & self.free),
            key=lambda group: ((groups[group] & self.free).bit_count(), group),
        )

    def nodes(self) -> list[int]:
        machine = self.machine
        if self.nodes_hold_sockets:
            return self.fullest_first(machine.nodes, self.free)
        found = []
        for socket in self.sockets():
            found += self.fullest_first(machine.nodes, machine.sockets[socket])
        return found

    def sockets(self) -> list[int]:
        machine = self.machine
        if not self.nodes_hold_sockets:
            return self.fullest_first(machine.sockets, self.free)
        found = []
        for node in self.nodes():
            found += self.fullest_first(machine.sockets, machine.nodes[node])
        return found

    def cores(self) -> list[int]:
        machine = self.machine
        found = []
        if self.nodes_hold_sockets:
            parents = [machine.sockets[socket] for socket in self.sockets()]
        else:
            parents = [machine.nodes[node] for node in self.nodes()]
        for parent in parents:
            found += self.fullest_first(machine.cores, parent)
        return found

    def caches(self) -> list[int]:
        found = []
        for node in self.nodes():
            found += self.fullest_first(self.machine.caches, self.machine.nodes[node])
        return found

    def take_full_nodes(self) -> None:
        for node in self.nodes():
            cpus = self.machine.nodes[node]
            if self.free & cpus == cpus and self.needed >= cpus.bit_count():
                self.take(cpus)

    def take_full_sockets(self) -> None:
        for socket in self.sockets():
            cpus = self.machine.sockets[socket]
            whole = (self.free & cpus).bit_count() == self.machine.cpus_per_socket
            if whole and self.needed >= cpus.bit_count():
                self.take(cpus)

    def take_full_cores(self) -> None:
        for core in self.cores():
            cpus = self.machine.cores[core]
            whole = (self.free & cpus).bit_count() == self.machine.cpus_per_core
            if whole and self.needed >= cpus.bit_count():
                self.take(cpus)

    def take_caches(self) -> None:
        for cache in self.caches():
            if self.needed > 0 and self.needed >= self.machine.cpus_per_cache:
                self._take_full_caches()
            if self.needed <= 0:
                return
            self._take_within(cache)

    def _take_full_caches(self) -> None:
        for cache in self.caches():
            cpus = self.machine.caches[cache]
            if self.free & cpus == cpus and self.needed >= cpus.bit_count():
                self.take(cpus)

    def _take_within(self, cache: int) -> None:
        """All that is needed out of one cache, in its lowest cores, or nothing."""
        machine = self.machine
        inside = self.free & machine.caches[cache]
        cores = sorted({machine.cpus[cpu].core for cpu in bits.members(inside)})
        cores = cores[: _rounded_up(self.needed, machine.cpus_per_core)]
        cpus = [cpu for cpu in bits.members(self.free) if machine.cpus[cpu].core in cores]
        if self.needed % 2 and machine.cpus_per_core > 1 and len(cpus) > self.needed:
            cpus.pop()
        if len(cpus) == self.needed:
            self.take(bits.of(cpus))

    def take_threads(self, *, spread: bool) -> None:
        machine = self.machine
        if spread:
            groups = [machine.sockets[socket] for socket in self.sockets()]
        else:
            groups = [machine.cores[core] for core in self.cores()]
        order = [cpu for group in groups for cpu in bits.members(group & self.free)]
        for cpu in order[: max(self.needed, 0)]:
            self.take(1 << cpu)


def take_distributed(machine: Machine, free: Bits, count: int, *, group: int = 1, spread: bool = False) -> Bits:
    """`count` CPUs evenly over as few NUMA nodes as can give even shares, in groups of `group` CPUs.

    Where no set of nodes can, or the count is no multiple of the group, they are packed.
    """
    if count % group:
        return take_packed(machine, free, count, spread=spread)
    search = _Search(machine, free, count)
    if count <= 0:
        return 0
    if count > search.free.bit_count():
        raise NotEnoughCpusError(
            f"not enough cpus available to satisfy request: requested={count}, available={free.bit_count()}"
        )
    nodes = search.nodes()
    sizes = {node: (machine.nodes[node] & search.free).bit_count() for node in nodes}
    groups_per_node = _rounded_up(_rounded_up(len(machine.cpus), group), len(machine.nodes))
    groups_needed = _rounded_up(count, group)
    for size in range(_rounded_up(groups_needed, groups_per_node), min(groups_needed, len(nodes)) + 1):
        found = _most_even(nodes, sizes, size, count, group)
        if found is not None:
            return _take_shares(search, *found, group, spread=spread)
    return take_packed(machine, free, count, spread=spread)


def _most_even(
    nodes: Sequence[int], sizes: Mapping[int, int], size: int, count: int, group: int
) -> tuple[list[int], list[int]] | None:
    """The nodes that give even shares, and those that give the rest too, so that what stays free is most even."""
    best: list[int] | None = None
    best_takers: tuple[list[int], int] = [], 0
    best_balance = math.inf
    share = count // size // group * group
    for shared in _combinations(nodes, size):
        if best_balance == 0:
            break
        chosen = shared[:size]
        if sum(sizes[node] // group for node in chosen) * group < count or any(sizes[node] < share for node in chosen):
            continue
        left = dict(sizes)
        for node in chosen:
            left[node] -= share
        able = [node for node in chosen if left[node] >= group]
        balance, takers = _best_remainder(left, able, count - share * size, group)
        if balance < best_balance:
            best, best_takers, best_balance = shared, takers, balance
    if best is None:
        return None
    givers, number = best_takers
    return best[:size], givers[:number]


def _best_remainder(
    left: Mapping[int, int], able: Sequence[int], remainder: int, group: int
) -> tuple[float, tuple[list[int], int]]:
    if remainder == 0:
        return _deviation(left.values()), ([], 0)
    best: tuple[list[int], int] = [], 0
    best_balance = math.inf
    for size in range(len(able), 0, -1):
        for shared in _combinations(able, size):
            after = _after_round_robin(left, shared[:size], remainder, group)
            if after is not None and (balance := _deviation(after.values())) < best_balance:
                best, best_balance = (shared, size), balance
    return best_balance, best


def _after_round_robin(
    left: Mapping[int, int], takers: Sequence[int], remainder: int, group: int
) -> dict[int, int] | None:
    """What is left when these nodes hand out the rest in turn; None if they have too little.

    A kubelet would turn forever where they have enough CPUs but not in whole groups; here that is too little.
    """
    if sum(left[node] // group for node in takers) * group < remainder:
        return None
    after = dict(left)
    for node in itertools.cycle(takers):
        if remainder <= 0:
            return after
        if after[node] >= group:
            after[node] -= group
            remainder -= group
    return after


def _take_shares(search: _Search, shares: Sequence[int], takers: Sequence[int], group: int, *, spread: bool) -> Bits:
    machine = search.machine
    count = search.needed
    share = count // len(shares) // group * group
    for node in shares:
        search.take(_taken_or_none(machine, machine.nodes[node] & search.free, share, spread=spread))
    rest = count - share * len(shares)
    for node in itertools.chain.from_iterable(itertools.repeat(takers, rest)):
        if rest <= 0:
            break
        if (machine.nodes[node] & search.free).bit_count() >= group:
            search.take(_taken_or_none(machine, machine.nodes[node] & search.free, group, spread=spread))
            rest -= group
    if search.needed > 0:
        raise NotEnoughCpusError(f"accounting error, not enough CPUs allocated, remaining: {search.needed}")
    if search.needed < 0:
        raise NotEnoughCpusError(f"accounting error, too many CPUs allocated, remaining: {search.needed}")
    return search.taken


def _taken_or_none(machine: Machine, free: Bits, count: int, *, spread: bool) -> Bits:
    try:
        return take_packed(machine, free, count, spread=spread)
    except NotEnoughCpusError:
        return 0


def _combinations(items: Sequence[int], size: int) -> Iterator[list[int]]:
    """Combinations in order, each the first `size` of a list, which may change after it was handed out.

    So they do in the kubelet: its slices grow 1, 2, 4, 8, and one that has room is extended in place, so combinations
    that differ in the 4th or in the 6th to 8th number only share their memory. The one remembered as the best may
    have other last members by the time it is used.
    """

    def extended(prefix: list[int], length: int, start: int) -> Iterator[list[int]]:
        if length == size:
            yield prefix
            return
        for index in range(start, len(items) - (size - length) + 1):
            longer = prefix if len(prefix) > length else prefix + [0] * max(1, length)
            longer[length] = items[index]
            yield from extended(longer, length + 1, index + 1)

    yield from extended([], 0, 0)


def _deviation(values: Iterable[int]) -> float:
    """The standard deviation, to three places as the kubelet compares it."""
    numbers = list(values)
    mean = _thousandths(sum(numbers) / len(numbers))
    return _thousandths(math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers)))


def _thousandths(value: float) -> float:
    return math.floor(value * 1000 + 0.5) / 1000


def _rounded_up(amount: int, divisor: int) -> int:
    return -(-amount // divisor)
