"""Who owns which fields after a write: `metadata.managedFields`, kept true by every create, update and apply."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubedyno.kit.errors import UsageError
from kubedyno.kube import fieldsets, ownership
from kubedyno.kube.codec import Object
from kubedyno.kube.fieldsets import FieldSet
from kubedyno.kube.ownership import Owner
from kubedyno.server.catalogue import Kind

_STATUS: Final[FieldSet] = frozenset([(fieldsets.field("status"),)])
_ALL_BUT_STATUS: Final[FieldSet] = frozenset([(fieldsets.field("spec"),)])
_NOTHING: Final[FieldSet] = frozenset()

_BEFORE_FIRST_APPLY = "before-first-apply"


def ignored_fields(kind: Kind, subresource: str) -> FieldSet:
    """The fields that an endpoint does not write, with all below them."""
    if "status" not in kind.resource.subresources:
        return _NOTHING
    return _ALL_BUT_STATUS if subresource == "status" else _STATUS


def own_created(kind: Kind, obj: Object, *, manager: str, now: str) -> None:
    """Enter the creator as the owner of all that it set."""
    by = Owner(manager=manager, operation="Update", api_version=kind.resource.api_version)
    given = _given(obj, {})
    if given is None:
        obj["metadata"].pop("managedFields", None)
        return
    ignored, owners = ignored_fields(kind, ""), ownership.read(given)
    try:
        after = ownership.after_update(kind.empty(), obj, owners, by=by, view=kind.view, now=now, ignored=ignored)
    except UsageError:
        after = ()  # an object that cannot be taken apart has no owners; what is wrong with it, others tell
    _enter(obj, ownership.write(after))


def own_updated(kind: Kind, new: Object, old: Object, *, manager: str, subresource: str, now: str) -> None:
    """Enter an updater as the owner of what it changed."""
    given = _given(new, old)
    if not given:
        # Of an object that has none the server keeps no owners, until it is applied.
        new["metadata"].pop("managedFields", None)
        return
    by = Owner(manager=manager, operation="Update", api_version=kind.resource.api_version, subresource=subresource)
    ignored = ignored_fields(kind, subresource)
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
    ignored = ignored_fields(kind, subresource)
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
    merged, after = ownership.apply(live, config, owners, by=by, force=force, view=kind.view, now=now, ignored=ignored)
    metadata = merged["metadata"] = dict(merged.get("metadata") or {})
    metadata["managedFields"] = ownership.write(after)
    return merged


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
