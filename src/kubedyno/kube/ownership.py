"""Who owns which fields of an object: `metadata.managedFields`, and what apply and update do to it.

Both are pure: the object and the owners before, what is asked for, and the owners after. Times come in as text.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import fieldtrees
from kubedyno.kube.fieldsets import FieldSet, below_any, field, from_fields_v1, to_fields_v1
from kubedyno.kube.typed import View, compare, field_set, merge, remove, with_named_parents

Operation = Literal["Apply", "Update"]

# What the server sets or what names the object belongs to nobody.
_NOBODYS: FieldSet = frozenset(
    [
        (field("apiVersion"),),
        (field("kind"),),
        (field("metadata"),),
        *(
            (field("metadata"), field(name))
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    ]
)


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Who: a manager's applies are one owner whatever the version, its updates one for each version."""

    manager: str
    operation: Operation
    api_version: str
    subresource: str = ""


class Owned(msgspec.Struct, frozen=True, kw_only=True):
    """What an owner owns, and since when it has changed that."""

    owner: Owner
    fields: FieldSet
    time: str


class FieldConflict(UsageError):
    """Others own fields that an apply would change; the message is the API server's.

    `conflicts` are who, as the server calls them, and the field, one by one.
    """

    def __init__(self, owners: Iterable[Owned]) -> None:
        self.owners = tuple(owners)
        """The owners, each with the fields that are contested."""
        told = {_told(owned): sorted(map(words, owned.fields)) for owned in self.owners}
        self.conflicts = [(who, path) for who, paths in sorted(told.items()) for path in paths]
        if len(self.conflicts) == 1:
            who, path = self.conflicts[0]
            super().__init__(f"Apply failed with 1 conflict: conflict with {who}: {path}")
            return
        lines = [
            line
            for who, paths in sorted(told.items())
            for line in (f"conflicts with {who}:", *(f"- {path}" for path in paths))
        ]
        super().__init__(f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines))


def _told(owned: Owned) -> str:
    """An owner as conflicts name it."""
    owner = owned.owner
    said = f'"{owner.manager}"' + (f' with subresource "{owner.subresource}"' if owner.subresource else "")
    if owner.operation == "Apply":
        return said
    return f"{said} using {owner.api_version}"


def read(managed_fields: Iterable[Mapping[str, Any]]) -> tuple[Owned, ...]:
    """The owners that an object's `managedFields` name."""
    return tuple(
        Owned(
            owner=_owner(entry),
            fields=from_fields_v1(_tree(entry)),
            time=entry.get("time", ""),
        )
        for entry in managed_fields
    )


def _tree(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of an entry; what is no tree of names names none."""
    tree = entry.get("fieldsV1")
    return tree if isinstance(tree, dict) and _is_tree(tree) else {}


def _is_tree(node: Mapping[str, Any]) -> bool:
    return all(isinstance(below, dict) and _is_tree(below) for below in node.values())


def _owner(entry: Mapping[str, Any]) -> Owner:
    return Owner(
        manager=entry.get("manager", ""),
        operation=entry.get("operation", ""),
        api_version=entry.get("apiVersion", ""),
        subresource=entry.get("subresource", ""),
    )


def write(owners: Iterable[Owned]) -> list[dict[str, Any]]:
    """`managedFields` in the server's order: applies first, then by time, then by name."""
    ordered = sorted(owners, key=lambda one: (one.owner.operation, one.time, one.owner.manager))
    return [_entry(owned.owner, owned.time, to_fields_v1(owned.fields)) for owned in ordered]


def _entry(owner: Owner, time: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        **({"time": time} if time else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def after_update(
    live: Mapping[str, Any],
    new: Mapping[str, Any],
    owners: Iterable[Owned],
    *,
    by: Owner,
    view: View,
    now: str,
    ignored: FieldSet = frozenset(),
) -> tuple[Owned, ...]:
    """The owners after a create, update or patch: what it changed is its own.

    The `live` of a create is what the server prints of an empty object: what that has belongs to nobody.

    What it removed is nobody's.

    `ignored` are fields that the endpoint does not write (the main one: `status`), with all below them.
    """
    changed, lost = _touched(live, new, view, ignored)
    after = []
    for owned in owners:
        kept = owned.fields - lost
        if owned.owner == by and changed:
            continue
        if kept:
            after.append(msgspec.structs.replace(owned, fields=kept))
    if changed:
        before = next((owned.fields for owned in owners if owned.owner == by), frozenset())
        after.append(Owned(owner=by, fields=(before - lost) | changed, time=now))
    return tuple(after)


def entry_of_creation(
    new: Mapping[str, Any],
    empty: Mapping[str, Any],
    *,
    by: Owner,
    view: View,
    now: str,
    ignored: FieldSet = frozenset(),
) -> list[dict[str, Any]]:
    """`managedFields` of a new object: what `after_update` says of `empty` becoming it, written down in one pass."""
    # All objects have metadata, and nobody owns them as a whole.
    tree = _created(_bare(new), {"metadata": {}, **empty}, view, ())
    tree = {name: below for name, below in tree.items() if (name,) not in ignored}
    return [_entry(by, now, fieldtrees.ordered(tree))] if tree else []


def _created(new: Mapping[str, Any], empty: Mapping[str, Any], view: View, path: tuple[str, ...]) -> dict[str, Any]:
    """The tree of what an object has beyond the empty one, member by member as far as the latter goes."""
    tree: dict[str, Any] = {}
    for name, value in new.items():
        element = field(name)
        place = (*path, element)
        if name not in empty:
            if place not in _NOBODYS:
                tree[element] = _come(value, view.member(name))
            continue
        known, below = empty[name], view.member(name)
        if known == value or place in _NOBODYS - {(field("metadata"),)}:
            continue
        structure = below.structure(value)
        if structure == "leaf" or not (value or known):
            tree[element] = {}
            continue
        if structure == "members" and isinstance(known, dict):
            inner = _created(value, known, below, place)
        else:
            inner = {one: node for one, node in _come(value, below).items() if one != "."}
        if inner:
            tree[element] = inner
    return tree


def _come(value: Any, view: View) -> dict[str, Any]:
    """The tree of what was not there before."""
    structure = view.structure(value)
    if structure == "leaf" or not value:
        return {}
    tree: dict[str, Any] = {".": {}}
    if structure == "members":
        for name, below in value.items():
            tree[field(name)] = _come(below, view.member(name))
    else:
        inner = view.item
        for item in value:
            tree[view.element(item, "")] = _come(item, inner)
    return tree


def entries_after_update(
    live: Mapping[str, Any],
    new: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    *,
    by: Owner,
    view: View,
    now: str,
    ignored: FieldSet = frozenset(),
) -> list[Mapping[str, Any]]:
    """`managedFields` after an update or patch: what `after_update` says, without reading the owners into sets.

    An update changes few fields of an object whose owners own many: entries that it does not touch are kept as they
    are.
    """
    changed, lost = _touched(live, new, view, ignored)
    if not lost:
        return list(entries)
    after: list[Mapping[str, Any]] = []
    own: Mapping[str, Any] = {}
    for entry in entries:
        tree = fieldtrees.without(_tree(entry), lost)
        if changed and _owner(entry) == by:
            own = tree
        elif tree is entry.get("fieldsV1"):
            after.append(entry)
        elif tree:
            after.append({**entry, "fieldsV1": tree})
    if changed:
        after.append(_entry(by, now, fieldtrees.with_fields(own, sorted(changed))))
    return sorted(after, key=lambda one: (one.get("operation", ""), one.get("time", ""), one.get("manager", "")))


def _touched(
    live: Mapping[str, Any], new: Mapping[str, Any], view: View, ignored: FieldSet
) -> tuple[FieldSet, FieldSet]:
    """What a write makes its own, and what it takes from all others: that, and what it removed."""
    change = compare(_bare(live), _bare(new), view)
    changed = _ownable(change.modified | change.added, ignored)
    return changed, changed | _ownable(change.removed, ignored)


def apply(
    live: Mapping[str, Any],
    config: Mapping[str, Any],
    owners: Iterable[Owned],
    *,
    by: Owner,
    force: bool,
    view: View,
    now: str,
    ignored: FieldSet = frozenset(),
) -> tuple[dict[str, Any], tuple[Owned, ...]]:
    """The object after a server-side apply, and its owners.

    Fields that the manager applied before and does not apply now are removed, unless somebody else owns them.
    Changing what another owns is a `FieldConflict`, unless `force` takes it over.
    """
    others = [owned for owned in owners if not _same_applier(owned.owner, by)]
    former = next((owned for owned in owners if _same_applier(owned.owner, by)), None)
    wanted = _ownable(field_set(_bare(config), view), ignored)
    merged = merge(dict(live), _bare(config), view)
    if former is not None:
        merged = _pruned(merged, wanted, former.fields, others, view)
    change = compare(_bare(live), _bare(merged), view)
    changed = _ownable(change.modified | change.added, ignored)
    contested = [
        msgspec.structs.replace(owned, fields=owned.fields & changed) for owned in others if owned.fields & changed
    ]
    if contested and not force:
        raise FieldConflict(contested)
    lost = changed | change.removed
    after = [msgspec.structs.replace(owned, fields=owned.fields - lost) for owned in others if owned.fields - lost]
    if wanted:
        # An apply that changes nothing leaves no time, or the one of an earlier apply.
        before = former.time if former is not None else ""
        after.append(Owned(owner=by, fields=wanted, time=now if lost else before))
    return merged, tuple(after)


def _pruned(
    merged: dict[str, Any], wanted: FieldSet, former: FieldSet, others: list[Owned], view: View
) -> dict[str, Any]:
    """The merged object without what was applied before, is not applied now, and nobody else owns."""
    given_up = with_named_parents(former, view)
    without = remove(merged, given_up, view) or {}
    owned = wanted.union(*(other.fields for other in others))
    all_fields = with_named_parents(field_set(merged, view), view)
    left = with_named_parents(field_set(without, view), view)
    gone = all_fields - (left | with_named_parents(owned, view))
    found: dict[str, Any] = remove(merged, gone & given_up, view) or {}
    return found


def _same_applier(one: Owner, other: Owner) -> bool:
    return (one.manager, one.operation, one.subresource) == (other.manager, other.operation, other.subresource)


def _ownable(paths: FieldSet, ignored: FieldSet) -> FieldSet:
    return paths - _NOBODYS - below_any(paths, ignored) if ignored else paths - _NOBODYS


def _bare(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object without its `managedFields`, which belong to nobody and are large."""
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "managedFields"}
    return {**obj, **({"metadata": metadata} if "metadata" in obj else {})}


def words(path: tuple[str, ...]) -> str:
    """A path as the server's messages write it: `.spec.containers[name="main"].image`."""
    words = []
    for element in path:
        kind, _, text = element.partition(":")
        if kind == "f":
            words.append(f".{text}")
        elif kind == "k":
            keys = msgspec.json.decode(text)
            inside = ",".join(f"{key}={msgspec.json.encode(value).decode()}" for key, value in keys.items())
            words.append(f"[{inside}]")
        else:
            words.append(f"[={text}]")
    return "".join(words)
