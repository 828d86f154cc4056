"""Patches of one shape are worked out once, and new states that tell another status.

Thousands of pods are told by their kubelets that they run, thousands of nodes that they are ready: always the same
change to the same state, but for times, addresses and identities (`leaves`). What the server made of such a patch the
long way is remembered, and the next object of that shape gets it as bytes. It must have come out alike twice before it
is believed.

What a patch changes depends on the object's owners, its spec and status, and the patch; on its labels and most of its
annotations it does not, because these stay as they are and have been checked when they came. Of labels that a patch
sets it matters whether the object has them, and says the same.
"""

import functools
import re
from collections.abc import Callable, Mapping
from sys import intern
from typing import Final

import msgspec

from kubedyno.kube import codec
from kubedyno.kube.resources import JOBS, NAMESPACES, NODES, PODS
from kubedyno.server import cutting, leaves, patterns, spelling
from kubedyno.server.cutting import Parts, cut
from kubedyno.server.leaves import Frame, Leaves
from kubedyno.server.memory import Memory
from kubedyno.server.messages import JSON, Request
from kubedyno.server.options import WriteOptions
from kubedyno.server.routing import Route
from kubedyno.server.stamping import Stamps
from kubedyno.store.errors import NotFound
from kubedyno.store.records import Record
from kubedyno.store.store import Store

_LABELS_HEAD: Final = b'"labels":'
_NODE_NAME: Final = b'"nodeName":"'
_TOKEN_VOLUME: Final = re.compile(rb"kube-api-access-[a-z0-9]{5}\b")
_OF_PATCHES: Final = frozenset({"kind", "apiVersion", "metadata", "status"})
_OF_METADATA: Final = frozenset({"uid", "resourceVersion"})
_OF_ITS_PODS: Final = frozenset({"template", "selector"})


def _pod_spec_key(spec: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """What the status of a pod depends on in its spec: not on which node it is; and the leaves in it."""
    at = spec.find(_NODE_NAME) + len(_NODE_NAME)
    if at < len(_NODE_NAME):
        return _shape_of_spec(spec)
    return _shape_of_spec(spec[:at] + spec[spec.index(b'"', at) :])


@functools.lru_cache(maxsize=1024)
def _shape_of_spec(spec: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    apart = patterns.taken_apart(spec)
    shape = _TOKEN_VOLUME.sub(b"kube-api-access", spec if apart is None else apart[0])
    return shape, tuple(dict.fromkeys(leaves.taken_apart(shape, leaves.OF_PODS)[1]))


def _node_spec_key(spec: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """What the status of a node depends on in its spec: on none of its addresses and identities."""
    frame, found = leaves.taken_apart(spec, leaves.OF_NODES)
    return b'"'.join(frame), tuple(found)


def _job_spec_key(spec: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """What the status of a Job depends on in its spec: not on its pods, nor on how they are found."""
    rest = [(name, value) for name, value in spelling.members(spec).items() if name not in _OF_ITS_PODS]
    return b",".join([b'"%b":%b' % (name.encode(), value) for name, value in rest]), ()


class _Written(msgspec.Struct, frozen=True):
    """An endpoint that is written often."""

    head: bytes
    """How all objects of its kind begin."""
    leaves: re.Pattern[bytes]
    spec_key: Callable[[bytes], tuple[bytes, tuple[bytes, ...]]]
    """What of a spec matters, and leaves in it that others may equal."""
    writes_spec: bool
    settled: tuple[bytes, ...] = ()
    """Members whose values have rules of their own: who sets them goes the long way."""


_POD: Final = b'{"kind":"Pod","apiVersion":"v1","metadata":'
_NODE: Final = b'{"kind":"Node","apiVersion":"v1","metadata":'
_JOB: Final = b'{"kind":"Job","apiVersion":"batch/v1","metadata":'
_OF_NODE: Final = (b'"podCIDR', b'"providerID"', b'"config')
_KINDS: Final = {
    (PODS, "status"): _Written(_POD, leaves.OF_PODS, _pod_spec_key, writes_spec=False),
    (NODES, "status"): _Written(_NODE, leaves.OF_NODES, _node_spec_key, writes_spec=False, settled=_OF_NODE),
    (NODES, ""): _Written(_NODE, leaves.OF_NODES, lambda _spec: (b"", ()), writes_spec=True, settled=_OF_NODE),
}
_REPLACED: Final = {(JOBS, "status"): _Written(_JOB, leaves.OF_PODS, _job_spec_key, writes_spec=False)}
"""What is told as a whole, by PUT: as controllers do."""
_WHOLE: Final = "whole"
_UID_CHARS: Final = 36
_UIDS_AT_MOST: Final = 2
"""Its own, and one of a pod."""
_MEDIA: Final = frozenset({"application/strategic-merge-patch+json", "application/merge-patch+json"})


class _LabelsPatch(msgspec.Struct):
    labels: dict[str, str]


class _Labelling(msgspec.Struct):
    """A patch that sets labels."""

    metadata: _LabelsPatch


_labellings = msgspec.json.Decoder(_Labelling)
_texts_by_name = msgspec.json.Decoder(dict[str, str])


class _Labels(msgspec.Struct, frozen=True):
    """The labels after a patch."""

    after: dict[str, str]
    change: tuple[bool | None, ...]
    """Of each that the patch sets, whether it changes; None: it is new."""


class Asked(msgspec.Struct, frozen=True):
    """A patch of a record, taken apart."""

    resource: str
    record: Record
    body: bytes
    """The patch; empty where the whole new state was told."""
    parts: Parts
    labels: _Labels | None
    """None: the patch sets none."""
    leaves: Leaves
    key: tuple[object, ...]
    frame: Frame
    written: _Written
    now: str


class _Outcome(msgspec.Struct, frozen=True):
    """What a shape becomes; without a template it stays what it is. Numbers are places among the distinct leaves."""

    template: bytes = b""
    holes: tuple[int, ...] = ()
    keeps_spec: bool = True
    fields: tuple[str | int | None, ...] = ()
    """Texts that the new state is selected by; None: the one before."""


class Rewrites:
    """The memory of one server."""

    def __init__(self, store: Store, stamps: Stamps) -> None:
        self._store = store
        self._stamps = stamps
        self._memory: Memory[_Outcome] = Memory()

    def asked(self, route: Route, record: Record, media: str, body: bytes, options: WriteOptions) -> Asked | None:
        """A patch as it can be looked up; None: it is of a kind that goes the long way."""
        written = _KINDS.get((route.kind.resource, route.subresource))
        if written is None or media not in _MEDIA or options.dry_run:
            return None
        told = leaves.without_version(body, record.revision)
        if told is None or leaves.is_respelled(body) or any(one in body for one in written.settled):
            return None
        if route.namespace and not self._has_namespace(route.namespace):
            return None
        parts = cut(record, written.head)
        if parts is None:
            return None
        labels = None
        if _LABELS_HEAD in body:
            labels = _labelled(body, parts) if written.writes_spec else None
            if labels is None:
                return None
        return self._asked(
            route, record, (media, told), parts=parts, options=options, written=written, body=body, labels=labels
        )

    def replaced(self, route: Route, request: Request, options: WriteOptions) -> Asked | None:
        """A new state whose status alone is another one, as it can be looked up; None: it goes the long way."""
        written = _REPLACED.get((route.kind.resource, route.subresource))
        if written is None or request.content_type != JSON or options.dry_run:
            return None
        try:
            self._store.get(NAMESPACES.full_name, "", route.namespace)
            record = self._store.get(route.kind.stored.full_name, route.namespace, route.name)
        except NotFound:
            return None
        parts, told = cut(record, written.head), cutting.status_told(request.body, record)
        if parts is None or told is None or leaves.is_respelled(told[0]):
            return None
        asked = self._asked(
            route, record, (f"{_WHOLE} {told[1]}", told[0]), parts=parts, options=options, written=written
        )
        # Owned items of sets are in their own order, which uids have none of.
        return asked if sum(len(leaf) == _UID_CHARS for leaf in asked.leaves.distinct) <= _UIDS_AT_MOST else None

    def _asked(
        self,
        route: Route,
        record: Record,
        said: tuple[str, bytes],
        *,
        parts: Parts,
        options: WriteOptions,
        written: _Written,
        body: bytes = b"",
        labels: _Labels | None = None,
    ) -> Asked:
        """How something is said, and what, together with all that its outcome depends on."""
        media, told = said
        spec, in_spec = written.spec_key(parts.spec)
        text = b"\n".join((parts.owners, parts.spec if written.writes_spec else b"", parts.status, told))
        frame, found = leaves.taken_apart(text, written.leaves)
        now = self._stamps.now()
        name = record.name.encode() if route.kind.resource == NODES else b""
        of_all = Leaves([*found, record.uid.encode(), now.encode(), *in_spec], name)
        key = (
            *(route.kind.resource.plural, route.subresource, media, options.manager, options.validation),
            *(spec, parts.marks, frame, of_all.alike, labels.change if labels else None),
        )
        return Asked(route.kind.stored.full_name, record, body, parts, labels, of_all, key, frame, written, now)

    def write(self, asked: Asked) -> Record | None:
        """Write what is known of such patches; None: nothing is."""
        outcome = self._memory.get(asked.key)
        if outcome is None:
            return None
        if not outcome.template:
            return asked.record
        parts = _rewritten(asked, outcome, self._store.revision + 1)
        if parts is None:
            return None
        labels = asked.labels.after if asked.labels else asked.record.labels
        return self._store.rewrite(asked.resource, asked.record, _texts(asked, outcome), parts.joined(), labels)

    def learn(self, asked: Asked, record: Record) -> None:
        """Remember what became of a patch the long way, without warnings."""
        if self._stamps.now() != asked.now or not _is_about_state(asked):
            return
        if asked.leaves.stand_in(b"\0".join(asked.frame)):
            return
        outcome = _Outcome() if record is asked.record else _outcome(asked, record, self._store)
        if outcome is not None:
            self._memory.learn(asked.key, outcome)

    def _has_namespace(self, name: str) -> bool:
        try:
            self._store.get(NAMESPACES.full_name, "", name)
        except NotFound:
            return False
        return True


def _rewritten(asked: Asked, outcome: _Outcome, revision: int) -> Parts | None:
    """The parts of the new state."""
    parts, distinct = asked.parts, asked.leaves.distinct
    texts = leaves.filled(outcome.template, [distinct[hole] for hole in outcome.holes]).split(b"\n")
    owners, status = texts[0], texts[-1]
    spec = parts.spec if outcome.keeps_spec else texts[1]
    version, new = b'"resourceVersion":"%d"' % asked.record.revision, b'"resourceVersion":"%d"' % revision
    around = _replaced((parts.before, parts.between), version, new)
    if asked.labels is not None and around is not None:
        labels = codec.encode(asked.labels.after)
        around = _replaced(around, _LABELS_HEAD + parts.labels, _LABELS_HEAD + labels)
    return None if around is None else Parts(around[0], owners, around[1], spec, status, b"", ())


def _replaced(texts: tuple[bytes, bytes], old: bytes, new: bytes) -> tuple[bytes, bytes] | None:
    """Two texts with another one in the place of `old`; None unless it stands there once."""
    if sum(text.count(old) for text in texts) != 1:
        return None
    return texts[0].replace(old, new), texts[1].replace(old, new)


def _labelled(body: bytes, parts: Parts) -> _Labels | None:
    """What a patch does to labels; None unless it sets some on an object that has some."""
    try:
        said, before = _labellings.decode(body).metadata.labels, _texts_by_name.decode(parts.labels)
    except ValueError:
        return None
    if codec.encode(before) != parts.labels:
        return None
    return _Labels({**before, **said}, tuple(before[name] != said[name] if name in before else None for name in said))


def _outcome(asked: Asked, record: Record, store: Store) -> _Outcome | None:
    """What can be said of all patches of the shape that change something; None: nothing."""
    after = cut(record, asked.written.head) if _is_kept(record, asked, store) else None
    if after is None:
        return None
    keeps_spec = after.spec == asked.parts.spec
    text = b"\n".join((after.owners, *(() if keeps_spec else (after.spec,)), after.status))
    frame, found = leaves.taken_apart(text, asked.written.leaves)
    places = asked.leaves.places
    if not all(leaf in places for leaf in found):
        return None
    fields = tuple(
        _field(name, text, places, ("status.",) if keeps_spec else ("status.", "spec."))
        for name, text in zip(store.shelves[asked.resource].schema.positions, record.fields, strict=True)
    )
    made = _Outcome(leaves.template(frame), tuple(map(places.__getitem__, found)), keeps_spec, fields)
    parts = _rewritten(asked, made, record.revision)
    fits = parts is not None and parts.joined() == record.data and _texts(asked, made) == record.fields
    return made if fits else None


def _is_kept(record: Record, asked: Asked, store: Store) -> bool:
    """Whether it is in the store: what was let go is answered, but not stored."""
    try:
        return store.get(asked.resource, record.namespace, record.name) is record
    except NotFound:
        return False


def _is_about_state(asked: Asked) -> bool:
    """Whether the patch names nothing beyond what is in the key: annotations and the like are not."""
    if not asked.body:
        return True
    patch = codec.decode(asked.body)
    metadata = patch.get("metadata", {})
    known = _OF_PATCHES | {"spec"} if asked.written.writes_spec else _OF_PATCHES
    of_metadata = _OF_METADATA if asked.labels is None else _OF_METADATA | {"labels"}
    return patch.keys() <= known and isinstance(metadata, dict) and metadata.keys() <= of_metadata


def _field(name: str, text: str, places: Mapping[bytes, int], written: tuple[str, ...]) -> str | int | None:
    """Where the text of a selectable field comes from."""
    return places.get(text.encode(), text) if name.startswith(written) else None


def _texts(asked: Asked, outcome: _Outcome) -> tuple[str, ...]:
    """What the new state is selected by."""
    distinct, before = asked.leaves.distinct, asked.record.fields
    return tuple(
        before[place] if text is None else intern(distinct[text].decode()) if isinstance(text, int) else text
        for place, text in enumerate(outcome.fields)
    )
