"""Lists, in pages: which keys to look at, which of them are selected, and how many are left."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Final

import msgspec

from kubedyno.kube.selectors import Operator
from kubedyno.store.indexing import Buckets, keys_in
from kubedyno.store.records import Record
from kubedyno.store.selecting import Selection
from kubedyno.store.shelf import Shelf

_SORTING_COSTS: Final = 4
"""Keys that can be walked in order in the time it takes to sort one out of a bucket and look it up."""


class Page(msgspec.Struct, frozen=True):
    """Part of a list, ordered by key."""

    items: tuple[Record, ...]
    revision: int
    """When it was read: following pages are to be asked for at this one."""
    next: str | None
    """The position from which the list goes on (`after` of the following page); None: this is its end.

    With selectors the following page may be empty, as in Kubernetes.
    """
    remaining: int | None
    """Items behind this page. None at the end, and with selectors: Kubernetes does not count these."""


class _Span(msgspec.Struct, frozen=True):
    """A range of keys, half open; a `stop` of None is the end."""

    start: str
    stop: str | None

    def holds(self, key: str) -> bool:
        return self.start <= key and (self.stop is None or key < self.stop)


def read_page(shelf: Shelf, selection: Selection, *, limit: int, after: str, revision: int, current: int) -> Page:
    """The selected objects behind the key `after` as they were at `revision`, at most `limit` (0: all).

    Costs what an index leaves to look at, and for an older revision what changed since. `revision` must be one that
    the log reaches back to.
    """
    changed = shelf.log.undone(revision) if revision < current else {}
    span = _span(selection, after)
    records = _states(shelf, _candidates(shelf, selection, span, changed), changed)
    if selection.has_selectors:
        records = filter(selection.matches, records)
    items = tuple(islice(records, limit or None))
    if not limit or len(items) < limit:
        return Page(items, revision, None, None)
    last = items[-1].key
    # etcd reads on without selectors: what is behind a full page may be none of the selected.
    behind = _count(shelf, _Span(_behind(last), span.stop), changed)
    if not behind:
        return Page(items, revision, None, None)
    return Page(items, revision, last, None if selection.has_selectors else behind)


def _behind(key: str) -> str:
    """The smallest key that is greater."""
    return f"{key}\0"


def _span(selection: Selection, after: str) -> _Span:
    start = _behind(after) if after else ""
    namespace = selection.range
    if not namespace:
        return _Span(start, None)
    # "0" is the character after "/".
    return _Span(max(start, f"{namespace}/"), f"{namespace}0")


def _candidates(shelf: Shelf, selection: Selection, span: _Span, changed: Mapping[str, Record | None]) -> Iterable[str]:
    """Keys within the span, in order, among them all that are selected."""
    indexed = _smallest(shelf, selection)
    # An index that leaves most of the objects is no gain: the keys are in order already, a bucket must be sorted.
    if indexed is not None and sum(map(len, indexed)) * _SORTING_COSTS < shelf.keys.count(span.start, span.stop):
        found = set(changed).union(*indexed)
        return sorted(filter(span.holds, found))
    walked = shelf.keys.walk(span.start, span.stop)
    # Those that are deleted by now. The others of `changed` are met on the way, or did not exist.
    deleted = [key for key in changed if key not in shelf.objects and span.holds(key)]
    return merge(walked, sorted(deleted)) if deleted else walked


def _smallest(shelf: Shelf, selection: Selection) -> list[Collection[str]] | None:
    """The buckets of the condition that leaves the fewest objects; None when no condition has an index."""
    choices = [
        [keys_in(shelf.indexes.fields[entry.position].get(entry.value))]
        for entry in selection.fields
        if not entry.negated and entry.position in shelf.indexes.fields
    ]
    choices += [[keys_in(_label(shelf, name).get(value))] for name, value in selection.labels]
    for entry in selection.requirements:
        if entry.operator is Operator.IN:
            choices.append([keys_in(_label(shelf, entry.key).get(value)) for value in entry.values])
        elif entry.operator is Operator.EXISTS:
            choices.append([keys_in(bucket) for bucket in _label(shelf, entry.key).values()])
    return min(choices, key=lambda buckets: sum(map(len, buckets)), default=None)


def _label(shelf: Shelf, name: str) -> Buckets:
    return shelf.indexes.label(name, shelf.objects.values())


def _states(shelf: Shelf, keys: Iterable[str], changed: Mapping[str, Record | None]) -> Iterator[Record]:
    """The records of the keys at the revision after which `changed` happened; those that did not exist are left out."""
    if not changed:
        return map(shelf.objects.__getitem__, keys)
    states = (changed[key] if key in changed else shelf.objects[key] for key in keys)
    return (record for record in states if record is not None)


def _count(shelf: Shelf, span: _Span, changed: Mapping[str, Record | None]) -> int:
    moved = ((record is not None) - (key in shelf.objects) for key, record in changed.items() if span.holds(key))
    return shelf.keys.count(span.start, span.stop) + sum(moved)
