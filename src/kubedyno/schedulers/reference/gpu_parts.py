"""Parts of GPUs that pods hold, in the table of nodes: a shared GPU is taken whole from its node."""

import numpy as np

from kubedyno.schedulers.reference.fitting import GPU
from kubedyno.schedulers.reference.holding import Held, Kind
from kubedyno.schedulers.reference.nodes_table import NodesTable, Numbers, Slots
from kubedyno.schedulers.reference.shared_gpus import MEMORY_LABEL, WHOLE, SharedGpus, part_of


class GpuParts:
    """Keeps the table right when parts of GPUs are taken and given back."""

    def __init__(self, table: NodesTable, shared: SharedGpus) -> None:
        self._table = table
        self._shared = shared
        self._gpu = table.row(GPU)

    def join(self, uid: str, held: Held) -> None:
        """Take a part of the GPU of its group, or of one that is chosen: of another pod's, or a new one."""
        held.part = self.part_on(held.kind, held.slot or 0) or 0
        if not held.group:
            here = held.slot
            found = self._shared.fullest(lambda slot: held.part if slot == here else None, later=False)
            held.group = found or uid
        self.change(held, held.part)

    def change(self, held: Held, staying: int, *, going: int = 0) -> None:
        """Change what a group's pods hold; the GPU itself is taken by the first and given back by the last.

        A GPU whose pods are all about to go is about to become free.
        """
        slot, table = held.slot or 0, self._table
        group = self._shared.groups.get(held.group)
        was_there, was_going = group is not None, group is not None and group.staying == 0
        group = self._shared.add(held.group, slot, staying=staying, going=going)
        is_there = held.group in self._shared.groups
        is_going = is_there and group.staying == 0
        table.free[self._gpu, slot] -= WHOLE * (is_there - was_there)
        table.leaving[self._gpu, slot] += WHOLE * (is_going - was_going)

    def part_on(self, kind: Kind, slot: int) -> int | None:
        """Thousandths of a GPU of a node that one of a kind takes; None: that cannot be said."""
        labels = self._table.facts(slot).labels
        return part_of(kind.needs.fraction, kind.needs.gpu_memory, labels.get(MEMORY_LABEL))

    def count(self, kind: Kind, found: Numbers, area: Slots | None, *, later: bool) -> None:
        """How many parts of GPUs there are on each node, of shared ones and of whole ones."""
        table = self._table
        slots = np.arange(len(table.names)) if area is None else area
        places = {slot: place for place, slot in enumerate(slots.tolist()) if found[place] > 0}
        parts = np.zeros(len(found), np.int64)
        free = table.free[self._gpu] + table.leaving[self._gpu] if later else table.free[self._gpu]
        for slot, place in places.items():
            part = self.part_on(kind, slot)
            if part:
                parts[place] = max(0, int(free[slot]) // WHOLE) * (WHOLE // part)
        for group in self._shared.groups.values():
            place = places.get(group.slot, -1)
            part = self.part_on(kind, group.slot) if place >= 0 else None
            if part:
                left = WHOLE - group.staying if later else group.left
                if left > 0 and not (later and group.staying == 0):
                    parts[place] += left // part
        np.minimum(found, parts, out=found)
