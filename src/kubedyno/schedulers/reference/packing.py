"""Pods on nodes: who holds what, room taken and given back, and the best node for the next of a kind.

Everything that a cycle tries is in a journal and can be taken back. Nodes are kept ordered for each kind of needs, so
that the next of thousands of alike pods finds its node without a look at the others.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from kubedyno.schedulers.reference.fitting import DEVICES, GPU, Needs
from kubedyno.schedulers.reference.nodes_table import Flags, NodesTable, Numbers, Slots, Terms
from kubedyno.schedulers.reference.settings import Placement
from kubedyno.schedulers.reference.shared_gpus import MEMORY_LABEL, WHOLE, SharedGpus, part_of

_FEW: Final = 8
"""So many alike pods are placed one by one; more of them all at once."""

_Step = Literal["placed", "unplaced", "evicted", "restored"]

_Entry = tuple[int, int, str, int]
"""GPUs and CPU that are left (negative when spreading), name and slot of a node."""


class Kind:
    """Needs, prepared for the table's rows."""

    def __init__(self, needs: Needs, table: NodesTable) -> None:
        self.needs = needs
        self.terms = Terms.of(needs)
        asked = (*needs.requests, *((f"{DEVICES}{signature}", 1000 * count) for signature, count in needs.devices))
        self.pairs = tuple((table.row(name), amount) for name, amount in asked if amount)
        self.order: list[_Entry] | None = None
        """A heap; every node that fits is in it as it is now, and perhaps as it was before."""
        self.seen = 0
        """How many changes of nodes the order knows."""


class Held(msgspec.Struct):
    """What one pod holds."""

    kind: Kind
    node: str
    slot: int | None
    """None: its node is not there."""
    group: str = ""
    part: int = 0
    """Thousandths of the shared GPU of its group."""
    going: bool = False
    freeing: tuple[tuple[int, int], ...] = ()
    """Beyond its room, what becomes free when it goes: the devices of its claims."""
    waiting: bool = False
    """Its room is reserved: others are still leaving."""


class Packing:
    """What is held on the nodes of a table."""

    def __init__(self, table: NodesTable, placement: Placement = "binpack") -> None:
        self.table = table
        self.shared = SharedGpus()
        self.held: dict[str, Held] = {}
        """By uid: pods that have their nodes, or have been given them."""
        self.tried: dict[str, Held] = {}
        """By uid: what the cycle has placed so far."""
        self.going = 0
        """How many are about to go."""
        self.claimed: Callable[[str], Mapping[str, int]] | None = None
        """Tells by uid what becomes free with a pod beyond its room."""
        self._sign = 1 if placement == "binpack" else -1
        self._gpu, self._cpu = table.row(GPU), table.row("cpu")
        self._kinds: dict[Needs, Kind] = {}
        self._on_node: dict[str, set[str]] = {}
        self._journal: list[tuple[_Step, str, Held]] = []

    # What is: changes by the world.

    def hold(self, uid: str, needs: Needs, node: str, *, group: str = "", waiting: bool = False) -> Held:
        """A pod has this node; `group` is the shared GPU that it has a part of, or one is chosen."""
        held = Held(self.kind(needs), node, self.table.slot_of.get(node), group, waiting=waiting)
        self.held[uid] = held
        self._on_node.setdefault(node, set()).add(uid)
        if held.slot is not None:
            self._settle(uid, held)
        return held

    def release(self, uid: str) -> bool:
        """A pod is gone, or has ended; whether it held anything."""
        held = self.held.pop(uid, None)
        if held is None:
            return False
        on_node = self._on_node[held.node]
        on_node.discard(uid)
        if not on_node:
            del self._on_node[held.node]
        self._unsettle(held)
        if held.going:
            self.going -= 1
        return True

    def leave(self, uid: str) -> None:
        """A pod is about to go: its room can be given away, but not used yet."""
        held = self.held.get(uid)
        if held is not None and not held.going:
            self._set_going(uid, held, going=True)

    def stay(self, uid: str) -> None:
        """A pod does not go after all."""
        held = self.held.get(uid)
        if held is not None and held.going:
            self._set_going(uid, held, going=False)

    def node_came(self, name: str) -> None:
        """A node has appeared in the table: who holds a part of it does so now."""
        for uid in sorted(self._on_node.get(name, ())):
            held = self.held[uid]
            held.slot = self.table.slot_of[name]
            self._settle(uid, held)

    def node_goes(self, name: str) -> None:
        """A node is about to be dropped from the table: who is on it holds nothing until it comes again."""
        for uid in self._on_node.get(name, ()):
            self._unsettle(self.held[uid])
            self.held[uid].slot = None

    def are_there(self, uids: Sequence[str]) -> bool:
        """Whether all that was reserved for these pods is free by now; then it is theirs."""
        held = [one for uid in uids if (one := self.held[uid]).waiting]
        if any(one.slot is None for one in held):
            return False
        wanted: dict[tuple[int, int], int] = {}
        for one in held:
            for row, amount in one.kind.pairs:
                wanted[row, one.slot or 0] = wanted.get((row, one.slot or 0), 0) + amount
            if one.group and (self.shared.groups[one.group].left < 0 or self.table.free[self._gpu, one.slot] < 0):
                return False
        table = self.table
        for (row, slot), amount in wanted.items():
            # What others wait for as well is not theirs before us.
            if table.free[row, slot] + table.reserved[row, slot] < amount:
                return False
        for one in held:
            self._reserve(one, -1)
            one.waiting = False
        return True

    # What might be: tried by a cycle.

    def mark(self) -> int:
        """A point that can be returned to."""
        return len(self._journal)

    def back(self, mark: int) -> None:
        """Undo all that was tried since."""
        while len(self._journal) > mark:
            step, uid, held = self._journal.pop()
            match step:
                case "placed":
                    self._unsettle(self.tried.pop(uid))
                case "unplaced":
                    self._settle(uid, held)
                    self.tried[uid] = held
                case "evicted":
                    self._set_going(uid, held, going=False)
                case "restored":
                    self._set_going(uid, held, going=True)

    def keep(self) -> None:
        """All that was tried is so."""
        for uid, tried in self.tried.items():
            self.held[uid] = tried
            self._on_node.setdefault(tried.node, set()).add(uid)
        self.tried.clear()
        self._journal.clear()

    def evict(self, uid: str) -> None:
        """Give away what a pod holds."""
        tried = self.tried.pop(uid, None)
        if tried is not None:
            self._unsettle(tried)
            self._journal.append(("unplaced", uid, tried))
            return
        held = self.held[uid]
        self._set_going(uid, held, going=True)
        self._journal.append(("evicted", uid, held))

    def restore(self, uid: str) -> bool:
        """Let an evicted pod stay; False: what it held was given to others."""
        held = self.held[uid]
        self._set_going(uid, held, going=False)
        if held.slot is not None and self._is_given_twice(held, held.slot):
            self._set_going(uid, held, going=True)
            return False
        self._journal.append(("restored", uid, held))
        return True

    def takes(self, kind: Kind, slot: int) -> int:
        """How many of a kind fit on a node when all have left that are about to."""
        if kind.needs.is_shared:
            return int(self.counts(kind, np.asarray([slot]), later=True)[0])
        if not self.table.mask(kind.terms)[slot]:
            return 0
        free, leaving = self.table.free, self.table.leaving
        fitting = ((free.item(row, slot) + leaving.item(row, slot)) // amount for row, amount in kind.pairs)
        return max(0, min(fitting, default=0))

    def _is_given_twice(self, held: Held, slot: int) -> bool:
        free, leaving = self.table.free, self.table.leaving
        rows = [row for row, _ in (*held.kind.pairs, *held.freeing)]
        if held.group:
            rows.append(self._gpu)
            if self.shared.groups[held.group].staying > WHOLE:
                return True
        return any(free.item(row, slot) + leaving.item(row, slot) < 0 for row in rows)

    def kind(self, needs: Needs) -> Kind:
        """The kind of these needs."""
        found = self._kinds.get(needs)
        if found is None:
            found = self._kinds[needs] = Kind(needs, self.table)
        return found

    def take(self, kind: Kind, uid: str) -> int | None:
        """The best node for one of a kind that fits now, which it then has; None: there is none."""
        if kind.needs.is_shared:
            return self._take_shared(kind, uid, None, later=False)
        slot = self._best(kind)
        if slot is not None:
            self._try(uid, kind, slot)
            order = kind.order or []
            heapq.heappop(order)
            if self._fits(kind, slot):
                heapq.heappush(order, self._entry(slot))
            kind.seen = self.table.shed + len(self.table.changes)
        return slot

    def pack(self, kind: Kind, uids: Sequence[str], area: Slots | None, *, later: bool) -> list[int]:
        """Nodes for the first of these alike pods, as many as there is room for in an area (None: everywhere).

        With `later` what is about to go counts as free.
        """
        if kind.needs.is_shared:
            return self._pack_shared(kind, uids, area, later=later)
        if area is None and not later and len(uids) <= _FEW:
            return self._pack_few(kind, uids)
        slots, counts = self._chosen(kind, len(uids), area, later=later)
        chosen: list[int] = np.repeat(slots, counts).tolist()
        for row, amount in kind.pairs:
            self.table.free[row, slots] -= amount * counts
        self.table.changes += slots.tolist()
        names = self.table.names
        for uid, slot in zip(uids, chosen, strict=False):
            held = self.tried[uid] = Held(kind, names[slot], slot)
            self._journal.append(("placed", uid, held))
        return chosen

    def counts(self, kind: Kind, area: Slots | None, *, later: bool) -> Numbers:
        """How many of a kind fit on each node of an area."""
        table = self.table
        allowed: Flags = table.mask(kind.terms)
        slots: Slots | slice = slice(None)
        if area is not None:
            allowed, slots = allowed[area], area
        found = np.where(allowed, np.iinfo(np.int64).max, 0)
        for row, amount in kind.pairs:
            free = table.free[row, slots]
            np.minimum(found, (free + table.leaving[row, slots] if later else free) // amount, out=found)
        if kind.needs.is_shared:
            self._count_shared(kind, found, area, later=later)
        return np.maximum(found, 0, out=found)

    # Within.

    def _pack_few(self, kind: Kind, uids: Sequence[str]) -> list[int]:
        chosen: list[int] = []
        for uid in uids:
            slot = self.take(kind, uid)
            if slot is None:
                break
            chosen.append(slot)
        return chosen

    def _chosen(self, kind: Kind, wanted: int, area: Slots | None, *, later: bool) -> tuple[Slots, Numbers]:
        """Nodes and how many pods each gets, the best first."""
        counts = self.counts(kind, area, later=later)
        places = np.flatnonzero(counts)
        counts = counts[places]
        slots: Slots = places if area is None else area[places]
        table = self.table
        gpu, cpu = table.free[self._gpu, slots], table.free[self._cpu, slots]
        if later:
            gpu, cpu = gpu + table.leaving[self._gpu, slots], cpu + table.leaving[self._cpu, slots]
        order = np.lexsort((table.ranks()[slots], self._sign * cpu, self._sign * gpu))
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
        names, free = self.table.names, self.table.free
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

    def _best(self, kind: Kind) -> int | None:
        """The best node for one more of a kind; it stands first in the order then."""
        order = self._ordered(kind)
        table, allowed = self.table, self.table.mask(kind.terms)
        while order:
            entry = order[0]
            slot = entry[3]
            # Whatever changed a node has put it into the order as it is now: other entries of it are leftovers.
            if (
                allowed[slot]
                and table.names[slot] == entry[2]
                and entry == self._entry(slot)
                and self._fits(kind, slot)
            ):
                return slot
            heapq.heappop(order)
        return None

    def _ordered(self, kind: Kind) -> list[_Entry]:
        table = self.table
        news = table.shed + len(table.changes) - kind.seen
        if kind.order is None or news > len(table.changes) or news > 2 * len(table) + _FEW:
            fitting = np.flatnonzero(self.counts(kind, None, later=False))
            kind.order = [self._entry(slot) for slot in fitting.tolist()]
            heapq.heapify(kind.order)
        elif news:
            allowed = table.mask(kind.terms)
            for slot in dict.fromkeys(table.changes[-news:]):
                if allowed[slot] and self._fits(kind, slot):
                    heapq.heappush(kind.order, self._entry(slot))
        kind.seen = table.shed + len(table.changes)
        return kind.order

    def _entry(self, slot: int) -> _Entry:
        free = self.table.free
        return (
            self._sign * free.item(self._gpu, slot),
            self._sign * free.item(self._cpu, slot),
            self.table.names[slot],
            slot,
        )

    def _fits(self, kind: Kind, slot: int) -> bool:
        free = self.table.free
        return all(amount <= free.item(row, slot) for row, amount in kind.pairs)

    def _try(self, uid: str, kind: Kind, slot: int, group: str = "") -> None:
        held = Held(kind, self.table.names[slot], slot, group)
        self._settle(uid, held)
        self.tried[uid] = held
        self._journal.append(("placed", uid, held))

    def _settle(self, uid: str, held: Held) -> None:
        """Take the room that a pod holds."""
        if held.slot is None:
            return
        slot, free = held.slot, self.table.free
        for row, amount in held.kind.pairs:
            free[row, slot] -= amount
        if held.kind.needs.is_shared:
            self._join(uid, held)
        if held.going:
            self._give_away(held, 1)
        if held.waiting:
            self._reserve(held, 1)
        self.table.changes.append(slot)

    def _unsettle(self, held: Held) -> None:
        """Give back the room that a pod holds."""
        if held.slot is None:
            return
        slot, free = held.slot, self.table.free
        for row, amount in held.kind.pairs:
            free[row, slot] += amount
        if held.waiting:
            self._reserve(held, -1)
        if held.going:
            self._give_away(held, -1)
        if held.group:
            self._part(held, -held.part)
        self.table.changes.append(slot)

    def _set_going(self, uid: str, held: Held, *, going: bool) -> None:
        held.going = going
        self.going += 1 if going else -1
        if going and self.claimed is not None and held.kind.needs.claimed:
            freeing = self.claimed(uid).items()
            held.freeing = tuple((self.table.row(name), amount) for name, amount in freeing)
        if held.slot is not None:
            self._give_away(held, 1 if going else -1)
            self.table.changes.append(held.slot)

    def _give_away(self, held: Held, sign: int) -> None:
        """What a pod holds is about to become free, or is not any more."""
        for row, amount in (*held.kind.pairs, *held.freeing):
            self.table.leaving[row, held.slot or 0] += sign * amount
        if held.group:
            self._part(held, -sign * held.part, going=sign * held.part)

    def _reserve(self, held: Held, sign: int) -> None:
        for row, amount in held.kind.pairs:
            self.table.reserved[row, held.slot or 0] += sign * amount

    # Shared GPUs.

    def _join(self, uid: str, held: Held) -> None:
        """Take a part of the GPU of its group, or of one that is chosen: of another pod's, or a new one."""
        held.part = self._part_on(held.kind, held.slot or 0) or 0
        if not held.group:
            here = held.slot
            found = self.shared.fullest(lambda slot: held.part if slot == here else None, later=False)
            held.group = found or uid
        self._part(held, held.part)

    def _part(self, held: Held, staying: int, *, going: int = 0) -> None:
        """Change what a group's pods hold; the GPU itself is taken by the first and given back by the last.

        A GPU whose pods are all about to go is about to become free.
        """
        slot, table = held.slot or 0, self.table
        group = self.shared.groups.get(held.group)
        was_there, was_going = group is not None, group is not None and group.staying == 0
        group = self.shared.add(held.group, slot, staying=staying, going=going)
        is_there = held.group in self.shared.groups
        is_going = is_there and group.staying == 0
        table.free[self._gpu, slot] -= WHOLE * (is_there - was_there)
        table.leaving[self._gpu, slot] += WHOLE * (is_going - was_going)

    def _part_on(self, kind: Kind, slot: int) -> int | None:
        labels = self.table.facts(slot).labels
        return part_of(kind.needs.fraction, kind.needs.gpu_memory, labels.get(MEMORY_LABEL))

    def _take_shared(self, kind: Kind, uid: str, inside: Flags | None, *, later: bool) -> int | None:
        """A part of a GPU: of the fullest that is shared already, else of one on the best node with a whole one."""
        table, allowed = self.table, self.table.mask(kind.terms)
        free = table.free + table.leaving if later else table.free

        def part_on(slot: int) -> int | None:
            if not allowed[slot] or (inside is not None and not inside[slot]):
                return None
            if any(free[row, slot] < amount for row, amount in kind.pairs):
                return None
            return self._part_on(kind, slot)

        group = self.shared.fullest(part_on, later=later)
        if group is not None:
            slot = self.shared.groups[group].slot
            self._try(uid, kind, slot, group)
            return slot
        usable = allowed if inside is None else allowed & inside
        for row, amount in (*kind.pairs, (self._gpu, WHOLE)):
            usable = usable & (free[row] >= amount)
        slots = np.flatnonzero(usable)
        if kind.needs.gpu_memory:
            slots = np.asarray([slot for slot in slots.tolist() if self._part_on(kind, slot) is not None], np.int64)
        if not len(slots):
            return None
        keys = (
            table.ranks()[slots],
            self._sign * table.free[self._cpu, slots],
            self._sign * table.free[self._gpu, slots],
        )
        best = int(slots[np.lexsort(keys)[0]])
        self._try(uid, kind, best, uid)
        return best

    def _pack_shared(self, kind: Kind, uids: Sequence[str], area: Slots | None, *, later: bool) -> list[int]:
        inside = None
        if area is not None:
            inside = np.zeros(len(self.table.names), np.bool_)
            inside[area] = True
        chosen: list[int] = []
        for uid in uids:
            slot = self._take_shared(kind, uid, inside, later=later)
            if slot is None:
                break
            chosen.append(slot)
        return chosen

    def _count_shared(self, kind: Kind, found: Numbers, area: Slots | None, *, later: bool) -> None:
        """How many parts of GPUs there are on each node, of shared ones and of whole ones."""
        table = self.table
        slots = np.arange(len(table.names)) if area is None else area
        places = {slot: place for place, slot in enumerate(slots.tolist()) if found[place] > 0}
        parts = np.zeros(len(found), np.int64)
        free = table.free[self._gpu] + table.leaving[self._gpu] if later else table.free[self._gpu]
        for slot, place in places.items():
            part = self._part_on(kind, slot)
            if part:
                parts[place] = max(0, int(free[slot]) // WHOLE) * (WHOLE // part)
        for group in self.shared.groups.values():
            place = places.get(group.slot, -1)
            part = self._part_on(kind, group.slot) if place >= 0 else None
            if part:
                left = WHOLE - group.staying if later else group.left
                if left > 0 and not (later and group.staying == 0):
                    parts[place] += left // part
        np.minimum(found, parts, out=found)
