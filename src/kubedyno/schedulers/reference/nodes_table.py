"""Nodes as columns of numbers: what is left on each, which admit whom, which domain each is in.

A node has a slot for as long as it is there. All columns are as long as there are slots; those of a slot without a node
are zero. What a slot's row says changes one slot at a time; what is asked is asked of all slots at once.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from kubedyno.kube.codec import Object
from kubedyno.kube.placement import NodeSelector, NodeTerm, is_tolerated
from kubedyno.kube.selectors import Requirement
from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.fitting import (
    CUTTING,
    UNREACHED,
    UNSCHEDULABLE,
    UNTOLERATED,
    UNWANTED,
    Amounts,
    Needs,
)

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Slots = npt.NDArray[np.int64]

_FIRST_SIZE: Final = 64
_MASKS_AT_MOST: Final = 256
"""Pods with volumes of their own each have terms of their own: what they asked is not kept for ever."""
NOWHERE: Final = -1
"""The domain of a node that has no label of the level."""


class Facts(msgspec.Struct, frozen=True):
    """What is kept of a Node object."""

    labels: Mapping[str, str]
    taints: bytes
    """Those that keep pods away, as JSON."""
    unschedulable: bool
    allocatable: Amounts


class Terms(msgspec.Struct, frozen=True, cache_hash=True):
    """Which nodes a pod may be on, whatever is left on them."""

    selector: tuple[tuple[str, str], ...]
    affinity: bytes
    tolerations: bytes
    volumes: tuple[bytes, ...]

    @classmethod
    def of(cls, needs: Needs) -> "Terms":
        """Those of a pod's needs."""
        return cls(needs.selector, needs.affinity, needs.tolerations, needs.volumes)


class Domains(msgspec.Struct, frozen=True):
    """Where each node is on one level of a topology."""

    of_slot: Slots
    """Number of the domain; `NOWHERE`: the node is in none."""
    names: list[str]
    """By number: the values of the labels down to the level, `zone-1/rack-2`."""


def facts_of(node: Object) -> Facts:
    """What is kept of a Node."""
    spec = node.get("spec") or {}
    taints = [taint for taint in spec.get("taints") or () if taint.get("effect") in CUTTING]
    return Facts(
        {sys.intern(key): sys.intern(value) for key, value in (node["metadata"].get("labels") or {}).items()},
        msgspec.json.encode(taints) if taints else b"[]",
        bool(spec.get("unschedulable")),
        fitting.allocatable_of(node),
    )


class _Column:
    """The values of one label, as numbers; 0: the node has no such label."""

    def __init__(self, size: int) -> None:
        self.ids = np.zeros(size, np.int64)
        self.values: list[str | None] = [None]
        self._known: dict[str, int] = {}

    def put(self, slot: int, value: str | None) -> None:
        if value is None:
            self.ids[slot] = 0
            return
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = len(self.values)
            self.values.append(value)
        self.ids[slot] = known

    def which(self, value: str) -> Flags:
        """The slots with this value."""
        known = self._known.get(value)
        return np.zeros(len(self.ids), np.bool_) if known is None else self.ids == known

    def matching(self, requirement: Requirement) -> Flags:
        """The slots that meet a requirement: asked once for each value."""
        met = [requirement.matches({} if value is None else {requirement.key: value}) for value in self.values]
        return np.asarray(met, np.bool_)[self.ids]


class NodesTable:
    """All nodes that are there."""

    def __init__(self) -> None:
        self.slot_of: dict[str, int] = {}
        self.names: list[str] = [""] * _FIRST_SIZE
        self.alive: Flags = np.zeros(_FIRST_SIZE, np.bool_)
        self.rows: dict[str, int] = {}
        """The row of each resource in `free` and its like."""
        self.free: Numbers = np.zeros((8, _FIRST_SIZE), np.int64)
        """What is left for pods, in thousandths; negative where room is reserved that others are still leaving."""
        self.leaving: Numbers = np.zeros((8, _FIRST_SIZE), np.int64)
        """What pods hold that are about to go."""
        self.reserved: Numbers = np.zeros((8, _FIRST_SIZE), np.int64)
        """What was given to pods that wait for others to leave."""
        self.changes: list[int] = []
        """Slots in the order in which something about them changed; `shed` tells how many were forgotten."""
        self.shed = 0
        self._facts: list[Facts | None] = [None] * _FIRST_SIZE
        self._unused: list[int] = list(range(_FIRST_SIZE - 1, -1, -1))
        self._unschedulable: Flags = np.zeros(_FIRST_SIZE, np.bool_)
        self._taints: Slots = np.zeros(_FIRST_SIZE, np.int64)
        self._taint_sets: dict[bytes, int] = {b"[]": 0}
        self._columns: dict[str, _Column] = {}
        self._masks: dict[Terms, Flags] = {}
        self._domains: dict[tuple[str, ...], Domains] = {}
        self._ranks: Slots | None = None
        self._sums: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.slot_of)

    def facts(self, slot: int) -> Facts:
        """What is known of the node of a slot."""
        found = self._facts[slot]
        if found is None:
            raise KeyError(slot)
        return found

    def put(self, name: str, facts: Facts) -> bool:
        """Add a node or take over its new state; whether anything is new."""
        slot = self.slot_of.get(name)
        if slot is None:
            slot = self._taken(name)
            before = None
        else:
            before = self._facts[slot]
            if before == facts:
                return False
        self._facts[slot] = facts
        self._put_amounts(slot, {} if before is None else before.allocatable, facts.allocatable)
        if before is None or (before.labels, before.taints, before.unschedulable) != (
            facts.labels,
            facts.taints,
            facts.unschedulable,
        ):
            self._put_terms(slot, facts)
        self.changes.append(slot)
        return True

    def drop(self, name: str) -> int | None:
        """Remove a node; the slot that it had. What pods hold there must have been taken off before."""
        slot = self.slot_of.pop(name, None)
        if slot is None:
            return None
        self._sums.subtract(self.facts(slot).allocatable)
        for numbers in (self.free, self.leaving, self.reserved):
            numbers[:, slot] = 0
        self.alive[slot] = False
        self.names[slot] = ""
        self._facts[slot] = None
        for mask in self._masks.values():
            mask[slot] = False
        for column in self._columns.values():
            column.put(slot, None)
        self._domains.clear()
        self._ranks = None
        self._unused.append(slot)
        return slot

    def row(self, resource: str) -> int:
        """The row of a resource, which is made when it is new."""
        found = self.rows.get(resource)
        if found is None:
            found = self.rows[resource] = len(self.rows)
            if found == len(self.free):
                self._grow(2 * len(self.free), self.free.shape[1])
        return found

    def mask(self, terms: Terms) -> Flags:
        """The slots whose nodes may be used. Shared and kept up to date: do not change it."""
        found = self._masks.get(terms)
        if found is None:
            if len(self._masks) >= _MASKS_AT_MOST:
                self._masks.clear()
            found = self.alive.copy()
            for _, allowed in self._conditions(terms):
                found &= allowed
            self._masks[terms] = found
        return found

    def refusals(self, terms: Terms) -> dict[str, int]:
        """How many nodes are out of the question, by the first reason that holds of each."""
        left = self.alive.copy()
        counts: dict[str, int] = {}
        for reason, allowed in self._conditions(terms):
            refused = int(np.count_nonzero(left & ~allowed))
            if refused:
                counts[reason] = counts.get(reason, 0) + refused
            left &= allowed
        return counts

    def domains(self, levels: Sequence[str]) -> Domains:
        """The domains of the last of these levels; a node is in one if it has the labels of all of them."""
        keys = tuple(levels)
        found = self._domains.get(keys)
        if found is None:
            found = self._domains[keys] = self._found_domains(keys)
        return found

    def ranks(self) -> Slots:
        """The place of each slot's node by name."""
        if self._ranks is None:
            self._ranks = np.zeros(len(self.names), np.int64)
            ordered = np.fromiter((self.slot_of[name] for name in sorted(self.slot_of)), np.int64, len(self.slot_of))
            self._ranks[ordered] = np.arange(len(ordered))
        return self._ranks

    def sum(self, resource: str) -> int:
        """What all nodes together have of a resource, in thousandths."""
        return self._sums[resource]

    def shed_changes(self, most: int) -> None:
        """Forget old changes when there are more than `most`: who has not seen them must look at all slots."""
        if len(self.changes) > most:
            self.shed += len(self.changes)
            self.changes.clear()

    def _taken(self, name: str) -> int:
        if not self._unused:
            size = len(self.names)
            self._grow(len(self.free), 2 * size)
            self._unused = list(range(2 * size - 1, size - 1, -1))
        slot = self._unused.pop()
        self.slot_of[name] = slot
        self.names[slot] = name
        self.alive[slot] = True
        self._ranks = None
        return slot

    def _grow(self, rows: int, size: int) -> None:
        more = (rows - self.free.shape[0], size - self.free.shape[1])
        widths = ((0, more[0]), (0, more[1]))
        self.free, self.leaving, self.reserved = (
            np.pad(numbers, widths) for numbers in (self.free, self.leaving, self.reserved)
        )
        if more[1]:
            self.alive = np.pad(self.alive, (0, more[1]))
            self._unschedulable = np.pad(self._unschedulable, (0, more[1]))
            self._taints = np.pad(self._taints, (0, more[1]))
            self.names += [""] * more[1]
            self._facts += [None] * more[1]
            self._ranks = None
            self._columns.clear()
            self._masks.clear()
            self._domains.clear()

    def _put_amounts(self, slot: int, before: Amounts, now: Amounts) -> None:
        for name in before.keys() | now.keys():
            more = now.get(name, 0) - before.get(name, 0)
            if more:
                self._sums[name] += more
                self.free[self.row(name), slot] += more

    def _put_terms(self, slot: int, facts: Facts) -> None:
        self._unschedulable[slot] = facts.unschedulable
        self._taints[slot] = self._taint_sets.setdefault(facts.taints, len(self._taint_sets))
        for key, column in self._columns.items():
            column.put(slot, facts.labels.get(key))
        for terms, mask in self._masks.items():
            mask[slot] = not fitting.refused(self.names[slot], facts.labels, facts.taints, facts.unschedulable, terms)
        self._domains.clear()

    def _column(self, key: str) -> _Column:
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = _Column(len(self.names))
            for slot in self.slot_of.values():
                found.put(slot, self.facts(slot).labels.get(key))
        return found

    def _conditions(self, terms: Terms) -> Iterable[tuple[str, Flags]]:
        """What terms ask for, in the order in which kube-scheduler asks: the reason, and the slots that meet it."""
        yield UNSCHEDULABLE, ~self._unschedulable
        tolerations = msgspec.json.decode(terms.tolerations)
        tolerated = [
            all(is_tolerated(taint, tolerations) for taint in msgspec.json.decode(taints))
            for taints in self._taint_sets
        ]
        yield UNTOLERATED, np.asarray(tolerated, np.bool_)[self._taints]
        for name, value in terms.selector:
            yield UNWANTED, self._column(name).which(value)
        if terms.affinity:
            yield UNWANTED, self._selected(terms.affinity)
        for volume in terms.volumes:
            yield UNREACHED, self._selected(volume)

    def _selected(self, written: bytes) -> Flags:
        selector = NodeSelector.read(msgspec.json.decode(written))
        found = np.zeros(len(self.names), np.bool_)
        for term in selector.terms:
            found |= self._matching(term)
        return found

    def _matching(self, term: NodeTerm) -> Flags:
        found = np.ones(len(self.names), np.bool_)
        for requirement in term.labels:
            found &= self._column(requirement.key).matching(requirement)
        for requirement in term.fields:
            names = (self.slot_of.get(value) for value in requirement.values)
            named = np.zeros(len(self.names), np.bool_)
            named[[slot for slot in names if slot is not None]] = True
            found &= named if requirement.matches({requirement.key: requirement.values[0]}) else ~named
        return found

    def _found_domains(self, keys: tuple[str, ...]) -> Domains:
        column = self._column(keys[-1])
        if len(keys) == 1:
            ids = np.where(self.alive, column.ids, 0)
            present, numbers = np.unique(ids, return_inverse=True)
            names = [column.values[value] or "" for value in present]
            has_none = len(present) > 0 and present[0] == 0
            return Domains(numbers.astype(np.int64) - int(has_none), names[int(has_none) :])
        above = self.domains(keys[:-1])
        inside = (above.of_slot != NOWHERE) & (column.ids != 0) & self.alive
        paired = np.where(inside, above.of_slot * len(column.values) + column.ids, -1)
        present, numbers = np.unique(paired, return_inverse=True)
        has_none = len(present) > 0 and present[0] == -1
        names = [
            f"{above.names[pair // len(column.values)]}/{column.values[pair % len(column.values)]}"
            for pair in present[int(has_none) :].tolist()
        ]
        return Domains(numbers.astype(np.int64) - int(has_none), names)
