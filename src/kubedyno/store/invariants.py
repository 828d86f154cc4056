"""What always holds of a store, whatever was asked of it. For tests: it looks at everything there is."""

from collections.abc import Iterator
from itertools import pairwise

from kubedyno.kit.errors import EngineError
from kubedyno.kube.codec import decode
from kubedyno.store.indexing import Indexes, entries
from kubedyno.store.log import Event, EventType
from kubedyno.store.records import NAME, Record, key_of, restamped
from kubedyno.store.shelf import Shelf
from kubedyno.store.store import Store


class Inconsistent(EngineError):
    """The store contradicts itself; the message lists how."""


def validate(store: Store) -> None:
    """Raise `Inconsistent` when anything does not hold that always should."""
    found = list(problems(store))
    if found:
        raise Inconsistent("the store is inconsistent: " + "; ".join(found))


def problems(store: Store) -> Iterator[str]:
    """Every contradiction, as a clause that names the resource."""
    for resource, shelf in store.shelves.items():
        checks = (_order, _records, _indexes, _log, _history)
        yield from (f"{resource}: {problem}" for check in checks for problem in check(shelf))
        if not shelf.log.floor <= store.revision:
            yield f"{resource}: the floor {shelf.log.floor} lies after the revision {store.revision}"
    yield from _revisions(store)


def _revisions(store: Store) -> Iterator[str]:
    """One counter for all: as far as all logs reach back, every revision is one event of one resource."""
    logged = sorted(event.revision for shelf in store.shelves.values() for event in shelf.log)
    floor = max((shelf.log.floor for shelf in store.shelves.values()), default=store.revision)
    known = [revision for revision in logged if revision > floor]
    if len(set(logged)) != len(logged):
        yield f"a revision is taken twice in {logged}"
    if known != list(range(floor + 1, store.revision + 1)):
        yield f"after {floor} there should be one event per revision up to {store.revision}, but there are {known}"


def _order(shelf: Shelf) -> Iterator[str]:
    walked = list(shelf.keys)
    if walked != sorted(shelf.objects):
        yield f"the ordered keys {walked} are not those of the objects {sorted(shelf.objects)}"
    ranks = [shelf.keys.count("", key) for key in walked]
    if ranks != list(range(len(shelf.keys))):
        yield f"the {len(shelf.keys)} ordered keys are found at {ranks}"


def _records(shelf: Shelf) -> Iterator[str]:
    """Every state that can be read, the newest and those in the log, says what its JSON says."""
    seen = [*shelf.objects.items()]
    for event in shelf.log:
        seen += [(state.key, state) for state in (event.record, event.previous) if state is not None]
    for key, record in seen:
        obj = decode(record.data)
        written = obj["metadata"]["resourceVersion"]
        expected = shelf.schema.record(obj, key_of(obj, shelf.resource), record.revision, None)
        if key != record.key or written != str(record.revision) or not _same(expected, record):
            yield f"the record of {key} at {record.revision} is not that of its JSON"
        if not record.created <= record.revision:
            yield f"{key} changed at {record.revision}, before its creation at {record.created}"


def _same(expected: Record, record: Record) -> bool:
    return all(
        getattr(expected, name) == getattr(record, name)
        for name in ("key", "uid", "labels", "owners", "fields", "deleting")
    )


def _indexes(shelf: Shelf) -> Iterator[str]:
    expected = Indexes((NAME, *shelf.schema.indexed))
    for name in shelf.indexes.labels:
        expected.label(name, ())
    for record in shelf.objects.values():
        expected.add(record)
    made = {(index, value): bucket for index, value, bucket in entries(shelf.indexes)}
    wanted = {(index, value): bucket for index, value, bucket in entries(expected)}
    for place in sorted(made.keys() | wanted.keys()):
        if made.get(place) != wanted.get(place):
            yield f"the index {place} holds {made.get(place)}, but the objects say {wanted.get(place)}"


def _log(shelf: Shelf) -> Iterator[str]:
    revisions = [shelf.log.floor, *(event.revision for event in shelf.log)]
    if any(later <= earlier for earlier, later in pairwise(revisions)):
        yield f"the log is not in order: floor and revisions are {revisions}"
    if len(shelf.log) > shelf.log.keep:
        yield f"{len(shelf.log)} events are kept, more than {shelf.log.keep}"


def _history(shelf: Shelf) -> Iterator[str]:
    """The log leads from a state at its floor to the newest one, without a gap for any object."""
    states: dict[str, Record | None] = dict(shelf.objects)
    for event in reversed(list(shelf.log)):
        key, after = event.record.key, None if event.type is EventType.DELETED else event.record
        if states.get(key) is not after:
            yield f"{event.type} of {key} at {event.revision} does not lead to the state that follows"
        if not _is_possible(event):
            yield f"{event.type} of {key} at {event.revision} does not follow from its previous state"
        states[key] = event.previous
    late = [record.key for record in states.values() if record is not None and record.revision > shelf.log.floor]
    if late:
        yield f"changes of {late} after the floor {shelf.log.floor} are not in the log"


def _is_possible(event: Event) -> bool:
    record, previous = event.record, event.previous
    match event.type:
        case EventType.ADDED:
            return previous is None and record.created == record.revision
        case EventType.MODIFIED:
            return previous is not None and previous.created == record.created
        case EventType.DELETED:
            return previous is not None and record == restamped(previous, record.revision)
