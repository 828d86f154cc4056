"""Which objects have a label, an owner or a field text, without looking at the others.

A bucket holds the keys of the objects with one value. Most values of a busy cluster belong to one object (the labels
that name a job of one pod, the host name of a node), and a set takes 216 bytes however few it holds: a bucket of one
is the key itself.
"""

from collections.abc import Collection, Iterable, Iterator

from kubedyno.store.records import Record

Bucket = str | set[str]
Buckets = dict[str, Bucket]
"""Bucket by value; no bucket is empty."""


class Indexes:
    """The newest records of one resource by owner, by field, and by those labels that somebody selects by.

    Namespaces need none: the order of the keys keeps each of them together. Of the labels that pods and nodes carry
    few are ever selected by, so the index of a label is made when it is first asked for, and kept from then on.
    """

    def __init__(self, positions: Iterable[int]) -> None:
        self.labels: dict[str, Buckets] = {}
        self.owners: Buckets = {}
        self.fields: dict[int, Buckets] = {position: {} for position in positions}

    def label(self, name: str, records: Iterable[Record]) -> Buckets:
        """The index of a label, of which `records` are all objects there are."""
        buckets = self.labels.get(name)
        if buckets is None:
            buckets = self.labels[name] = {}
            for record in records:
                _move(buckets, None, record.labels.get(name), record.key)
        return buckets

    def add(self, record: Record) -> None:
        """Enter an object that is new."""
        key = record.key
        for name, buckets in self.labels.items():
            _move(buckets, None, record.labels.get(name), key)
        for uid in record.owners:
            _enter(self.owners, uid, key)
        for position, buckets in self.fields.items():
            _enter(buckets, record.fields[position], key)

    def remove(self, record: Record) -> None:
        """Take out an object with the values it was entered with."""
        key = record.key
        for name, buckets in self.labels.items():
            _move(buckets, record.labels.get(name), None, key)
        for uid in record.owners:
            _move(self.owners, uid, None, key)
        for position, buckets in self.fields.items():
            _move(buckets, record.fields[position], None, key)

    def change(self, previous: Record, record: Record) -> None:
        """Move an object from its previous values to its new ones; those that stayed are not touched."""
        key = record.key
        if record.labels is not previous.labels:
            for name, buckets in self.labels.items():
                _move(buckets, previous.labels.get(name), record.labels.get(name), key)
        if record.owners is not previous.owners:
            for uid in previous.owners:
                _move(self.owners, uid, None, key)
            for uid in record.owners:
                _enter(self.owners, uid, key)
        if record.fields is not previous.fields:
            for position, buckets in self.fields.items():
                _move(buckets, previous.fields[position], record.fields[position], key)


def keys_in(bucket: Bucket | None) -> Collection[str]:
    """The keys of a bucket; None is the one that is not there. Not a copy."""
    if bucket is None:
        return ()
    return (bucket,) if isinstance(bucket, str) else bucket


def entries(indexes: Indexes) -> Iterator[tuple[str, str, Bucket]]:
    """Every bucket, with the index and the value it belongs to."""
    named = [(f"label {name}", buckets) for name, buckets in indexes.labels.items()]
    named += [("owner", indexes.owners)]
    named += [(f"field {position}", buckets) for position, buckets in indexes.fields.items()]
    for index, buckets in named:
        for value, bucket in buckets.items():
            yield index, value, bucket


def _move(buckets: Buckets, old: str | None, new: str | None, key: str) -> None:
    """Take a key from the bucket of one value to that of another; None is no value."""
    if old == new:
        return
    if old is not None:
        bucket = buckets[old]
        if isinstance(bucket, str):
            del buckets[old]
        else:
            bucket.remove(key)
            if len(bucket) == 1:
                buckets[old] = bucket.pop()
    if new is not None:
        _enter(buckets, new, key)


def _enter(buckets: Buckets, value: str, key: str) -> None:
    bucket = buckets.get(value)
    if bucket is None:
        buckets[value] = key
    elif isinstance(bucket, str):
        buckets[value] = {bucket, key}
    else:
        bucket.add(key)
