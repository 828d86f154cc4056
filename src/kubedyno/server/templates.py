"""Pods of one template are read, defaulted, admitted and checked once.

What the server makes of a pod's spec depends on the spec and on a few other objects (service accounts, priority
classes, limits, quotas). It is remembered until one of these changes: by the very bytes of the spec, and by its pattern
for pods that differ in commands and variables. A pod whose metadata is out of the ordinary goes the long way, which
also finds the words for what is wrong with it.

The suffix of the projected token's volume is drawn once per template: it has to be unique within a pod only.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.kube import codec, fieldsets, ownership
from kubedyno.kube.codec import Object
from kubedyno.kube.ownership import Owner
from kubedyno.kube.resources import PODS, RESOURCE_QUOTAS
from kubedyno.kube.selectors import label_key_problem, label_value_problem
from kubedyno.kube.typed import view_of
from kubedyno.server import patterns
from kubedyno.server.stamping import BASE_CHARS, Stamps
from kubedyno.store.records import Record
from kubedyno.store.store import Store

_TEMPLATES_AT_MOST = 1000
_ANNOTATIONS_MAX_CHARS = 60_000
"""Far below the limit of bytes, whatever the characters."""

_DEPENDED_ON: Final = frozenset(
    {
        "serviceaccounts",
        "limitranges",
        "resourcequotas",
        "namespaces",
        "priorityclasses.scheduling.k8s.io",
        "podgroups.scheduling.k8s.io",
        "workloads.scheduling.k8s.io",
        "runtimeclasses.node.k8s.io",
    }
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A name that is good for everything a pod may be asked for; others are looked at closely."""

_UID = re.compile(r"[0-9a-f-]{1,64}")
_SOME_UID = "<uid>"
"""Stands for the uid of the owner, which each pod of another Job has another one of; in no name of a label."""

_PLAIN_DOMAINS = ("batch.kubernetes.io/",)


class _Reference(msgspec.Struct, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Metadata(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Metadata that can take the short way."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    creation_timestamp: None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Reference] | None = None
    finalizers: list[str] | None = None


class _Sent(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A pod as it came, its spec unread."""

    metadata: _Metadata
    spec: msgspec.Raw
    api_version: str = "v1"
    kind: str = "Pod"
    status: dict[str, None] | None = None


class _Template(msgspec.Struct, frozen=True, gc=False):
    """What the server made of a spec. Shared by all pods that have it: never changed."""

    spec: Object
    status: Object
    fields: msgspec.Raw
    """The part of `fieldsV1` below `f:spec`."""
    texts: tuple[str, ...]
    """What pods of the template are selected by."""
    encoded: msgspec.Raw | None = None
    """The JSON of the spec, where it is used as it is."""


_decoder = msgspec.json.Decoder(_Sent)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_lists_of_members = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


class Templates:
    """The memory of one server."""

    def __init__(self, store: Store, stamps: Stamps) -> None:
        self._store = store
        self._stamps = stamps
        self._known: dict[tuple[str, bytes], _Template] = {}
        self._patterns: dict[tuple[str, bytes], _Template] = {}
        store.on_change(self._changed)

    def _changed(self, resource: str) -> None:
        if resource in _DEPENDED_ON:
            self._known.clear()
            self._patterns.clear()

    def _find(self, namespace: str, spec: bytes) -> _Template | None:
        """What the server makes of a spec; None: that is not known."""
        known = self._known.get((namespace, spec))
        if known is not None or not self._patterns:
            return known
        apart = patterns.taken_apart(spec)
        if apart is None:
            return None
        like = self._patterns.get((namespace, apart[0]))
        if like is None:
            return None
        spec_of_this = patterns.put_together(like.spec, apart[1])
        return _Template(spec_of_this, like.status, like.fields, like.texts)

    def create(self, namespace: str, body: bytes, manager: str) -> Record | None:
        """Create a pod whose template is known; None: it has to go the long way. Raises what the store raises."""
        try:
            sent = _decoder.decode(body)
        except (ValueError, RecursionError):
            return None
        metadata = sent.metadata
        if not _is_ordinary(sent, namespace):
            return None
        template = self._find(namespace, bytes(sent.spec))
        if template is None or not _says_all_once(body, sent):
            return None
        stamps = self._stamps
        now = stamps.now()
        made: Object = {
            "name": metadata.name or stamps.new_name(metadata.generate_name),
            "namespace": namespace,
            "uid": stamps.new_uid(),
            "creationTimestamp": now,
            "generation": 1,
        }
        if metadata.generate_name:
            made["generateName"] = metadata.generate_name
        if metadata.labels:
            made["labels"] = metadata.labels
        if metadata.annotations:
            made["annotations"] = metadata.annotations
        if metadata.owner_references:
            made["ownerReferences"] = msgspec.to_builtins(metadata.owner_references)
        if metadata.finalizers:
            made["finalizers"] = metadata.finalizers
        made["managedFields"] = [
            {
                "manager": manager,
                "operation": "Update",
                "apiVersion": "v1",
                "time": now,
                "fieldsType": "FieldsV1",
                "fieldsV1": _fields(made, template.fields),
            }
        ]
        obj = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": made,
            "spec": template.spec if template.encoded is None else template.encoded,
            "status": template.status,
        }
        return self._store.create(PODS.full_name, obj, template.texts)

    def learn(self, namespace: str, body: bytes, created: bytes) -> None:
        """Remember what was made of the spec of a pod that was created the long way, without warnings."""
        try:
            sent = _decoder.decode(body)
        except (ValueError, RecursionError):
            return
        pod = codec.decode(created)
        metadata = pod["metadata"]
        added = (metadata.get("labels") or {}) != (sent.metadata.labels or {}) or (
            metadata.get("annotations") or {}
        ) != (sent.metadata.annotations or {})
        owners = metadata.get("managedFields") or []
        if added or "conditions" in pod["status"] or len(owners) != 1 or not _is_ordinary(sent, namespace):
            return
        if self._store.page(
            RESOURCE_QUOTAS.full_name, self._store.selection(RESOURCE_QUOTAS.full_name, namespace=namespace)
        ).items:
            return  # each pod has to be charged
        fields = msgspec.Raw(codec.encode(owners[0]["fieldsV1"]["f:spec"]))
        texts = self._store.texts(PODS.full_name, pod)
        encoded = msgspec.Raw(codec.encode(pod["spec"]))
        template, spec = _Template(pod["spec"], pod["status"], fields, texts, encoded), bytes(sent.spec)
        _remember(self._known, (namespace, spec), template)
        apart = patterns.taken_apart(spec)
        if apart is not None:
            _remember(self._patterns, (namespace, apart[0]), template)


def _remember(known: dict[tuple[str, bytes], _Template], key: tuple[str, bytes], template: _Template) -> None:
    if len(known) >= _TEMPLATES_AT_MOST:
        known.clear()
    known[key] = template


def _is_ordinary(sent: _Sent, namespace: str) -> bool:
    """Whether nothing about the metadata needs a closer look."""
    metadata = sent.metadata
    if (sent.kind, sent.api_version) != ("Pod", "v1") or sent.status:
        return False
    if metadata.namespace not in {"", namespace} or metadata.finalizers not in (None, [], _JOB_FINALIZERS):
        return False
    name = metadata.name or f"{metadata.generate_name}x"
    return (
        bool(_NAME.fullmatch(name))
        and len(metadata.generate_name) <= BASE_CHARS
        and all(map(_is_good_label, (metadata.labels or {}).items()))
        and _are_plain(metadata.annotations or {})
        and _are_good_owners(metadata.owner_references or ())
    )


def _says_all_once(body: bytes, sent: _Sent) -> bool:
    """Whether no name stands twice outside of the spec: of such the server warns."""
    members = _members.decode(body)
    metadata = _members.decode(members["metadata"])
    references = _lists_of_members.decode(metadata["ownerReferences"]) if sent.metadata.owner_references else ()
    named = (members, metadata, sent.metadata.labels or (), sent.metadata.annotations or (), *references)
    return _count_of_names(body) - _count_of_names(bytes(sent.spec)) == sum(map(len, named))


def _count_of_names(text: bytes) -> int:
    """How many members the objects in a JSON text have, if no spaces are between names and colons."""
    return text.count(b'":') - text.count(b'\\":')


_JOB_FINALIZERS = ["batch.kubernetes.io/job-tracking"]


@functools.lru_cache(maxsize=65536)
def _is_good_label(label: tuple[str, str]) -> bool:
    key, value = label
    return label_key_problem(key) is None and is_good_value(value)


@functools.lru_cache(maxsize=65536)
def is_good_value(value: str) -> bool:
    """Whether a label may have it."""
    return label_value_problem(value) is None


def _are_plain(annotations: Mapping[str, str]) -> bool:
    """Annotations that mean nothing to the server: those of Kubernetes' own domains may."""
    size = sum(map(len, annotations.values())) if annotations else 0
    return size <= _ANNOTATIONS_MAX_CHARS and all(map(is_plain_key, annotations))


@functools.lru_cache(maxsize=4096)
def is_plain_key(key: str) -> bool:
    """Whether an annotation of that name means nothing to the server."""
    of_kubernetes = "kubernetes.io/" in key or "k8s.io/" in key
    return label_key_problem(key.lower()) is None and (not of_kubernetes or key.startswith(_PLAIN_DOMAINS))


def _are_good_owners(references: "list[_Reference] | tuple[()]") -> bool:
    if not references:
        return True
    whole = all(one.api_version and one.kind and one.name and one.uid for one in references)
    return len(references) == 1 and whole and references[0].kind != "Event"


def _fields(metadata: Object, of_spec: msgspec.Raw) -> dict[str, Any]:
    """`fieldsV1` of a new pod: that of its metadata depends on which names it has, not on their values."""
    owners = [one["uid"] for one in metadata.get("ownerReferences") or ()]
    uid = owners[0] if owners and _UID.fullmatch(owners[0]) else ""
    of_metadata = _metadata_fields(
        tuple(metadata.get("labels") or ()),
        tuple(metadata.get("annotations") or ()),
        (_SOME_UID,) if uid else tuple(owners),
        tuple(metadata.get("finalizers") or ()),
        is_generated="generateName" in metadata,
    )
    if uid and of_metadata is not None:
        of_metadata = msgspec.Raw(bytes(of_metadata).replace(_SOME_UID.encode(), uid.encode()))
    return {"f:spec": of_spec} if of_metadata is None else {"f:metadata": of_metadata, "f:spec": of_spec}


@functools.lru_cache(maxsize=4096)
def _metadata_fields(
    labels: tuple[str, ...],
    annotations: tuple[str, ...],
    owners: tuple[str, ...],
    finalizers: tuple[str, ...],
    *,
    is_generated: bool,
) -> msgspec.Raw | None:
    metadata: Object = {"name": "x"}
    if is_generated:
        metadata["generateName"] = "x"
    if labels:
        metadata["labels"] = dict.fromkeys(labels, "x")
    if annotations:
        metadata["annotations"] = dict.fromkeys(annotations, "x")
    if owners:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid} for uid in owners]
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    pod = {"metadata": metadata}
    nobody = Owner(manager="", operation="Update", api_version="v1")
    owned = ownership.after_update({"metadata": {}}, pod, (), by=nobody, view=view_of("v1", "Pod"), now="")
    found = fieldsets.to_fields_v1(owned[0].fields).get("f:metadata") if owned else None
    return None if found is None else msgspec.Raw(codec.encode(found))
