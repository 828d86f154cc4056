"""What the store keeps of an object: its JSON, encoded once, and a record of what is asked without decoding it."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from sys import intern
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object, decode, encode

NAME: Final = 0
"""Where `metadata.name` stands among the field texts of any record."""
NAMESPACE: Final = 1
"""Where `metadata.namespace` stands among the field texts of any record."""


class Field(msgspec.Struct, frozen=True):
    """A field by which the objects of a resource can be selected, besides `metadata.name` and `metadata.namespace`."""

    name: str
    """As field selectors write it: `spec.nodeName`."""
    path: str = ""
    """Dotted path of its value in the object; empty: the name is the path. `a|b` is `a`, or `b` where `a` is empty."""
    absent: str = ""
    """The text of an object that does not have it: Kubernetes reads `spec.unschedulable` from a typed default."""
    indexed: bool = True
    """Whether objects are found by it without looking at the others; costs memory and time with each write."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One state of one object. `data` is its JSON: every reader and every watcher gets these very bytes.

    Strings are shared between records where that can be. The struct holds no cycles, so the collector need not look
    at it: a hundred thousand of them cost no pauses.
    """

    key: str
    """`namespace/name`, for cluster-scoped objects `name`: how etcd orders the objects of a resource."""
    uid: str
    labels: Mapping[str, str]
    owners: tuple[str, ...]
    """The uids of its owner references, each once."""
    fields: tuple[str, ...]
    """The texts of its selectable fields, in the order of the resource's schema."""
    created: int
    """The revision of its creation."""
    revision: int
    """The revision of this state: `metadata.resourceVersion` in `data`."""
    deleting: bool
    """Whether `metadata.deletionTimestamp` is set."""
    data: bytes

    @property
    def namespace(self) -> str:
        """The namespace; the empty text for cluster-scoped objects."""
        return self.fields[NAMESPACE]

    @property
    def name(self) -> str:
        """The name within the namespace."""
        return self.fields[NAME]


class Schema:
    """How objects of one resource become records: which fields are read, and where their texts stand."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        names = ("metadata.name", "metadata.namespace", *(field.name for field in fields))
        if len(set(names)) != len(names):
            raise UsageError(f"a field is declared twice among {', '.join(names)}: declare each once")
        self.positions = {name: position for position, name in enumerate(names)}
        self.indexed = tuple(self.positions[field.name] for field in fields if field.indexed)
        self._sections = tuple(_sections(fields))

    def texts(self, obj: Object) -> tuple[str, ...]:
        """The texts of the declared fields, in their order."""
        return tuple(text for section, members in self._sections for text in section(obj, members))

    def record(
        self, obj: Object, key: str, revision: int, previous: Record | None, texts: tuple[str, ...] | None = None
    ) -> Record:
        """The state that `obj` has at `revision`; writes `metadata.resourceVersion` into `obj`, then encodes it.

        What equals the state before is shared with it: it saves memory, and tells the indexes that nothing moved.
        `texts` are those of the declared fields, where they are known already; parts of `obj` may then be encoded.
        """
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(revision)
        given = metadata.get("labels")
        # Label texts of one workload are the same in all its pods, but each decoded body brings its own copies.
        labels: Mapping[str, str] = {intern(name): intern(value) for name, value in given.items()} if given else {}
        references = metadata.get("ownerReferences")
        owners = _owners(references) if references else ()
        found = self.texts(obj) if texts is None else texts
        fields = (metadata["name"], intern(metadata.get("namespace") or ""), *found)
        created = revision
        if previous is not None:
            created = previous.created
            labels = previous.labels if labels == previous.labels else labels
            owners = previous.owners if owners == previous.owners else owners
            fields = previous.fields if fields == previous.fields else fields
        return Record(
            key,
            metadata.get("uid") or "",
            labels,
            owners,
            fields,
            created,
            revision,
            bool(metadata.get("deletionTimestamp")),
            encode(obj),
        )


def object_key(namespace: str, name: str) -> str:
    """The key of an object among those of its resource."""
    return f"{namespace}/{name}" if namespace else name


def key_of(obj: Object, resource: str) -> str:
    """The key of an object that is to be written; a usage error when its name cannot make one."""
    metadata = obj.get("metadata") or {}
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    # A slash would let two objects share a key, or put one into another namespace's range.
    if not name or "/" in name or "/" in namespace:
        raise UsageError(
            f"{resource} {object_key(namespace, name)!r} cannot be stored: metadata.name must be set, "
            "and neither it nor metadata.namespace may hold a slash"
        )
    return f"{namespace}/{name}" if namespace else name


def restamped(record: Record, revision: int) -> Record:
    """The same state with another revision, in the JSON too.

    Kubernetes sends the last state of what was deleted, or left a selection, with the revision at which that happened.
    """
    old = b'"resourceVersion":"%d"' % record.revision
    new = b'"resourceVersion":"%d"' % revision
    # Quotes within texts are escaped in JSON, so the pattern can only be a field. Where it stands once it is that of
    # metadata, which always matches; an object may hold references to others (or, by its author's will, to itself).
    if record.data.count(old) == 1:
        data = record.data.replace(old, new)
    else:
        obj = decode(record.data)
        obj["metadata"]["resourceVersion"] = str(revision)
        data = encode(obj)
    return msgspec.structs.replace(record, revision=revision, data=data)


def _owners(references: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    if len(references) == 1 and (uid := references[0].get("uid")):
        return (intern(uid),)
    uids = [intern(reference.get("uid") or "") for reference in references]
    return tuple(dict.fromkeys(filter(None, uids)))


_Members = tuple[tuple[str, str], ...]
"""Names, or whole paths, each with the text of an object that does not have it."""


def _sections(fields: Sequence[Field]) -> Iterator[tuple[Callable[[Object, _Members], list[str]], _Members]]:
    """The fields in their order, those of one part of the object together: it is looked up once for all of them."""
    paths = [(field.path or field.name, field.absent) for field in fields]
    for part, group in groupby(paths, lambda entry: _part(entry[0])):
        members = tuple(group)
        if part:
            own = tuple((path.partition(".")[2], absent) for path, absent in members)
            yield functools.partial(_texts_of_part, part), own
        else:
            yield _texts_of_paths, members


def _part(path: str) -> str:
    """The part of the object that has the field itself as a member; empty for fields that lie elsewhere."""
    names = path.split(".")
    return names[0] if len(names) == 2 and "|" not in path else ""  # noqa: PLR2004 - the part and its member


def _texts_of_part(part: str, obj: Object, members: _Members) -> list[str]:
    found = obj.get(part)
    if type(found) is not dict:
        return [absent for _, absent in members]
    get = found.get
    return [absent if (value := get(name)) is None else (_scalar_text(value) or absent) for name, absent in members]


def _texts_of_paths(obj: Object, members: _Members) -> list[str]:
    return [next(filter(None, (_text_at(obj, one) for one in path.split("|"))), absent) for path, absent in members]


def _text_at(obj: Object, path: str) -> str:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if type(value) is dict else None
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    """A value as field selectors see it; what is null or no scalar has no text."""
    if type(value) is str:
        return intern(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""
