"""Which workload sat where and when: cells of nodes, as the map of a trial shows them. Pure.

A cell is a GPU of a node, and a pod has as many as it holds. Which they are only a claim tells: such devices have their
places on a node in the order of their names; others come after them in the order of binding, each in the lowest place
that is free. Where no pod holds a GPU, or nobody recorded how many, a cell is a pod.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

import msgspec

from kubedyno.report.run_reading import Mark, TrialRead

_ENDED: Final = frozenset({"succeeded", "failed", "deleted"})
_DIGITS: Final = re.compile(r"(\d+)")
_LAST_NUMBER: Final = re.compile(r"\d+\D*$")
_MOST_GROUPS: Final = 40
"""Names that differ in more ways than this are of no pools."""
_MS_NS: Final = 1_000_000


class Cell(msgspec.Struct, frozen=True, gc=False):
    """A place on a node that was taken for a while."""

    node: int
    slot: int
    """Which of the node's places."""
    workload: int
    since_ms: int
    """After the first pod was created."""
    until_ms: int | None
    """None: to the end."""
    device: str | None
    """`pool/device`, where a claim names it."""


class Placement(msgspec.Struct, frozen=True):
    """All of a trial."""

    nodes: tuple[str, ...]
    """By where they stand and by name, numbers in them in order; of an old record those that ever had a pod."""
    groups: tuple[tuple[str, int], ...]
    """Nodes that stand together, or are called alike: what they share, and how many there are, in order."""
    workloads: tuple[str, ...]
    """In the order of their first binding."""
    cells: tuple[Cell, ...]
    """In the order of their beginning."""
    end_ms: int
    """When the last thing happened."""
    is_by_gpu: bool = False
    """Whether a cell is a GPU; else it is a pod."""
    is_complete: bool = False
    """Whether nodes that never had a pod are among `nodes`."""
    room: int = 0
    """GPUs of the largest node; 0: nobody recorded them."""

    @property
    def slots(self) -> int:
        """How many places a node has at most."""
        return max(self.room, max((cell.slot for cell in self.cells), default=-1) + 1)

    def fullest_ms(self) -> int:
        """The last moment at which most cells were taken."""
        changes: Counter[int] = Counter()
        for cell in self.cells:
            changes[cell.since_ms] += 1
            if cell.until_ms is not None:
                changes[cell.until_ms] -= 1
        taken = most = 0
        fullest_ms = 0
        for at_ms, change in sorted(changes.items()):
            if taken == most:
                fullest_ms = at_ms - 1
            taken += change
            most = max(most, taken)
        return self.end_ms if taken == most else fullest_ms


class _Held(msgspec.Struct, gc=False):
    """What a pod had of a node."""

    node: str
    workload: str
    since_ns: int
    until_ns: int | None
    devices: Sequence[str | None]


def placement(trial: TrialRead) -> Placement:
    """Who held what; without cells when no pod was bound."""
    is_by_gpu = any(trial.gpus.values())
    held = sorted(_held(trial, is_by_gpu=is_by_gpu), key=attrgetter("since_ns"))
    there = {node.name: node for node in trial.nodes if node.gpus or not is_by_gpu}
    places_of = {name: there[name].place if name in there else () for name in {*there, *(one.node for one in held)}}
    nodes = sorted(places_of, key=lambda name: (tuple(map(_in_order, places_of[name])), _in_order(name)))
    begun_ns = min(trial.pods("created").values(), default=0)
    places = {name: place for place, name in enumerate(nodes)}
    workloads: dict[str, int] = {}
    slots = _Slots(held)
    cells: list[Cell] = []
    last_ns = begun_ns
    for one in held:
        last_ns = max(last_ns, one.until_ns or one.since_ns)
        cells += [
            Cell(
                places[one.node],
                slots.take(one.node, device, one.since_ns, one.until_ns),
                workloads.setdefault(one.workload, len(workloads)),
                max(0, one.since_ns - begun_ns) // _MS_NS,
                None if one.until_ns is None else max(0, one.until_ns - begun_ns) // _MS_NS,
                device,
            )
            for device in one.devices
        ]
    end_ms = -(-(last_ns - begun_ns) // _MS_NS)
    return Placement(
        tuple(nodes),
        tuple(_together([places_of[name] for name in nodes]) or _alike(nodes)),
        tuple(workloads),
        tuple(cells),
        end_ms,
        is_by_gpu=is_by_gpu,
        is_complete=bool(trial.nodes),
        room=math.ceil(max((node.gpus for node in there.values()), default=0)) if is_by_gpu else 0,
    )


class _Slots:
    """The places of nodes."""

    def __init__(self, held: Sequence[_Held]) -> None:
        self._free: dict[str, list[int]] = {}
        self._taken: dict[str, list[tuple[int, int]]] = {}
        """By node: until when, and which; those that end."""
        named: dict[str, set[str]] = {}
        for one in held:
            named.setdefault(one.node, set()).update(device for device in one.devices if device is not None)
        self._devices = {
            (node, device): place
            for node, devices in named.items()
            for place, device in enumerate(sorted(devices, key=_in_order))
        }
        self._count = {node: len(devices) for node, devices in named.items()}
        self._until: dict[tuple[str, str], float] = {}
        """When a device is free again, ns."""

    def take(self, node: str, device: str | None, since_ns: int, until_ns: int | None) -> int:
        """A place for a time, asked for in the order of beginnings; who shares a device sits like a pod without."""
        if device is not None and self._until.get((node, device), 0) <= since_ns:
            self._until[node, device] = math.inf if until_ns is None else until_ns
            return self._devices[node, device]
        free, taken = self._free.setdefault(node, []), self._taken.setdefault(node, [])
        while taken and taken[0][0] <= since_ns:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free:
            slot = heapq.heappop(free)
        else:
            slot = self._count[node]
            self._count[node] = slot + 1
        if until_ns is not None:
            heapq.heappush(taken, (until_ns, slot))
        return slot


def _held(trial: TrialRead, *, is_by_gpu: bool) -> Iterator[_Held]:
    devices: dict[str, list[str]] = {}
    for claim in trial.claims:
        if claim.pod is not None:
            devices.setdefault(claim.pod, []).extend(claim.devices)
    for workload, marks in trial.workloads.items():
        pods: dict[str, list[Mark]] = {}
        for mark in marks:
            if mark.role == "pod":
                pods.setdefault(mark.uid, []).append(mark)
        for seen in pods.values():
            bound = next((mark for mark in seen if mark.phase == "scheduled" and mark.node), None)
            if bound is not None and bound.node is not None:
                until_ns = min((mark.at_ns for mark in seen if mark.phase in _ENDED), default=None)
                # Parts of a GPU are drawn as a whole one.
                cells = math.ceil(trial.gpus.get(bound.uid, 0)) if is_by_gpu else 1
                named: Sequence[str | None] = devices.get(bound.title) or [None] * cells
                if named:
                    yield _Held(bound.node, workload, bound.at_ns, until_ns, named)


def _together(places: Sequence[tuple[str, ...]]) -> list[tuple[str, int]]:
    """Runs of places by the innermost level that does not make too many; none where nobody stands anywhere."""
    for depth in range(max(map(len, places), default=0), 0, -1):
        runs = [(_titled(place), len(list(nodes))) for place, nodes in groupby(places, key=lambda one: one[:depth])]
        if len(runs) <= _MOST_GROUPS:
            return runs
    return []


def _titled(place: tuple[str, ...]) -> str:
    """`z1/r2`; of `zone-1/zone-1-rack-2` the second says all."""
    inner = (*place[1:], "")
    return "/".join(outer for outer, within in zip(place, inner, strict=True) if not within.startswith(outer))


def _alike(nodes: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Runs of names that differ in their last number alone; one group where there would be too many."""
    runs = [
        (f"{stem}…", len(list(names))) for stem, names in groupby(nodes, key=lambda name: _LAST_NUMBER.sub("", name))
    ]
    if 1 < len(runs) <= _MOST_GROUPS:
        yield from runs
    elif runs:
        yield "", len(nodes)


def _in_order(name: str) -> tuple[tuple[int, int | str], ...]:
    """A key by which n2 comes before n10."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in _DIGITS.split(name))
