"""The rules of `metadata`, which the objects of all kinds share."""

import functools
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubedyno.kinds.rules import names, texts
from kubedyno.kinds.rules.fields import annotation_problems, formatted, immutable, label_problems, nonnegative
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, required, too_long
from kubedyno.kube.resources import Resource

_STANDARD_FINALIZERS: Final = {"kubernetes", "orphan", "foregroundDeletion"}
_MANAGER_LIMIT: Final = 128
_SUBRESOURCE_LIMIT: Final = 256
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_KEPT: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
# A Go string that is not there is empty, a pointer is null.
_KEPT_TEXTS: Final = {"name", "namespace", "uid"}


def state_problems(obj: Object, resource: Resource) -> Iterator[Problem]:
    """What is wrong with the metadata of an object by the rules of its kind, whatever it was before."""
    metadata = obj.get("metadata") or {}
    if prefix := metadata.get("generateName"):
        yield from names.prefix_problems(resource, prefix)
    if name := metadata.get("name"):
        yield from names.name_problems(resource, name)
    else:
        yield required("metadata.name", "name or generateName is required")
    yield from _shared_problems(metadata, resource)


def generic_problems(obj: Object, resource: Resource) -> Iterator[Problem]:
    """The same as asked of every kind: the name need only fit into a URL."""
    metadata = obj.get("metadata") or {}
    if prefix := metadata.get("generateName"):
        yield from formatted(prefix, "metadata.generateName", texts.path_segment_prefix)
    if name := metadata.get("name"):
        yield from formatted(name, "metadata.name", texts.path_segment)
    else:
        yield required("metadata.name", "name or generateName is required")
    yield from _shared_problems(metadata, resource)


def change_problems(new: Object, old: Object) -> Iterator[Problem]:
    """What an update may not do to metadata."""
    metadata, before = new.get("metadata") or {}, old.get("metadata") or {}
    if before.get("deletionTimestamp") is not None:
        yield from _added_finalizer_problems(metadata.get("finalizers") or (), before.get("finalizers") or ())
    if not metadata.get("resourceVersion"):
        yield invalid("metadata.resourceVersion", "", "must be specified for an update")
    if metadata.get("generation", 0) < before.get("generation", 0):
        yield invalid("metadata.generation", metadata.get("generation", 0), "must not be decremented")
    for name in _KEPT:
        absent = "" if name in _KEPT_TEXTS else None
        yield from immutable(metadata.get(name, absent), before.get(name, absent), f"metadata.{name}")
    yield from label_problems(metadata.get("labels"), "metadata.labels")
    yield from annotation_problems(metadata.get("annotations"), "metadata.annotations")
    yield from owner_problems(metadata.get("ownerReferences") or (), "metadata.ownerReferences")
    yield from managed_fields_problems(metadata.get("managedFields") or (), "metadata.managedFields")


def finalizer_problems(obj: Object) -> Iterator[Problem]:
    """Finalizers without a domain must be Kubernetes' own; most built-in kinds ask for this, custom ones do not."""
    for index, finalizer in enumerate((obj.get("metadata") or {}).get("finalizers") or ()):
        yield from standard_finalizer_problems(finalizer, f"metadata.finalizers[{index}]")


def standard_finalizer_problems(finalizer: str, path: str) -> Iterator[Problem]:
    """One finalizer that has no domain and is none of Kubernetes' own."""
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        yield invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def owner_problems(owners: Sequence[Mapping[str, Any]], path: str) -> Iterator[Problem]:
    """Owners are told in full, events own nothing, and one owner at most is the controller."""
    controller = ""
    for owner in owners:
        yield from _owner_problems(owner, path)
        if owner.get("controller"):
            named = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {named}'
                )
                yield invalid(path, [_owner_shown(entry) for entry in owners], detail)
            else:
                controller = named


def managed_fields_problems(entries: Iterable[Mapping[str, Any]], path: str) -> Iterator[Problem]:
    """Entries that say who owns which fields."""
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]"
        if entry.get("operation") not in {"Apply", "Update"}:
            yield invalid(f"{at}.operation", entry.get("operation", ""), "must be `Apply` or `Update`")
        if entry.get("fieldsType", "") not in {"", "FieldsV1"}:
            yield invalid(f"{at}.fieldsType", entry["fieldsType"], "must be `FieldsV1`")
        yield from manager_problems(entry.get("manager", ""), f"{at}.manager")
        if texts.byte_length(entry.get("subresource", "")) > _SUBRESOURCE_LIMIT:
            yield too_long(f"{at}.subresource", _SUBRESOURCE_LIMIT)


def manager_problems(manager: str, path: str) -> Iterable[Problem]:
    """The name of a field manager: short and printable."""
    return () if _is_good_manager(manager) else _told_of_manager(manager, path)


@functools.lru_cache(maxsize=4096)
def _is_good_manager(manager: str) -> bool:
    return not list(_told_of_manager(manager, ""))


def _told_of_manager(manager: str, path: str) -> Iterator[Problem]:
    if texts.byte_length(manager) > _MANAGER_LIMIT:
        yield too_long(path, _MANAGER_LIMIT)
    position = 0
    for sign in manager:
        if not _is_printable(sign):
            yield invalid(path, manager, f"invalid character {_go_code_point(sign)} (at position {position})")
        position += len(sign.encode())


def _shared_problems(metadata: Mapping[str, Any], resource: Resource) -> Iterator[Problem]:
    namespace = metadata.get("namespace")
    if namespace and resource.namespaced:
        yield from formatted(namespace, "metadata.namespace", texts.dns1123_label)
    elif namespace:
        yield forbidden("metadata.namespace", "not allowed on this type")
    yield from nonnegative(metadata.get("generation"), "metadata.generation")
    yield from label_problems(metadata.get("labels"), "metadata.labels")
    yield from annotation_problems(metadata.get("annotations"), "metadata.annotations")
    yield from owner_problems(metadata.get("ownerReferences") or (), "metadata.ownerReferences")
    finalizers = metadata.get("finalizers") or ()
    for finalizer in finalizers:
        yield from formatted(finalizer, "metadata.finalizers", texts.label_key)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid("metadata.finalizers", finalizers, detail)
    yield from managed_fields_problems(metadata.get("managedFields") or (), "metadata.managedFields")


def _owner_problems(owner: Mapping[str, Any], path: str) -> Iterator[Problem]:
    group, _, version = owner.get("apiVersion", "").rpartition("/")
    if not version:
        yield invalid(f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty")
    for name in ("kind", "name", "uid"):
        if not owner.get(name):
            yield invalid(f"{path}.{name}", "", "must not be empty")
    if (group, version, owner.get("kind")) == ("", "v1", "Event"):
        yield invalid(path, _owner_shown(owner), "/v1, Kind=Event is disallowed from being an owner")


def _owner_shown(owner: Mapping[str, Any]) -> dict[str, Any]:
    texts_shown = {name: owner.get(name, "") for name in _OWNER_FIELDS[:4]}
    return texts_shown | {name: owner[name] for name in _OWNER_FIELDS[4:] if owner.get(name) is not None}


def _added_finalizer_problems(finalizers: Iterable[str], before: Iterable[str]) -> Iterator[Problem]:
    if added := sorted(set(finalizers) - set(before)):
        told = ", ".join(f'"{finalizer}"' for finalizer in added)
        detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
        yield forbidden("metadata.finalizers", f"{detail} []string{{{told}}}")


def _is_printable(sign: str) -> bool:
    return sign == " " or unicodedata.category(sign)[0] in "LMNPS"


def _go_code_point(sign: str) -> str:
    """`U+0009` as Go's `%#U` prints it; the sign itself only where it can be printed."""
    return f"U+{ord(sign):04X}"
