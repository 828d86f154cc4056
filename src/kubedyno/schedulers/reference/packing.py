"""Pods on nodes: who holds what, and room taken and given back.

Everything that a cycle tries is in a journal and can be taken back.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from kubedyno.schedulers.reference.fitting import GPU, Needs
from kubedyno.schedulers.reference.gpu_parts import GpuParts
from kubedyno.schedulers.reference.holding import Held, Kind
from kubedyno.schedulers.reference.jobs import Key
from kubedyno.schedulers.reference.node_order import FEW, NodeOrder
from kubedyno.schedulers.reference.nodes_table import Flags, NodesTable, Numbers, Slots
from kubedyno.schedulers.reference.settings import Placement
from kubedyno.schedulers.reference.shared_gpus import WHOLE, SharedGpus
from kubedyno.schedulers.reference.zone_books import ZoneBooks
from kubedyno.schedulers.reference.zones import Report

_Step = Literal["placed", "unplaced", "evicted", "restored"]


class Packing:
    """What is held on the nodes of a table."""

    def __init__(self, table: NodesTable, placement: Placement = "binpack") -> None:
        self.table = table
        self.shared = SharedGpus()
        self.parts = GpuParts(table, self.shared)
        self.held: dict[str, Held] = {}
        """By uid: pods that have their nodes, or have been given them."""
        self.tried: dict[str, Held] = {}
        """By uid: what the cycle has placed so far."""
        self.going = 0
        """How many are about to go."""
        self.claimed: Callable[[str], Mapping[str, int]] | None = None
        """Tells by uid what becomes free with a pod beyond its room."""
        self.zones = ZoneBooks(self._held_on)
        self._gpu = table.row(GPU)
        self._spreads = placement == "spread"
        self._order = NodeOrder(table, self.zones, placement, lambda kind: self.counts(kind, None, later=False))
        self._kinds: dict[Needs, Kind] = {}
        self._on_node: dict[str, set[str]] = {}
        self._journal: list[tuple[_Step, str, Held]] = []

    # What is: changes by the world.

    def hold(
        self,
        uid: str,
        needs: Needs,
        node: str,
        *,
        group: str = "",
        waiting: bool = False,
        key: Key | None = None,
        is_running: bool = False,
    ) -> Held:
        """A pod has this node; `group` is the shared GPU that it has a part of, or one is chosen.

        `key`: the API knows that it has the node.
        """
        held = Held(self.kind(needs), node, self.table.slot_of.get(node), group, waiting=waiting)
        held.key, held.is_running, held.is_reported = key, is_running, is_running
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
        self._unsettle(uid, held)
        if held.going:
            self.going -= 1
            self.zones.leaves(held.node, -1)
        self._recount(held)
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

    def is_heard_of(self, held: Held, key: Key, *, is_running: bool) -> bool:
        """The API tells that a pod has its node; whether zones have more left by that."""
        if held.key == key and held.is_running == is_running:
            return False
        held.key, held.is_running = key, is_running
        return self._recount(held)

    def put_zones(self, node: str, report: Report | None) -> None:
        """What is known of the NUMA zones of a node; None: it has none."""
        self.zones.put(node, report)
        slot = self.table.slot_of.get(node)
        if slot is not None:
            self.table.changes.append(slot)

    def node_came(self, name: str) -> None:
        """A node has appeared in the table: who holds a part of it does so now."""
        for uid in sorted(self._on_node.get(name, ())):
            held = self.held[uid]
            held.slot = self.table.slot_of[name]
            self._settle(uid, held)

    def node_goes(self, name: str) -> None:
        """A node is about to be dropped from the table: who is on it holds nothing until it comes again."""
        for uid in self._on_node.get(name, ()):
            self._unsettle(uid, self.held[uid])
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
                    self._unsettle(uid, held)
                    del self.tried[uid]
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
            self._unsettle(uid, tried)
            self._journal.append(("unplaced", uid, tried))
            return
        held = self.held[uid]
        self._set_going(uid, held, going=True)
        self._journal.append(("evicted", uid, held))

    def restore(self, uid: str) -> bool:
        """Let an evicted pod stay; False: what it held was given to others."""
        held = self.held[uid]
        self._set_going(uid, held, going=False)
        if held.slot is not None and self._is_given_twice(uid, held, held.slot):
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
        count = max(0, min(fitting, default=0))
        if self.zones.reports:
            count = min(count, self.zones.takes(self.table.names[slot], kind.needs.demand, later=True))
        return count

    def _is_given_twice(self, uid: str, held: Held, slot: int) -> bool:
        free, leaving = self.table.free, self.table.leaving
        rows = [row for row, _ in (*held.kind.pairs, *held.freeing)]
        if held.group:
            rows.append(self._gpu)
            if self.shared.groups[held.group].staying > WHOLE:
                return True
        if self.zones.reports and self.zones.is_given(uid, held.node):
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
        slot = self._order.best(kind)
        if slot is not None:
            self._try(uid, kind, slot)
            self._order.used(kind, slot)
        return slot

    def pack(self, kind: Kind, uids: Sequence[str], area: Slots | None, *, later: bool) -> list[int]:
        """Nodes for the first of these alike pods, as many as there is room for in an area (None: everywhere).

        With `later` what is about to go counts as free.
        """
        if kind.needs.is_shared:
            return self._pack_shared(kind, uids, area, later=later)
        # Zones are weighed by the order of single nodes; spreading many at once looks at GPUs and CPUs alone.
        one_by_one = len(uids) <= FEW or (self._spreads and bool(self.zones.reports))
        if area is None and not later and one_by_one:
            return self._pack_singly(kind, uids)
        fitting = self.counts(kind, area, later=later)
        slots, counts = self._order.chosen(kind, len(uids), area, fitting, later=later)
        chosen: list[int] = np.repeat(slots, counts).tolist()
        for row, amount in kind.pairs:
            self.table.free[row, slots] -= amount * counts
        self.table.changes += slots.tolist()
        names = self.table.names
        for uid, slot in zip(uids, chosen, strict=False):
            held = self.tried[uid] = Held(kind, names[slot], slot)
            if self.zones.reports:
                self.zones.settle(uid, held)
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
            self.parts.count(kind, found, area, later=later)
        if self.zones.reports:
            names = table.names if area is None else [table.names[slot] for slot in area.tolist()]
            self.zones.limit(found, names, kind.needs.demand, later=later)
        return np.maximum(found, 0, out=found)

    # Within.

    def _recount(self, held: Held) -> bool:
        if held.node not in self.zones.reports or not self.zones.recount(held.node):
            return False
        if held.slot is not None:
            self.table.changes.append(held.slot)
        return True

    def _held_on(self, node: str) -> dict[str, Held]:
        return {uid: self.held[uid] for uid in sorted(self._on_node.get(node, ()))}

    def _pack_singly(self, kind: Kind, uids: Sequence[str]) -> list[int]:
        chosen: list[int] = []
        for uid in uids:
            slot = self.take(kind, uid)
            if slot is None:
                break
            chosen.append(slot)
        return chosen

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
            self.parts.join(uid, held)
        if held.going:
            self._give_away(held, 1)
        if held.waiting:
            self._reserve(held, 1)
        if self.zones.reports:
            self.zones.settle(uid, held)
        self.table.changes.append(slot)

    def _unsettle(self, uid: str, held: Held) -> None:
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
            self.parts.change(held, -held.part)
        if self.zones.reports:
            self.zones.unsettle(uid, held)
        self.table.changes.append(slot)

    def _set_going(self, uid: str, held: Held, *, going: bool) -> None:
        held.going = going
        sign = 1 if going else -1
        self.going += sign
        self.zones.leaves(held.node, sign)
        if going and self.claimed is not None and held.kind.needs.claimed:
            freeing = self.claimed(uid).items()
            held.freeing = tuple((self.table.row(name), amount) for name, amount in freeing)
        if held.slot is not None:
            self._give_away(held, sign)
            self.table.changes.append(held.slot)

    def _give_away(self, held: Held, sign: int) -> None:
        """What a pod holds is about to become free, or is not any more."""
        for row, amount in (*held.kind.pairs, *held.freeing):
            self.table.leaving[row, held.slot or 0] += sign * amount
        if held.group:
            self.parts.change(held, -sign * held.part, going=sign * held.part)

    def _reserve(self, held: Held, sign: int) -> None:
        for row, amount in held.kind.pairs:
            self.table.reserved[row, held.slot or 0] += sign * amount

    # Shared GPUs.

    def _take_shared(self, kind: Kind, uid: str, inside: Flags | None, *, later: bool) -> int | None:
        """A part of a GPU: of the fullest that is shared already, else of one on the best node with a whole one."""
        table, allowed = self.table, self.table.mask(kind.terms)
        free = table.free + table.leaving if later else table.free

        def part_on(slot: int) -> int | None:
            if not allowed[slot] or (inside is not None and not inside[slot]):
                return None
            if any(free[row, slot] < amount for row, amount in kind.pairs):
                return None
            if not self.zones.admits(table.names[slot], kind.needs.demand, later=later):
                return None
            return self.parts.part_on(kind, slot)

        group = self.shared.fullest(part_on, later=later)
        if group is not None:
            slot = self.shared.groups[group].slot
            self._try(uid, kind, slot, group)
            return slot
        usable = allowed if inside is None else allowed & inside
        for row, amount in (*kind.pairs, (self._gpu, WHOLE)):
            usable = usable & (free[row] >= amount)
        slots = np.flatnonzero(usable)
        if kind.needs.gpu_memory or self.zones.reports:
            slots = np.asarray([slot for slot in slots.tolist() if part_on(slot) is not None], np.int64)
        if not len(slots):
            return None
        best = int(slots[self._order.first(slots, later=False, kind=kind)[0]])
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
