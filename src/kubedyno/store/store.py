"""The store: objects of all resources under one revision counter."""

from collections.abc import Callable, Mapping, Sequence
from sys import intern
from types import MappingProxyType

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.selectors import FieldSelector, LabelSelector
from kubedyno.store.errors import AlreadyExists, Conflict, Expired, NotFound, TooLarge
from kubedyno.store.indexing import keys_in
from kubedyno.store.listing import Page, read_page
from kubedyno.store.log import Event, EventType
from kubedyno.store.records import Field, Record, Schema, key_of, object_key, restamped
from kubedyno.store.selecting import Selection
from kubedyno.store.shelf import Shelf

_FIRST_REVISION = 1
"""That of an empty store, as in etcd: 0 has a meaning of its own in the API."""

_EVERYTHING = Selection()


class Store:
    """Objects by resource, namespace and name, with their history as far as it is kept.

    A resource is named by a text (`pods`, `jobs.batch`) and must be declared before use (else `KeyError`). Every
    write that succeeds takes the next revision; one that is refused changes nothing. Of each resource the newest
    `keep_events` events are kept; reads and watches that need older ones fail with `Expired`, while the newest state
    is always readable.

    It belongs to one thread, and hands out records and bytes without copying them.
    """

    def __init__(self, *, keep_events: int) -> None:
        if keep_events < 1:
            raise UsageError(f"keep_events is {keep_events}: a store needs at least one event per resource")
        self._keep_events = keep_events
        self._revision = _FIRST_REVISION
        self._compacted = _FIRST_REVISION
        self._shelves: dict[str, Shelf] = {}
        self._subscribers: dict[object, Callable[[str], None]] = {}

    @property
    def revision(self) -> int:
        """The revision of the last write: nothing that was read or watched so far is newer."""
        return self._revision

    @property
    def resources(self) -> tuple[str, ...]:
        """The declared resources."""
        return tuple(self._shelves)

    @property
    def shelves(self) -> Mapping[str, Shelf]:
        """What stands behind it, by resource: for `invariants`, to look at only."""
        return MappingProxyType(self._shelves)

    def declare(self, resource: str, fields: Sequence[Field] = (), *, starts_now: bool = False) -> None:
        """Make a resource known, with the fields its objects can be selected by.

        It was empty before; with `starts_now` it has no history before, which then is `Expired`.

        Declaring it again with the same fields does nothing; other ones are an error, because records are not made
        anew.
        """
        known = self._shelves.get(resource)
        if known is None:
            floor = self._revision if starts_now else self._compacted
            self._shelves[resource] = Shelf(resource, Schema(fields), keep=self._keep_events, floor=floor)
        elif known.schema.fields != tuple(fields):
            raise UsageError(f"{resource} is declared with other fields already: declare each resource once")

    def texts(self, resource: str, obj: Object) -> tuple[str, ...]:
        """What objects with these fields are selected by: to be given to `create` for many of them."""
        return self._shelves[resource].schema.texts(obj)

    def create(self, resource: str, obj: Object, texts: tuple[str, ...] | None = None) -> Record:
        """Store a new object. The store takes `obj` over and sets its `metadata.resourceVersion`.

        With `texts`, its selectable fields are not looked for, and its parts but `metadata` may be `msgspec.Raw`.
        """
        shelf = self._shelves[resource]
        key = key_of(obj, resource)
        existing = shelf.objects.get(key)
        if existing is not None:
            raise AlreadyExists(resource, existing)
        record = shelf.schema.record(obj, key, self._revision + 1, None, texts)
        self._commit(shelf, Event(EventType.ADDED, record, None))
        return record

    def add(self, resource: str, record: Record) -> None:
        """Store a new object whose record is made already, with the next revision."""
        shelf = self._shelves[resource]
        existing = shelf.objects.get(record.key)
        if existing is not None:
            raise AlreadyExists(resource, existing)
        self._commit(shelf, Event(EventType.ADDED, record, None))

    def replace(self, resource: str, obj: Object, *, revision: int | None = None, uid: str | None = None) -> Record:
        """Store a new state of an object, if it still has the given revision and uid. Takes `obj` over.

        An equal state is a write like others; the API server leaves it out before it asks its storage.
        """
        shelf = self._shelves[resource]
        existing = _expected(shelf, key_of(obj, resource), revision=revision, uid=uid)
        record = shelf.schema.record(obj, existing.key, self._revision + 1, existing)
        self._commit(shelf, Event(EventType.MODIFIED, record, existing))
        return record

    def rewrite(
        self, resource: str, existing: Record, fields: tuple[str, ...], data: bytes, labels: Mapping[str, str]
    ) -> Record:
        """Store a new state of an object as bytes, which carry the next revision.

        `existing` is its newest record; beside the bytes only labels and the texts of selectable fields may differ.
        """
        shelf = self._shelves[resource]
        shared = existing.fields if fields == existing.fields else fields
        labels = (
            existing.labels if labels == existing.labels else {intern(name): intern(labels[name]) for name in labels}
        )
        record = msgspec.structs.replace(existing, labels=labels, fields=shared, revision=self._revision + 1, data=data)
        self._commit(shelf, Event(EventType.MODIFIED, record, existing))
        return record

    def delete(
        self, resource: str, namespace: str, name: str, *, revision: int | None = None, uid: str | None = None
    ) -> Record:
        """Remove an object, if it still has the given revision and uid.

        Returns its last state, which as in Kubernetes carries the revision that the deletion took.
        """
        shelf = self._shelves[resource]
        existing = _expected(shelf, object_key(namespace, name), revision=revision, uid=uid)
        record = restamped(existing, self._revision + 1)
        self._commit(shelf, Event(EventType.DELETED, record, existing))
        return record

    def get(self, resource: str, namespace: str, name: str, *, revision: int | None = None) -> Record:
        """The object, as it is or as it was at a revision; `NotFound` when it did not exist then."""
        shelf = self._shelves[resource]
        if revision is not None:
            self._check(shelf, revision)
        key = object_key(namespace, name)
        record = shelf.state(key, revision)
        if record is None:
            raise NotFound(resource, key)
        return record

    def selection(
        self,
        resource: str,
        *,
        namespace: str = "",
        labels: LabelSelector | None = None,
        fields: FieldSelector | None = None,
    ) -> Selection:
        """What `page` and watches of the resource can be narrowed to; what is not given does not narrow."""
        schema = self._shelves[resource].schema
        return Selection.of(
            schema, resource, namespace=namespace, labels=labels or LabelSelector(), fields=fields or FieldSelector()
        )

    def page(
        self,
        resource: str,
        selection: Selection = _EVERYTHING,
        *,
        limit: int = 0,
        after: str = "",
        revision: int | None = None,
    ) -> Page:
        """The selected objects, ordered as `namespace/name`, at most `limit` of them (0: all).

        To go on, pass the page's `next` as `after` and its `revision`: the list is then of one moment although writes
        went on, for as long as the log reaches back to it.
        """
        shelf = self._shelves[resource]
        if revision is not None:
            self._check(shelf, revision)
        at = self._revision if revision is None else revision
        return read_page(shelf, selection, limit=limit, after=after, revision=at, current=self._revision)

    def dependents(self, resource: str, uid: str) -> list[Record]:
        """The objects of the resource that an owner reference binds to `uid`, ordered by key."""
        shelf = self._shelves[resource]
        return [shelf.objects[key] for key in sorted(keys_in(shelf.indexes.owners.get(uid)))]

    def events(self, resource: str, after: int) -> list[Event]:
        """What happened to the resource after a revision, in order.

        A watcher is a position: it asks after the revision of the last event it was given (or of the list it began
        with), narrows by `Selection.translated`, and may raise its position to the store's revision when it got all.
        """
        shelf = self._shelves[resource]
        self._check(shelf, after)
        return shelf.log.since(after)

    def on_change(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call `callback(resource)` after every write; what is returned ends that.

        The write is complete when it is called: it may read, and even write. Its exceptions do not undo the write nor
        keep it from other subscribers; the writer gets them, as a group, in the end.
        """
        subscription = object()
        self._subscribers[subscription] = callback

        def unsubscribe() -> None:
            self._subscribers.pop(subscription, None)

        return unsubscribe

    def compact(self, revision: int) -> None:
        """Forget, of all resources, what came before the state at `revision`; older ones are compacted already."""
        if revision > self._revision:
            raise TooLarge(revision=revision, current=self._revision)
        self._compacted = max(self._compacted, revision)
        for shelf in self._shelves.values():
            shelf.log.compact(revision)

    def _commit(self, shelf: Shelf, event: Event) -> None:
        self._revision += 1
        shelf.apply(event)
        if self._subscribers:
            self._tell(shelf.resource)

    def _tell(self, resource: str) -> None:
        failures: list[Exception] = []
        for callback in tuple(self._subscribers.values()):
            try:
                callback(resource)
            except Exception as error:  # noqa: BLE001 - raised below, when all know
                failures.append(error)
        if failures:
            raise ExceptionGroup(f"a write of {resource} is done, but subscribers failed", failures)

    def _check(self, shelf: Shelf, revision: int) -> None:
        """Whether the log reaches back to a revision that has happened."""
        if revision > self._revision:
            raise TooLarge(revision=revision, current=self._revision)
        if revision < shelf.log.floor:
            raise Expired(shelf.resource, revision=revision, oldest=shelf.log.floor)


def _expected(shelf: Shelf, key: str, *, revision: int | None, uid: str | None) -> Record:
    """The newest state of an object that is to be overwritten; an error when it is another than the writer expects."""
    record = shelf.objects.get(key)
    if record is None:
        raise NotFound(shelf.resource, key)
    if uid is not None and uid != record.uid:
        raise Conflict(shelf.resource, record, problem=f"has uid {record.uid!r}, not {uid!r}")
    if revision is not None and revision != record.revision:
        raise Conflict(shelf.resource, record, problem=f"is at revision {record.revision}, not {revision}")
    return record
