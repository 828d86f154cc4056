"""The watch log of a resource, which is its history too: an older state is the newest with later events undone."""

from collections import deque
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from kubedyno.store.records import Record


class EventType(StrEnum):
    """What happened to an object, as a watch tells it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change. `record` is the state to send: for what was deleted the last one, with the deletion's revision."""

    type: EventType
    record: Record
    previous: Record | None
    """The state before, for what was added None."""

    @property
    def revision(self) -> int:
        """When it happened."""
        return self.record.revision


class Log:
    """The events of one resource in order of their revisions, the newest `keep` of them.

    `floor` is the oldest revision that can be gone back to: the last one whose event was dropped, or the one that the
    history was compacted to.
    """

    def __init__(self, *, keep: int, floor: int) -> None:
        self.floor = floor
        self.keep = keep
        self._events: deque[Event] = deque()

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def append(self, event: Event) -> None:
        """Write down what happened; the oldest event goes when there are too many."""
        self._events.append(event)
        if len(self._events) > self.keep:
            self.floor = self._events.popleft().record.revision

    def compact(self, revision: int) -> None:
        """Forget what came before the state at `revision`."""
        while self._events and self._events[0].record.revision <= revision:
            self._events.popleft()
        self.floor = max(self.floor, revision)

    def since(self, revision: int) -> list[Event]:
        """The events after a revision that is not below the floor, oldest first; costs what it returns."""
        found: list[Event] = []
        # From the end: a watcher is a few events behind, and those behind by many get as many.
        for event in reversed(self._events):
            if event.record.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found

    def undone(self, revision: int) -> dict[str, Record | None]:
        """The states at `revision` of the objects that changed after it, by key; None: it did not exist."""
        states: dict[str, Record | None] = {}
        for event in reversed(self._events):
            if event.record.revision <= revision:
                break
            states[event.record.key] = event.previous
        return states
