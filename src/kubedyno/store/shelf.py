"""Everything of one resource: the newest records, their order, their indexes, and the log of how they became so."""

from kubedyno.store.indexing import Indexes
from kubedyno.store.log import Event, EventType, Log
from kubedyno.store.ordering import SortedKeys
from kubedyno.store.records import NAME, Record, Schema


class Shelf:
    """The state of one resource. It changes by events only, so the log always explains it."""

    def __init__(self, resource: str, schema: Schema, *, keep: int, floor: int) -> None:
        self.resource = resource
        self.schema = schema
        self.objects: dict[str, Record] = {}
        self.keys = SortedKeys()
        self.indexes = Indexes((NAME, *schema.indexed))
        self.log = Log(keep=keep, floor=floor)

    def apply(self, event: Event) -> None:
        """Let the event happen."""
        record, previous = event.record, event.previous
        if previous is None:
            self.objects[record.key] = record
            self.keys.add(record.key)
            self.indexes.add(record)
        elif event.type is EventType.DELETED:
            del self.objects[record.key]
            self.keys.remove(record.key)
            self.indexes.remove(previous)
        else:
            self.objects[record.key] = record
            self.indexes.change(previous, record)
        self.log.append(event)

    def state(self, key: str, revision: int | None) -> Record | None:
        """The object at a revision that the log reaches back to, None the newest; None where it did not exist."""
        record = self.objects.get(key)
        if revision is None or (record is not None and record.revision <= revision):
            return record
        return self.log.undone(revision).get(key, record)
