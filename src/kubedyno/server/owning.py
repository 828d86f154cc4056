"""Who owns which fields after a write: `metadata.managedFields`, kept true by every create, update and apply."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec, fieldsets, meta, ownership
from kubedyno.kube.codec import Object
from kubedyno.kube.fieldsets import FieldSet
from kubedyno.kube.ownership import Owned, Owner
from kubedyno.kube.typed import compare, field_set
from kubedyno.server.catalogue import Kind

_KUBECTL = "kubectl"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_BEFORE_FIRST_APPLY = "before-first-apply"


def _ignored(kind: Kind, subresource: str) -> FieldSet:
    """The fields that an endpoint does not write, with all below them."""
    return frozenset(tuple(map(fieldsets.field, path)) for path in kind.unwritten(subresource))


def own_created(kind: Kind, obj: Object, *, manager: str, now: str) -> None:
    """Enter the creator as the owner of all that it set."""
    by = Owner(manager=manager, operation="Update", api_version=kind.resource.api_version)
    given = _given(obj, {})
    if given is None:
        obj["metadata"].pop("managedFields", None)
        return
    ignored, empty = _ignored(kind, ""), kind.empty()
    try:
        if given:
            owners = ownership.read(given)
            after = ownership.after_update(empty, obj, owners, by=by, view=kind.view, now=now, ignored=ignored)
            entries = ownership.write(after)
        else:
            entries = ownership.entry_of_creation(obj, empty, by=by, view=kind.view, now=now, ignored=ignored)
    except UsageError:
        entries = []  # an object that cannot be taken apart has no owners; what is wrong with it, others tell
    _enter(obj, entries)


def own_updated(kind: Kind, new: Object, old: Object, *, manager: str, subresource: str, now: str) -> None:
    """Enter an updater as the owner of what it changed."""
    given = _given(new, old)
    if not given:
        # Of an object that has none the server keeps no owners, until it is applied.
        new["metadata"].pop("managedFields", None)
        return
    by = Owner(manager=manager, operation="Update", api_version=kind.resource.api_version, subresource=subresource)
    ignored = _ignored(kind, subresource)
    try:
        after = ownership.entries_after_update(old, new, given, by=by, view=kind.view, now=now, ignored=ignored)
    except UsageError:
        after = []
    _enter(new, after)


def has_owner(obj: Object, path: Sequence[str]) -> bool:
    """Whether anybody owns the field at a path: a Scale whose replicas nobody owns is not followed."""
    for entry in obj["metadata"].get("managedFields") or ():
        tree = entry.get("fieldsV1") or {}
        for name in path:
            tree = tree.get(f"f:{name}") if tree is not None else None
        if tree is not None:
            return True
    return False


def applied(
    kind: Kind, config: Object, old: Object | None, *, manager: str, subresource: str, force: bool, now: str
) -> Object:
    """The object after a server-side apply, with its owners; raises `ownership.FieldConflict`."""
    live = old or {}
    owners = ownership.read((live.get("metadata") or {}).get("managedFields") or ())
    ignored = _ignored(kind, subresource)
    if old is not None and not owners:
        # What nobody owns so far could never be removed by an apply: it gets an owner that can be told apart.
        nobody = Owner(manager=_BEFORE_FIRST_APPLY, operation="Update", api_version=kind.resource.api_version)
        owners = ownership.after_update(
            kind.empty(),
            live,
            (),
            by=nobody,
            view=kind.view,
            now=live["metadata"].get("creationTimestamp", now),
            ignored=ignored,
        )
    by = Owner(manager=manager, operation="Apply", api_version=kind.resource.api_version, subresource=subresource)
    apply = functools.partial(ownership.apply, live, config, owners, by=by, view=kind.view, now=now, ignored=ignored)
    try:
        merged, after = apply(force=force)
    except ownership.FieldConflict as conflict:
        left = _left_by_last_applied(kind, live, conflict) if manager == _KUBECTL else conflict.owners
        if left:
            raise ownership.FieldConflict(left) from None
        merged, after = apply(force=True)
    if manager == _KUBECTL and _last_applied(live) is not None:
        merged = _with_last_applied(merged, config)
    metadata = merged["metadata"] = dict(merged.get("metadata") or {})
    metadata["managedFields"] = ownership.write(after)
    return merged


def differs_at_most_in_times(new: Object, old: Object) -> bool:
    """Whether a write changed nothing, or only when fields were written: such a write is none.

    An apply that takes a field away and gets it back as a default is one.
    """
    if new.keys() != old.keys() or any(new[name] != old[name] for name in new if name != "metadata"):
        return False
    metadata, before = new["metadata"], old["metadata"]
    if metadata.keys() != before.keys():
        return False
    if any(metadata[name] != before[name] for name in metadata if name != "managedFields"):
        return False
    entries, former = metadata.get("managedFields") or [], before.get("managedFields") or []
    return [{**entry, "time": ""} for entry in entries] == [{**entry, "time": ""} for entry in former]


def _last_applied(live: Object) -> Object | None:
    """What kubectl applied last by itself, from the annotation that it keeps."""
    written = meta.annotations(live).get(_LAST_APPLIED)
    try:
        return codec.decode(written.encode()) if written else None
    except ValueError:
        return None


def _left_by_last_applied(kind: Kind, live: Object, conflict: ownership.FieldConflict) -> list[Owned]:
    """The conflicts that are none of kubectl's own making.

    Who changes from client-side to server-side apply would conflict with himself: what kubectl applied before, and
    nobody has changed since, is his.
    """
    before = _last_applied(live)
    if before is None:
        return list(conflict.owners)
    changed = compare(before, live, kind.view).modified
    own = field_set(before, kind.view) - changed
    left = [msgspec.structs.replace(owned, fields=owned.fields - own) for owned in conflict.owners]
    return [owned for owned in left if owned.fields]


def _with_last_applied(merged: Object, config: Object) -> Object:
    """The object with the annotation telling what was applied now, so that client-side apply can go on from there."""
    metadata = dict(config.get("metadata") or {})
    annotations = {name: text for name, text in (metadata.get("annotations") or {}).items() if name != _LAST_APPLIED}
    metadata.pop("annotations", None)
    told = {**config, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}
    text = msgspec.json.Encoder(order="deterministic").encode(told).decode() + "\n"
    above = merged["metadata"]
    return {**merged, "metadata": {**above, "annotations": {**(above.get("annotations") or {}), _LAST_APPLIED: text}}}


def _given(new: Object, old: Object) -> list[Object] | None:
    """The entries before a write: those that its object names, else those of the state before.

    None when it asks to forget all owners, by a list with one empty entry.
    """
    said: Any = (new.get("metadata") or {}).get("managedFields")
    if said == [{}]:
        return None
    return said or (old.get("metadata") or {}).get("managedFields") or []


def _enter(obj: Object, entries: Sequence[Mapping[str, Any]]) -> None:
    if entries:
        obj["metadata"]["managedFields"] = list(entries)
    else:
        obj["metadata"].pop("managedFields", None)
