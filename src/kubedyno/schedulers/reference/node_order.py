"""The best nodes for pods of a kind: those with the least left, or the most when spreading; then by name.

Nodes are kept ordered for each kind of needs, so that the next of thousands of alike pods finds its node without a look
at the others. Among nodes that are equal in GPUs and CPU the one goes first whose NUMA zone is filled best.
"""

import heapq
from collections.abc import Callable
from typing import Final

import numpy as np

from kubedyno.schedulers.reference.fitting import GPU
from kubedyno.schedulers.reference.holding import Entry, Kind
from kubedyno.schedulers.reference.nodes_table import NodesTable, Numbers, Slots
from kubedyno.schedulers.reference.settings import Placement
from kubedyno.schedulers.reference.zone_books import ZoneBooks

FEW: Final = 8
"""So many alike pods are placed one by one; more of them all at once."""


class NodeOrder:
    """Nodes of a table, ordered. `counts` tells how many of a kind fit on each node now."""

    def __init__(
        self, table: NodesTable, zones: ZoneBooks, placement: Placement, counts: Callable[[Kind], Numbers]
    ) -> None:
        self._table = table
        self._zones = zones
        self._counts = counts
        self._sign = 1 if placement == "binpack" else -1
        self._gpu, self._cpu = table.row(GPU), table.row("cpu")

    def fits(self, kind: Kind, slot: int) -> bool:
        """Whether one of a kind fits on a node now."""
        free = self._table.free
        if not all(amount <= free.item(row, slot) for row, amount in kind.pairs):
            return False
        return not self._zones.reports or self._zones.admits(self._table.names[slot], kind.needs.demand)

    def best(self, kind: Kind) -> int | None:
        """The best node for one more of a kind; it stands first in the order then."""
        order = self._ordered(kind)
        table, allowed = self._table, self._table.mask(kind.terms)
        while order:
            entry = order[0]
            slot = entry[4]
            # Whatever changed a node has put it into the order as it is now: other entries of it are leftovers.
            if (
                allowed[slot]
                and table.names[slot] == entry[3]
                and entry == self._entry(kind, slot)
                and self.fits(kind, slot)
            ):
                return slot
            heapq.heappop(order)
        return None

    def used(self, kind: Kind, slot: int) -> None:
        """The best node has got one of a kind: it is ordered anew."""
        order = kind.order or []
        heapq.heappop(order)
        if self.fits(kind, slot):
            heapq.heappush(order, self._entry(kind, slot))
        kind.seen = self._table.shed + len(self._table.changes)

    def first(self, slots: Slots, *, later: bool, kind: Kind) -> Slots:
        """Places in `slots`, those of the best nodes first; `later`: as they are when all have left that will."""
        table, sign = self._table, self._sign
        gpu, cpu = table.free[self._gpu, slots], table.free[self._cpu, slots]
        if later:
            gpu, cpu = gpu + table.leaving[self._gpu, slots], cpu + table.leaving[self._cpu, slots]
        keys = (table.ranks()[slots], sign * self._looseness(kind, slots), sign * cpu, sign * gpu)
        order: Slots = np.lexsort(keys)
        return order

    def chosen(
        self, kind: Kind, wanted: int, area: Slots | None, counts: Numbers, *, later: bool
    ) -> tuple[Slots, Numbers]:
        """Nodes and how many pods each gets, the best first; `counts` are how many fit on each node of an area."""
        places = np.flatnonzero(counts)
        counts = counts[places]
        slots: Slots = places if area is None else area[places]
        order = self.first(slots, later=later, kind=kind)
        slots, counts = slots[order], np.minimum(counts[order], wanted)
        if self._sign < 0:
            return self._evenly(kind, wanted, slots, counts)
        before = np.cumsum(counts) - counts
        used = before < wanted
        return slots[used], np.minimum(counts[used], wanted - before[used])

    def _evenly(self, kind: Kind, wanted: int, slots: Slots, most: Numbers) -> tuple[Slots, Numbers]:
        """One after another to the emptiest node."""
        asked = dict(kind.pairs)
        gpu, cpu = asked.get(self._gpu, 0), asked.get(self._cpu, 0)
        names, free = self._table.names, self._table.free
        heap = [
            (-int(free[self._gpu, slot]), -int(free[self._cpu, slot]), names[slot], place)
            for place, slot in enumerate(slots.tolist())
        ]
        heapq.heapify(heap)
        counts = np.zeros(len(slots), np.int64)
        for _ in range(wanted):
            if not heap:
                break
            more_gpu, more_cpu, name, place = heapq.heappop(heap)
            counts[place] += 1
            if counts[place] < most[place]:
                heapq.heappush(heap, (more_gpu + gpu, more_cpu + cpu, name, place))
        used = counts > 0
        return slots[used], counts[used]

    def _ordered(self, kind: Kind) -> list[Entry]:
        table = self._table
        news = table.shed + len(table.changes) - kind.seen
        if kind.order is None or news > len(table.changes) or news > 2 * len(table) + FEW:
            fitting = np.flatnonzero(self._counts(kind))
            kind.order = [self._entry(kind, slot) for slot in fitting.tolist()]
            heapq.heapify(kind.order)
        elif news:
            allowed = table.mask(kind.terms)
            for slot in dict.fromkeys(table.changes[-news:]):
                if allowed[slot] and self.fits(kind, slot):
                    heapq.heappush(kind.order, self._entry(kind, slot))
        kind.seen = table.shed + len(table.changes)
        return kind.order

    def _entry(self, kind: Kind, slot: int) -> Entry:
        free, zones, name = self._table.free, self._zones, self._table.names[slot]
        return (
            self._sign * free.item(self._gpu, slot),
            self._sign * free.item(self._cpu, slot),
            self._sign * zones.looseness(name, kind.needs.demand) if zones.reports else 0,
            name,
            slot,
        )

    def _looseness(self, kind: Kind, slots: Slots) -> Numbers:
        found = np.zeros(len(slots), np.int64)
        if self._zones.reports and kind.needs.demand is not None:
            names = self._table.names
            found[:] = [self._zones.looseness(names[slot], kind.needs.demand) for slot in slots.tolist()]
        return found
