"""What was seen of objects, from any number of recordings: one fact per object and phase, however often it was told.

Rows may come in any order and several times; the result is the same. Of two tellings of one fact that of a watch beats
a stamp of the server, then the tighter one wins, and the bounds are what all tellings agree on. Facts are kept in
arrays, 41 bytes each, so that hundreds of thousands of pods fit.
"""

from array import array
from collections.abc import Iterable, Iterator

import msgspec

from kubedyno.measure.columns import ObjectRow
from kubedyno.model.samples import Instant


class Sighting(msgspec.Struct, frozen=True):
    """All that was seen of one object."""

    uid: str
    kind: str
    namespace: str
    name: str
    owner: str
    """uid of its controller, or of what it speaks of; empty: none."""
    phases: dict[str, Instant]
    details: dict[str, str]
    """By phase, where something was told."""
    contradictory: tuple[str, ...]
    """Phases of which two tellings cannot both be true."""


class Sightings:
    """Facts of objects, by role. `note` takes rows; the rest reads."""

    def __init__(self) -> None:
        self._roles: dict[str, _Role] = {}
        self._of: dict[str, tuple[_Role, int]] = {}

    def note(self, row: ObjectRow) -> bool:
        """Take a row; whether it is news: no earlier row told of this phase of this object."""
        known = self._of.get(row.uid)
        if known is None:
            role = self._roles.get(row.role)
            if role is None:
                role = self._roles[row.role] = _Role()
            known = self._of[row.uid] = role, role.add(row)
        else:
            known[0].know(known[1], row)
        return known[0].put(known[1], row)

    def note_all(self, rows: Iterable[ObjectRow]) -> None:
        """Take many rows."""
        for row in rows:
            self.note(row)

    def __contains__(self, uid: str) -> bool:
        return uid in self._of

    def __len__(self) -> int:
        return len(self._of)

    def uids(self) -> Iterator[tuple[str, str]]:
        """All objects: role and uid, in the order in which they were first told of."""
        for name, role in self._roles.items():
            for uid in role.uids:
                yield name, uid

    def identity(self, uid: str) -> "Identity":
        """Who the object is."""
        role, number = self._of[uid]
        return role.identities[number]

    def instant(self, uid: str, phase: str) -> Instant | None:
        """When an object reached a phase; None: nobody saw it."""
        known = self._of.get(uid)
        if known is None:
            return None
        column = known[0].columns.get(phase)
        return column.instant(known[1]) if column is not None else None

    def sighting(self, uid: str) -> Sighting:
        """All that was seen of an object."""
        role, number = self._of[uid]
        identity = role.identities[number]
        phases: dict[str, Instant] = {}
        details: dict[str, str] = {}
        contradictory: list[str] = []
        for phase, column in role.columns.items():
            instant = column.instant(number)
            if instant is None:
                continue
            phases[phase] = instant
            if column.details and (detail := column.details.get(number)) is not None:
                details[phase] = detail
            if column.disagrees(number):
                contradictory.append(phase)
        return Sighting(
            uid=uid,
            kind=identity.kind,
            namespace=identity.namespace,
            name=identity.name,
            owner=identity.owner,
            phases=phases,
            details=details,
            contradictory=tuple(sorted(contradictory)),
        )


class Identity(msgspec.Struct, gc=False):
    """Who an object is, and what it says of where it belongs. Empty: nothing is known."""

    kind: str
    namespace: str
    name: str
    owner: str
    workload: str


class _Role:
    """All objects of one role; they are numbered as they come."""

    def __init__(self) -> None:
        self.uids: list[str] = []
        self.identities: list[Identity] = []
        self.columns: dict[str, _Column] = {}
        self._texts: dict[str, str] = {}

    def add(self, row: ObjectRow) -> int:
        """The number of a new object."""
        self.uids.append(row.uid)
        self.identities.append(
            Identity(
                self._once(row.kind),
                self._once(row.namespace),
                row.name,
                self._once(row.owner or ""),
                self._once(row.workload or ""),
            )
        )
        return len(self.uids) - 1

    def know(self, number: int, row: ObjectRow) -> None:
        """A later row may know more of where an object belongs; of two opinions the greater text counts."""
        identity = self.identities[number]
        if row.owner and row.owner > identity.owner:
            identity.owner = self._once(row.owner)
        if row.workload and row.workload > identity.workload:
            identity.workload = self._once(row.workload)

    def put(self, number: int, row: ObjectRow) -> bool:
        """Keep what the row tells; whether it is news."""
        column = self.columns.get(row.phase)
        if column is None:
            column = self.columns[row.phase] = _Column()
        if row.detail and row.detail > column.details.get(number, ""):
            column.details[number] = row.detail
        return column.put(number, *estimate(row))

    def _once(self, text: str) -> str:
        """The same text as one object: owners and workloads are those of many."""
        return self._texts.setdefault(text, text)


class _Column:
    """When the objects of a role reached one phase: the best telling, and what all tellings allow."""

    def __init__(self) -> None:
        self.details: dict[int, str] = {}
        self._watched = array("b")
        """-1: not told of; 0: by the server's stamp; 1: by a watch."""
        self._at, self._lower, self._upper, self._latest_lower, self._earliest_upper = (array("q") for _ in range(5))

    def put(self, number: int, at_ns: int, lower_ns: int, upper_ns: int, watched: int) -> bool:
        missing = number + 1 - len(self._watched)
        if missing == 1:  # as it mostly is: objects reach a phase in the order in which they came
            self._watched.append(watched)
            self._at.append(at_ns)
            self._lower.append(lower_ns)
            self._upper.append(upper_ns)
            self._latest_lower.append(lower_ns)
            self._earliest_upper.append(upper_ns)
            return True
        if missing > 1:
            self._watched.extend((-1,) * missing)
            zeros = bytes(8 * missing)
            for numbers in (self._at, self._lower, self._upper, self._latest_lower, self._earliest_upper):
                numbers.frombytes(zeros)
        is_news = self._watched[number] < 0
        if is_news:
            self._latest_lower[number], self._earliest_upper[number] = lower_ns, upper_ns
        else:
            self._latest_lower[number] = max(self._latest_lower[number], lower_ns)
            self._earliest_upper[number] = min(self._earliest_upper[number], upper_ns)
            best = self._watched[number], self._upper[number], self._lower[number], self._at[number]
            if _worth(watched, upper_ns, lower_ns, at_ns) <= _worth(*best):
                return False
        self._watched[number] = watched
        self._at[number], self._lower[number], self._upper[number] = at_ns, lower_ns, upper_ns
        return is_news

    def instant(self, number: int) -> Instant | None:
        if number >= len(self._watched) or self._watched[number] < 0:
            return None
        lower_ns, upper_ns = self._latest_lower[number], self._earliest_upper[number]
        if lower_ns > upper_ns:
            lower_ns, upper_ns = self._lower[number], self._upper[number]
        at_ns = self._at[number]
        if not lower_ns <= at_ns <= upper_ns:
            at_ns = min(max(at_ns, lower_ns), upper_ns)
        return Instant(at_ns, lower_ns, upper_ns, "watch" if self._watched[number] else "server")

    def disagrees(self, number: int) -> bool:
        """Whether the tellings of this fact cannot all be true."""
        return self._latest_lower[number] > self._earliest_upper[number]


def _worth(watched: int, upper_ns: int, lower_ns: int, at_ns: int) -> tuple[int, int, int, int]:
    """Orders tellings of one fact: the greatest is kept. No two different ones are equal."""
    return watched, lower_ns - upper_ns, -upper_ns, -at_ns


def estimate(row: ObjectRow) -> tuple[int, int, int, int]:
    """Of a row: the best estimate, the bounds (0: no lower one), and whether a watch saw it happen (1) or not (0).

    What a watch saw happened as it arrived, or shortly before. Where the server's stamp is all that is known, and that
    is a span, the middle of it is the estimate that errs least.
    """
    lower_ns, upper_ns = row.lower_ns or 0, row.upper_ns
    if row.source == "watch":
        return min(max(row.arrival_ns, lower_ns), upper_ns), lower_ns, upper_ns, 1
    return (lower_ns + upper_ns) // 2 if lower_ns else upper_ns, lower_ns, upper_ns, 0
