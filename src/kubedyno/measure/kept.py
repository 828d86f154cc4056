"""What of a recording stays in memory: who reached which phase when, in arrays, for whoever asks while it goes on."""

import asyncio
from array import array
from collections.abc import Callable
from collections.abc import Set as AbstractSet

import msgspec

from kubedyno.measure.columns import ObjectRow


class Reached(msgspec.Struct, frozen=True, gc=False):
    """An object that reached a phase; times are ns since the epoch. Without a lower bound `lower_ns` is None."""

    uid: str
    name: str
    node: str | None
    arrival_ns: int
    lower_ns: int | None
    upper_ns: int


class Awaited:
    """So many objects of some workloads are to reach a phase; `reached` is set when all have."""

    def __init__(self, workloads: AbstractSet[str], count: int) -> None:
        self.workloads = workloads
        self.reached = asyncio.Event()
        self._missing = count
        self._look()

    def count(self) -> None:
        """One more has."""
        self._missing -= 1
        self._look()

    def _look(self) -> None:
        if self._missing <= 0:
            self.reached.set()


class Kept:
    """Rows of the recording by phase. Objects are pods unless another role is asked for."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], _Column] = {}
        self._awaited: dict[tuple[str, str], list[Awaited]] = {}
        self._listeners: list[Callable[[ObjectRow], None]] = []

    def listen(self, listener: Callable[[ObjectRow], None]) -> None:
        """Be told of every row at once, before its bounds are known."""
        self._listeners.append(listener)

    def add(self, row: ObjectRow) -> tuple["_Column", int]:
        """Keep a row; where, for `settle`."""
        key = row.role, row.phase
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _Column()
        for awaited in self._awaited.get(key, ()):
            if row.workload in awaited.workloads:
                awaited.count()
        place = column.add(row)
        for listener in self._listeners:
            listener(row)
        return column, place

    @staticmethod
    def settle(place: tuple["_Column", int], lower_ns: int | None, upper_ns: int) -> None:
        """The bounds of a row are known now."""
        column, number = place
        column.lower[number] = lower_ns or 0
        column.upper[number] = upper_ns

    def in_phase(self, phase: str, workloads: AbstractSet[str], *, role: str = "pod") -> list[Reached]:
        """The objects of these workloads that reached a phase, as their news arrived."""
        column = self._columns.get((role, phase))
        return column.of(workloads) if column is not None else []

    def awaiting(self, phase: str, workloads: AbstractSet[str], count: int, *, role: str = "pod") -> Awaited:
        """Count those that reach a phase, and those that have; give it back to `forget` it."""
        awaited = Awaited(workloads, count - len(self.in_phase(phase, workloads, role=role)))
        self._awaited.setdefault((role, phase), []).append(awaited)
        return awaited

    def forget(self, awaited: Awaited) -> None:
        """Nobody waits for it any more."""
        for waiting in self._awaited.values():
            if awaited in waiting:
                waiting.remove(awaited)


class _Column:
    """All that reached one phase, by their place."""

    def __init__(self) -> None:
        self.uids: list[str] = []
        self.names: list[str] = []
        self.workloads: list[str | None] = []
        self.nodes: list[str | None] = []
        self.arrival, self.lower, self.upper = array("q"), array("q"), array("q")

    def add(self, row: ObjectRow) -> int:
        self.uids.append(row.uid)
        self.names.append(row.name)
        self.workloads.append(row.workload)
        self.nodes.append(row.node)
        self.arrival.append(row.arrival_ns)
        self.lower.append(row.lower_ns or 0)
        self.upper.append(row.upper_ns)
        return len(self.uids) - 1

    def of(self, workloads: AbstractSet[str]) -> list[Reached]:
        return [
            Reached(
                self.uids[place],
                self.names[place],
                self.nodes[place],
                self.arrival[place],
                self.lower[place] or None,
                self.upper[place],
            )
            for place, workload in enumerate(self.workloads)
            if workload in workloads
        ]
