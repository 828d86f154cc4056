"""New objects of one shape are worked out once.

The nodes of a pool differ in names, addresses and identities, and in what their labels and annotations say; their
leases and the events about them in less. What the server made of such an object the long way is remembered (`memory`),
and the next one of that shape gets it as bytes. What differs is either a leaf (`leaves`), or a value of a label or of
an annotation: these are looked at one by one, and mean nothing to the rest. Of Jobs that holds for the labels and
annotations of their pods, too (`podtemplates`).
"""

import re
from collections.abc import Mapping
from sys import intern
from typing import Final

import msgspec

from kubedyno.kube import codec
from kubedyno.kube.resources import CORE_EVENTS, JOBS, LEASES, NAMESPACES, NODES, RESOURCE_QUOTAS, Resource
from kubedyno.server import leaves, podtemplates, spelling
from kubedyno.server.leaves import Leaves
from kubedyno.server.memory import Memory
from kubedyno.server.options import WriteOptions
from kubedyno.server.podtemplates import ANNOTATIONS_MAX_BYTES, NAME_MAX_CHARS, Taken
from kubedyno.server.routing import Route
from kubedyno.server.stamping import Stamps
from kubedyno.server.templates import is_good_value, is_plain_key
from kubedyno.store.errors import NotFound
from kubedyno.store.records import Record, object_key
from kubedyno.store.store import Store

_LEAVES: Final[Mapping[Resource, re.Pattern[bytes]]] = {
    NODES: leaves.OF_NODES,
    LEASES: leaves.OF_LEASES,
    CORE_EVENTS: leaves.OF_EVENTS,
    JOBS: leaves.OF_PODS,
}
"""The kinds that come in great numbers, but for pods (`templates`)."""
_NAME: Final = re.compile(rb'"((?!.{250})[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)"')
_OF_METADATA: Final = frozenset(
    {"name", "namespace", "labels", "annotations", "ownerReferences", "finalizers", "creationTimestamp"}
)
_APART: Final[tuple[str, ...]] = ("name", "labels", "annotations")
_MARKS: Final = (*_APART, "uid", "now", "version")
"""What stands in a template for something else than leaves."""
_ALONE: Final = (b'"f:podCIDRs":{".":{},"v:\\', b'"f:ownerReferences":{".":{},"k:{\\"uid\\":\\')
"""What stands in `fieldsV1` before the quote of the first leaf of a list."""
_INNER: Final = "inner"
"""Before the number of a value that was taken out of a pod template."""
_MARK: Final = re.compile(rb'"\\u0000([a-z]+[0-9]*)"')


class _Reference(msgspec.Struct):
    uid: str


_references: Final = msgspec.json.Decoder(list[_Reference])


class Asked(msgspec.Struct, frozen=True):
    """A new object, taken apart."""

    resource: str
    namespace: str
    name: str
    labels: dict[str, str]
    owners: tuple[str, ...]
    written: dict[str, bytes]
    """What is used as it was written: the JSON of `name`, `labels` and `annotations`."""
    pods: Taken | None
    """Of a Job: what its pods are told."""
    leaves: Leaves
    key: tuple[object, ...]
    frame: bytes
    pattern: re.Pattern[bytes]


class _Outcome(msgspec.Struct, frozen=True):
    """What objects of a shape become. Numbers are places among the distinct leaves, and behind them of the marks."""

    template: bytes
    holes: tuple[int, ...]
    fields: tuple[str | int, ...]
    """What they are selected by, beside name and namespace."""


class Newcomers:
    """The memory of one server."""

    def __init__(self, store: Store, stamps: Stamps) -> None:
        self._store = store
        self._stamps = stamps
        self._memory: Memory[_Outcome] = Memory()

    def asked(self, route: Route, body: bytes, options: WriteOptions) -> Asked | None:
        """A new object as it can be looked up; None: it is of a kind that goes the long way."""
        pattern = _LEAVES.get(route.kind.resource)
        if pattern is None or options.dry_run or route.subresource:
            return None
        try:
            return self._asked(route, body, options, pattern)
        except (ValueError, RecursionError, KeyError, NotFound):
            return None

    def _asked(self, route: Route, body: bytes, options: WriteOptions, pattern: re.Pattern[bytes]) -> Asked | None:
        sent = spelling.members(body.rstrip())
        metadata = spelling.members(bytes(sent.pop("metadata")))
        written = {name: bytes(metadata[name]) for name in _APART if name in metadata}
        name = _NAME.fullmatch(written["name"])
        if name is None or not metadata.keys() <= _OF_METADATA or not self._is_open(route):
            return None
        labels, annotations = spelling.texts(written.get("labels")), spelling.texts(written.get("annotations"))
        if not all(map(is_good_value, labels.values())) or len(written.get("annotations", b"")) > ANNOTATIONS_MAX_BYTES:
            return None
        pods = None
        if route.kind.resource == JOBS:
            if b"." in name[1] or len(name[1]) > NAME_MAX_CHARS:
                return None
            pods = podtemplates.taken_out(bytes(sent.pop("spec")))
        others = ((name, value) for name, value in metadata.items() if name not in _APART)
        members = (*others, *sent.items(), *(pods.rest if pods else ()))
        text = b"\n".join([b'"%b":%b' % (name.encode(), value) for name, value in members])
        if leaves.is_respelled(text):
            return None
        frame, found = leaves.taken_apart(text, pattern)
        of_all = Leaves(found, b"")
        marks = tuple((name, annotations[name]) for name in annotations if not is_plain_key(name))
        key = (
            *(route.kind.resource.plural, self._place(route), options.manager, options.validation),
            *(tuple(metadata), tuple(labels), tuple(annotations), marks, pods and pods.key, frame, of_all.alike),
        )
        references = metadata.get("ownerReferences")
        owners = tuple(intern(one.uid) for one in _references.decode(references)) if references is not None else ()
        return Asked(
            *(route.kind.stored.full_name, route.namespace, name[1].decode(), labels, owners, written),
            *(pods, of_all, key, b"\0".join(frame), pattern),
        )

    def _place(self, route: Route) -> object:
        """What stands for the namespace in the state that it is in."""
        if not route.kind.resource.namespaced:
            return None
        return route.namespace, self._store.get(NAMESPACES.full_name, "", route.namespace).revision

    def _is_open(self, route: Route) -> bool:
        """Whether nothing has to be charged for what comes."""
        if not route.namespace or route.kind.resource == CORE_EVENTS:
            return True
        quotas = RESOURCE_QUOTAS.full_name
        return not self._store.page(quotas, self._store.selection(quotas, namespace=route.namespace), limit=1).items

    def write(self, asked: Asked) -> Record | None:
        """Create what is known of such objects; None: nothing is. Raises what the store raises."""
        outcome = self._memory.get(asked.key)
        if outcome is None:
            return None
        made = _made(
            asked, outcome, uid=self._stamps.new_uid(), now=self._stamps.now(), revision=self._store.revision + 1
        )
        self._store.add(asked.resource, made)
        return made

    def learn(self, asked: Asked, record: Record) -> None:
        """Remember what became of an object the long way, without warnings."""
        if asked.leaves.stand_in(asked.frame) or len(asked.owners) > 1:
            return
        outcome = _outcome(asked, record)
        if outcome is not None:
            self._memory.learn(asked.key, outcome)


def _made(asked: Asked, outcome: _Outcome, *, uid: str, now: str, revision: int) -> Record:
    """The record of an object of a known shape."""
    distinct, written = asked.leaves.distinct, asked.written
    stamps = b'"%b"' % uid.encode(), b'"%b"' % now.encode(), b'"%d"' % revision
    filling = (
        *distinct,
        *(written.get(name, b"") for name in _APART),
        *stamps,
        *(asked.pods.values if asked.pods else ()),
    )
    texts = (distinct[text].decode() if isinstance(text, int) else text for text in outcome.fields)
    return Record(
        object_key(asked.namespace, asked.name),
        uid,
        {intern(name): intern(value) for name, value in asked.labels.items()},
        asked.owners,
        (asked.name, intern(asked.namespace), *map(intern, texts)),
        revision,
        revision,
        deleting=False,
        data=leaves.filled(outcome.template, map(filling.__getitem__, outcome.holes)),
    )


def _outcome(asked: Asked, record: Record) -> _Outcome | None:
    """What can be said of all objects of the shape; None: nothing."""
    obj = codec.decode(record.data)
    metadata, places = obj["metadata"], asked.leaves.places
    now, owners = metadata["creationTimestamp"], metadata.get("managedFields") or []
    if len(owners) != 1 or not _is_orderly(codec.encode(owners[0]["fieldsV1"]), asked.pattern):
        return None
    if asked.pods is not None:
        podtemplates.mark(obj, asked.pods, value=f"\0{_INNER}", name="\0name", uid="\0uid")
    owners[0]["time"] = metadata["creationTimestamp"] = "\0now"
    metadata |= {"uid": "\0uid", "resourceVersion": "\0version"}
    metadata |= {name: f"\0{name}" for name in _APART if name in metadata}
    pieces = _MARK.split(codec.encode(obj))
    templates, holes = [], list[int]()
    for text, mark in zip(pieces[::2], [*pieces[1::2], b""], strict=True):
        frame, found = leaves.taken_apart(text, asked.pattern)
        if not all(leaf in places for leaf in found):
            return None
        templates.append(leaves.template(frame))
        holes += map(places.__getitem__, found)
        if mark:
            holes.append(len(places) + _place_of(mark.decode()))
    fields = tuple(places.get(text.encode(), text) for text in record.fields[2:])
    made = _Outcome(b"%b".join(templates), tuple(holes), fields)
    return made if _made(asked, made, uid=record.uid, now=now, revision=record.revision) == record else None


def _place_of(mark: str) -> int:
    """The place of what a mark stands for, behind the leaves."""
    return len(_MARKS) + int(mark.removeprefix(_INNER)) if mark.startswith(_INNER) else _MARKS.index(mark)


def _is_orderly(fields: bytes, pattern: re.Pattern[bytes]) -> bool:
    """Whether the order of what is owned cannot depend on leaves: each is alone in a list of its own."""
    frame, _ = leaves.taken_apart(fields, pattern)
    return all(part.endswith(_ALONE) for part in frame[:-1])
