"""Room for jobs: `jobs.Room` over a table of nodes. Gangs whole or not at all, and as close together as they ask.

A job is first tried with what is free now, then with what is about to become free as well.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from kubedyno.model.workloads import Closeness
from kubedyno.schedulers.reference.domain_room import by_room, fewest, room_of_domains
from kubedyno.schedulers.reference.fitting import DEVICES, GPU, Needs
from kubedyno.schedulers.reference.jobs import Job, Task
from kubedyno.schedulers.reference.nodes_table import NOWHERE, Facts, Flags, NodesTable, Slots
from kubedyno.schedulers.reference.packing import Packing
from kubedyno.schedulers.reference.reasons import Reasons
from kubedyno.schedulers.reference.settings import Placement
from kubedyno.schedulers.reference.shared_gpus import WHOLE

_CHANGES_AT_MOST: Final = 200_000
_MB: Final = 10**9
"""Thousandths of bytes in a million bytes."""


class _Part(msgspec.Struct, frozen=True):
    """Tasks of one sub-group that are to be placed."""

    tasks: list[Task]
    missing: int
    """So many of them must be placed."""
    closeness: Closeness | None


class NodesRoom:
    """What is free on the nodes; keeps itself up to date between cycles by what it is told."""

    def __init__(self, placement: Placement = "binpack") -> None:
        self.table = NodesTable()
        self.packing = Packing(self.table, placement)
        self.topologies: dict[str, tuple[str, ...]] = {}
        """By name: the labels of its levels, the outermost first."""
        self._reasons = Reasons(self.packing)
        self._devices: dict[str, Mapping[str, int]] = {}

    # What is.

    def put_node(self, name: str, facts: Facts) -> bool:
        """A node is there, or has changed; whether that is news."""
        is_new = name not in self.table.slot_of
        if name in self._devices:
            facts = self._with_devices(name, facts)
        is_news = self.table.put(name, facts)
        if is_new:
            self.packing.node_came(name)
        return is_news

    def put_devices(self, name: str, amounts: Mapping[str, int]) -> None:
        """So many devices of each signature are free on a node; what it has besides stays."""
        if amounts or name in self._devices:
            self._devices[name] = amounts
            slot = self.table.slot_of.get(name)
            if slot is not None:
                self.table.put(name, self._with_devices(name, self.table.facts(slot)))

    def _with_devices(self, name: str, facts: Facts) -> Facts:
        own = {resource: amount for resource, amount in facts.allocatable.items() if not resource.startswith(DEVICES)}
        return msgspec.structs.replace(facts, allocatable={**own, **self._devices[name]})

    def drop_node(self, name: str) -> None:
        """A node is gone."""
        if name in self.table.slot_of:
            self.packing.node_goes(name)
            self.table.drop(name)

    def capacity(self) -> dict[str, float]:
        """What all nodes have, in the units of queues: GPUs, thousandths of CPUs, millions of bytes."""
        return {
            "gpu": self.table.sum(GPU) / WHOLE,
            "cpu": float(self.table.sum("cpu")),
            "memory": self.table.sum("memory") / _MB,
        }

    def group_of(self, uid: str) -> str:
        """The shared GPU that a pod has a part of; empty: it has none."""
        held = self.packing.held.get(uid)
        return held.group if held is not None else ""

    # What might be: the protocol.

    def mark(self) -> int:
        """A point that can be returned to."""
        return self.packing.mark()

    def back(self, mark: int) -> None:
        """Undo all that happened since."""
        self.packing.back(mark)

    def place(self, job: Job, *, only: tuple[Task, ...] | None = None) -> tuple[tuple[Task, str], ...]:
        """Nodes for the waiting tasks of a job (or for `only` these), and take the room."""
        tasks = job.pending if only is None else only
        self.table.shed_changes(_CHANGES_AT_MOST)
        if len(tasks) == 1 and _is_plain(job):
            return self._place_one(job, tasks[0])
        parts = self._parts(job, tasks)
        if not parts:
            return ()
        for later in (False, True) if self.packing.going else (False,):
            placed = self._place_parts(job, parts, later=later)
            if placed:
                return tuple(placed)
        return ()

    def evict(self, task: Task) -> None:
        """Free what a running task holds."""
        self.packing.evict(task.uid)

    def restore(self, task: Task) -> bool:
        """Give a task that was evicted its room on its node back; False and nothing taken: it is in use by now."""
        return self.packing.restore(task.uid)

    def takes(self, task: Task, node: str) -> int:
        """How many such tasks could be placed on a node now, whatever their closeness; 0: it may not go there."""
        slot = self.table.slot_of.get(node)
        return 0 if slot is None else self.packing.takes(self.packing.kind(task.needs), slot)

    def domains(self, job: Job) -> tuple[frozenset[str], ...]:
        """The domains of the level that a job requires, each as the names of its nodes; empty: it requires none."""
        levels = None
        if job.closeness is not None and job.closeness.required:
            levels = self._levels(job.closeness, job.closeness.required)
        if levels is None:
            return ()
        names: dict[int, list[str]] = {}
        of_slot = self.table.domains(levels).of_slot
        for name, slot in self.table.slot_of.items():
            names.setdefault(int(of_slot[slot]), []).append(name)
        names.pop(NOWHERE, None)
        return tuple(frozenset(names[number]) for number in sorted(names))

    def why_not(self, job: Job) -> str:
        """Why there is no room for a job, in words."""
        wishes = [wish for wish in (job.closeness, *(group.closeness for group in job.groups)) if wish is not None]
        trouble = next(filter(None, map(self._trouble, wishes)), "")
        if trouble:
            return trouble
        needs = max((task.needs for task in job.pending), key=lambda one: one.gpus, default=None)
        if needs is None:
            return ""
        if len(job.pending) == 1 and _is_plain(job):
            return self._reasons.of(needs)
        return self._why_no_gang(job, needs)

    # One task.

    def _place_one(self, job: Job, task: Task) -> tuple[tuple[Task, str], ...]:
        if len(job.running) + 1 < job.groups[0].least:
            return ()
        kind = self.packing.kind(task.needs)
        slot = self.packing.take(kind, task.uid)
        if slot is None and self.packing.going:
            slot = next(iter(self.packing.pack(kind, [task.uid], None, later=True)), None)
        return () if slot is None else ((task, self.table.names[slot]),)

    # Many.

    def _parts(self, job: Job, tasks: Sequence[Task]) -> list[_Part]:
        """The tasks by sub-group, those that are hardest to place first; none when a sub-group has too few of them."""
        if len(job.groups) == 1:
            have = {job.groups[0].name: len(job.running)}
            waiting = {job.groups[0].name: list(tasks)}
        else:
            have = Counter(task.group for task in job.running)
            waiting = {}
            for task in tasks:
                waiting.setdefault(task.group, []).append(task)
        parts = []
        for group in job.groups:
            own = waiting.get(group.name, [])
            missing = max(0, group.least - have.get(group.name, 0))
            if missing > len(own):
                return []
            if own:
                parts.append(_Part(own, missing, group.closeness))
        return sorted(
            parts, key=lambda part: (not _required(part.closeness), -max(one.needs.gpus for one in part.tasks))
        )

    def _place_parts(self, job: Job, parts: list[_Part], *, later: bool) -> list[tuple[Task, str]]:
        """The nodes of all parts, within what the whole job requires; empty: they cannot be had."""
        mark = self.packing.mark()
        everyone = [task for part in parts for task in part.tasks]
        least = sum(part.missing for part in parts)
        for area in self._areas(job.closeness, everyone, least, None, job.running, later=later):
            placed = self._place_within(job, parts, area, later=later)
            if placed:
                names = self.table.names
                return [(task, names[slot]) for task, slot in placed]
            self.packing.back(mark)
        return []

    def _place_within(self, job: Job, parts: list[_Part], area: Slots | None, *, later: bool) -> list[tuple[Task, int]]:
        placed: list[tuple[Task, int]] = []
        for part in parts:
            found = self._place_part(job, part, area, later=later)
            if len(found) < part.missing:
                return []
            placed += found
        return placed

    def _place_part(self, job: Job, part: _Part, area: Slots | None, *, later: bool) -> list[tuple[Task, int]]:
        """As many tasks of a part as there is room for, close together."""
        mark = self.packing.mark()
        running = [task for task in job.running if task.group == part.tasks[0].group]
        wish = part.closeness or job.closeness
        for inner in self._areas(part.closeness, part.tasks, part.missing, area, running, later=later):
            if wish is not None and wish.preferred and not self._is_single(inner):
                placed = self._place_close(wish, part.tasks, inner, later=later)
            else:
                placed = self._pack(part.tasks, inner, later=later)
            if placed and len(placed) >= part.missing:
                return placed
            self.packing.back(mark)
        return []

    def _areas(
        self,
        wish: Closeness | None,
        tasks: Sequence[Task],
        least: int,
        area: Slots | None,
        running: Sequence[Task],
        *,
        later: bool,
    ) -> Iterator[Slots | None]:
        """The parts of an area that tasks may be in all together, the best first.

        That is the fullest domain of the required level that has room for all of them; then the one with room for most,
        if that is enough. Smaller domains of levels that are preferred go before. Where some run already, the rest
        goes to the same.
        """
        if wish is None or not wish.required:
            yield area
            return
        levels = self._levels(wish, wish.required)
        if levels is None:
            return
        of_slot = self.table.domains(levels).of_slot
        slots = [slot for task in running if (slot := self.table.slot_of.get(task.node or "")) is not None]
        if slots:
            area = _within(np.isin(of_slot, of_slot[slots]) & (of_slot != NOWHERE), area)
        preferred = (self._levels(wish, wish.preferred) if wish.preferred else None) or ()
        for depth in range(len(preferred), len(levels), -1):
            below = self.table.domains(preferred[:depth]).of_slot
            caps = room_of_domains(self.packing, tasks, below, area, later=later)
            for number in by_room(caps, len(tasks), len(tasks)):
                yield _within(below == number, area)
        caps = room_of_domains(self.packing, tasks, of_slot, area, later=later)
        for number in by_room(caps, len(tasks), max(1, least)):
            yield _within(of_slot == number, area)

    def _place_close(
        self, wish: Closeness, tasks: list[Task], area: Slots | None, *, later: bool
    ) -> list[tuple[Task, int]]:
        """Tasks in one domain of the preferred level, else in one of a level above, and there in as few as can be."""
        preferred = self._levels(wish, wish.preferred or "")
        if preferred is None:
            return []
        mark = self.packing.mark()
        smallest = self.table.domains(preferred).of_slot
        rooms = room_of_domains(self.packing, tasks, smallest, area, later=later)
        for number in by_room(rooms, len(tasks), len(tasks)):
            placed = self._pack(tasks, _within(smallest == number, area), later=later)
            if len(placed) == len(tasks):
                return placed
            self.packing.back(mark)
        for depth in range(len(preferred) - 1, 0, -1):
            of_slot = self.table.domains(preferred[:depth]).of_slot
            caps = room_of_domains(self.packing, tasks, of_slot, area, later=later)
            inside = {number: _within(of_slot == number, area) for number in by_room(caps, len(tasks), len(tasks))}
            few = {number: fewest(rooms, smallest[slots], len(tasks)) for number, slots in inside.items()}
            for number in sorted(inside, key=few.__getitem__):
                placed = self._place_few(preferred, tasks, inside[number], later=later)
                if len(placed) == len(tasks):
                    return placed
                self.packing.back(mark)
        return self._place_few(preferred, tasks, area, later=later)

    def _place_few(
        self, levels: Sequence[str], tasks: list[Task], area: Slots | None, *, later: bool
    ) -> list[tuple[Task, int]]:
        """Tasks in as few domains as can be: the roomiest first, and for the last of them the fullest that does."""
        of_slot = self.table.domains(levels).of_slot
        placed: list[tuple[Task, int]] = []
        left = list(tasks)
        caps = room_of_domains(self.packing, left, of_slot, area, later=later)
        while left and caps.size and caps.max() > 0:
            enough = np.flatnonzero(caps >= len(left))
            number = int(enough[np.argmin(caps[enough])]) if len(enough) else int(np.argmax(caps))
            found = self._pack(left, _within(of_slot == number, area), later=later)
            caps[number] = 0
            placed += found
            done = {task.uid for task, _ in found}
            left = [task for task in left if task.uid not in done]
        # Nodes outside of all domains are used last.
        return placed + (self._pack(left, area, later=later) if left else [])

    def _pack(self, tasks: Sequence[Task], area: Slots | None, *, later: bool) -> list[tuple[Task, int]]:
        """Tasks onto nodes of an area, as many as there is room for, the largest first."""
        kinds: dict[Needs, list[Task]] = {}
        for task in tasks:
            kinds.setdefault(task.needs, []).append(task)
        ordered = kinds if len(kinds) == 1 else sorted(kinds, key=lambda needs: -needs.gpus)
        placed: list[tuple[Task, int]] = []
        for needs in ordered:
            own = kinds[needs]
            slots = self.packing.pack(self.packing.kind(needs), [task.uid for task in own], area, later=later)
            placed += zip(own, slots, strict=False)
        return placed

    def _levels(self, wish: Closeness, key: str) -> tuple[str, ...] | None:
        """The levels of a topology down to the one of a label; None: there is no such topology or level."""
        levels = self.topologies.get(wish.topology) if wish.topology else (key,)
        if levels is None or key not in levels:
            return None
        return levels[: levels.index(key) + 1]

    @staticmethod
    def _is_single(area: Slots | None) -> bool:
        return area is not None and len(area) == 1

    # In words.

    def _trouble(self, wish: Closeness) -> str:
        if wish.topology and wish.topology not in self.topologies:
            return f"topology {wish.topology} does not exist"
        for key in filter(None, (wish.required, wish.preferred)):
            if self._levels(wish, key) is None:
                known = ", ".join(self.topologies[wish.topology])
                return f"topology {wish.topology} has no level {key}: its levels are {known}"
        return ""

    def _why_no_gang(self, job: Job, needs: Needs) -> str:
        least = max(1, job.least - len(job.running))
        counts = self.packing.counts(self.packing.kind(needs), None, later=False)
        found = int(np.minimum(counts, len(job.pending)).sum())
        required = next(
            (wish for wish in (job.closeness, *(one.closeness for one in job.groups)) if _required(wish)), None
        )
        if found < least or required is None:
            # The last of the kind that found no room has few nodes left, or none.
            detail = self._reasons.of(needs) if found < least else "they are too few together"
            return (
                f"Resources were found for {min(found, least)} pods while {least} are required for gang scheduling: "
                f"{detail}"
            )
        levels = self._levels(required, required.required or "") or ()
        of_slot = self.table.domains(levels).of_slot
        caps = room_of_domains(self.packing, job.pending, of_slot, None, later=False)
        most = int(caps.max(initial=0))
        return (
            f"No domain of level {required.required} has room for {least} pods: "
            f"of {len(caps)} the one with most room takes {most}"
        )


def _is_plain(job: Job) -> bool:
    """Whether nothing but room matters to a job."""
    return job.closeness is None and len(job.groups) == 1 and job.groups[0].closeness is None


def _required(wish: Closeness | None) -> str | None:
    return wish.required if wish is not None else None


def _within(chosen: Flags, area: Slots | None) -> Slots:
    return np.flatnonzero(chosen) if area is None else area[chosen[area]]
