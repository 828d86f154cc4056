"""Updates of one shape are worked out once.

Each kubelet replaces its lease every ten seconds by one that says another time. What the server made of such an update
the long way is remembered (`memory`), and the next one of that shape gets it as bytes. All that is said in the state
before and in the new one is part of the shape, but for leaves (`leaves`).
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from kubedyno.kube.resources import LEASES, NAMESPACES, Resource
from kubedyno.server import leaves
from kubedyno.server.leaves import Leaves
from kubedyno.server.memory import Memory
from kubedyno.server.messages import JSON, Request
from kubedyno.server.options import WriteOptions
from kubedyno.server.routing import Route
from kubedyno.server.stamping import Stamps
from kubedyno.store.errors import NotFound
from kubedyno.store.records import Record
from kubedyno.store.store import Store

_LEAVES: Final[Mapping[Resource, re.Pattern[bytes]]] = {LEASES: leaves.OF_LEASES}
"""The kinds whose objects are replaced often."""
_TWO_OWNERS: Final = 2
_OF_OWNERS: Final = rb"k:{\"uid\":"


class Asked(msgspec.Struct, frozen=True):
    """A new state of a record, taken apart."""

    resource: str
    record: Record
    leaves: Leaves
    key: tuple[object, ...]
    frame: bytes
    pattern: re.Pattern[bytes]
    now: str


class _Outcome(msgspec.Struct, frozen=True):
    """What a shape becomes; without a template it stays what it is. Numbers are places among the distinct leaves."""

    template: bytes = b""
    holes: tuple[int, ...] = ()


class Renewals:
    """The memory of one server."""

    def __init__(self, store: Store, stamps: Stamps) -> None:
        self._store = store
        self._stamps = stamps
        self._memory: Memory[_Outcome] = Memory()

    def asked(self, route: Route, request: Request, options: WriteOptions) -> Asked | None:
        """An update as it can be looked up; None: it goes the long way."""
        pattern, body = _LEAVES.get(route.kind.resource), request.body
        if pattern is None or request.content_type != JSON or options.dry_run or route.subresource:
            return None
        if leaves.is_respelled(body):
            return None
        resource = route.kind.stored.full_name
        try:
            self._store.get(NAMESPACES.full_name, "", route.namespace)
            record = self._store.get(resource, route.namespace, route.name)
        except NotFound:
            return None
        told = leaves.without_version(body, record.revision)
        before = leaves.without_version(record.data, record.revision)
        if told is None or before is None or record.deleting or before.count(_OF_OWNERS) >= _TWO_OWNERS:
            return None
        frame, found = leaves.taken_apart(b"\n".join((before, told)), pattern)
        now = self._stamps.now()
        of_all = Leaves([*found, now.encode()], b"")
        key = (resource, route.namespace, options.manager, options.validation, frame, of_all.alike)
        return Asked(resource, record, of_all, key, b"\0".join(frame), pattern, now)

    def write(self, asked: Asked) -> Record | None:
        """Write what is known of such updates; None: nothing is."""
        outcome = self._memory.get(asked.key)
        if outcome is None:
            return None
        if not outcome.template:
            return asked.record
        record, data = asked.record, _data(asked, outcome, self._store.revision + 1)
        return self._store.rewrite(asked.resource, record, record.fields, data, record.labels)

    def learn(self, asked: Asked, record: Record) -> None:
        """Remember what became of an update the long way, without warnings."""
        if self._stamps.now() != asked.now or asked.leaves.stand_in(asked.frame):
            return
        outcome = _Outcome() if record is asked.record else _outcome(asked, record)
        if outcome is not None:
            self._memory.learn(asked.key, outcome)


def _data(asked: Asked, outcome: _Outcome, revision: int) -> bytes:
    """The JSON of the new state."""
    distinct = asked.leaves.distinct
    made = leaves.filled(outcome.template, (distinct[hole] for hole in outcome.holes))
    return made.replace(leaves.NO_VERSION, b'"resourceVersion":"%d"' % revision)


def _outcome(asked: Asked, record: Record) -> _Outcome | None:
    """What can be said of all updates of the shape that change something; None: nothing."""
    before, places = asked.record, asked.leaves.places
    # The store is told of new bytes only: all else that it knows of an object must stay.
    if (before.labels, before.owners, before.fields) != (record.labels, record.owners, record.fields):
        return None
    after = leaves.without_version(record.data, record.revision)
    if after is None or after.count(_OF_OWNERS) >= _TWO_OWNERS:
        return None
    frame, found = leaves.taken_apart(after, asked.pattern)
    if not all(leaf in places for leaf in found):
        return None
    made = _Outcome(leaves.template(frame), tuple(map(places.__getitem__, found)))
    return made if _data(asked, made, record.revision) == record.data else None
