"""Objects seen through their types, for server-side apply: which fields they have, how two differ, how they merge.

This imitates what the API server's structured merge does: structs and maps are taken apart field by field, lists of
type `map` and `set` item by item, everything else (scalars, atomic lists, maps and structs) is a leaf. Custom
resources without a type have their objects taken apart and their lists whole.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import schema
from kubedyno.kube.fieldsets import FieldSet, Path, field, item_by_keys, item_by_value
from kubedyno.kube.schema import Field

Structure = Literal["leaf", "members", "items"]


class View(msgspec.Struct, frozen=True):
    """How values in one place are taken apart."""

    of: Field | None
    """None: nothing is known, the value itself decides."""

    def structure(self, value: Any) -> Structure:
        """What a value is here."""
        if isinstance(value, dict):
            return "leaf" if self._is_atomic_object() else "members"
        if isinstance(value, list):
            keyed = self.of is not None and self.of.shape == "list" and self.of.list_type in {"map", "set"}
            return "items" if keyed else "leaf"
        return "leaf"

    def _is_atomic_object(self) -> bool:
        of = self.of
        if of is None:
            return False
        if of.shape == "object":
            return of.atomic_map or schema.type_named(of.of).atomic
        return of.shape != "map" or of.atomic_map

    def member(self, name: str) -> "View":
        """The view of a member of an object."""
        of = self.of
        if of is not None and of.shape == "object":
            return View(schema.type_named(of.of).fields.get(name))
        return _VALUES_OF[of.of, of.of_objects] if of is not None and of.shape == "map" else _UNKNOWN

    def is_named(self, name: str) -> bool:
        """Whether the type names this member: then its parent does not own it by itself."""
        of = self.of
        return of is not None and of.shape == "object" and name in schema.type_named(of.of).fields

    @property
    def item(self) -> "View":
        """The view of the items of a list."""
        return _VALUES_OF[self.of.of, self.of.of_objects] if self.of is not None else _UNKNOWN

    def element(self, item: Any, where: str) -> str:
        """The path element of an item of a keyed list or set; keys that are missing have their defaults."""
        of = self.of
        if of is None or of.list_type == "set":
            return item_by_value(item)
        if not isinstance(item, dict):
            raise UsageError(f"{where}: an item is no object, so it has no {', '.join(of.list_keys)}")
        types = schema.type_named(of.of).fields
        keys = {key: item.get(key, types[key].default) for key in of.list_keys}
        # An item without any is told apart from those that have some; validation finds words for it.
        return item_by_keys({key: value for key, value in keys.items() if value is not None})


_UNKNOWN = View(None)


class _Views(dict[tuple[str, bool], View]):
    """Views of single values of a scalar or object type, made when first asked for."""

    def __missing__(self, key: tuple[str, bool]) -> View:
        of, of_objects = key
        view = View(Field(shape="object" if of_objects else "scalar", of=of, of_objects=of_objects))
        self[key] = view
        return view


_VALUES_OF = _Views()


def view_of(api_version: str, kind: str) -> View:
    """The view of whole objects of a kind."""
    found = schema.type_of(api_version, kind)
    return _UNKNOWN if found is None else _VALUES_OF[found.name, True]


def field_set(obj: Mapping[str, Any], view: View) -> FieldSet:
    """The fields that an applied configuration names."""
    paths: set[Path] = set()

    def walk(value: Any, seen: View, path: Path) -> None:
        match seen.structure(value):
            case "leaf":
                paths.add(path)
            case "members":
                for name, below in value.items():
                    place = (*path, field(name))
                    walk(below, seen.member(name), place)
                    if below in (None, {}) or not seen.is_named(name):
                        paths.add(place)
            case "items":
                for below in value:
                    place = (*path, seen.element(below, _words(path)))
                    walk(below, seen.item, place)
                    paths.add(place)

    walk(dict(obj), view, ())
    return frozenset(paths - {()})


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """How an object became another."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet


_ABSENT: Any = object()


def compare(old: Mapping[str, Any], new: Mapping[str, Any], view: View) -> Comparison:
    """The fields that were removed, modified and added; what comes or goes is named with all that it contains."""
    removed: set[Path] = set()
    modified: set[Path] = set()
    added: set[Path] = set()

    def walk(before: Any, after: Any, seen: View, path: Path) -> None:
        if before is not _ABSENT and before == after:
            return  # most of an object stays as it is: Python compares trees faster than we walk them
        structures = {seen.structure(value) for value in (before, after) if value is not _ABSENT and value is not None}
        empty = all(value is _ABSENT or value in (None, {}, []) for value in (before, after))
        if structures <= {"leaf"} or empty or len(structures) > 1:
            if before is not _ABSENT and after is not _ABSENT and before != after:
                modified.add(path)
        else:
            for element, below, was, became in _pairs(before, after, seen, path):
                if was is _ABSENT:
                    _come(became, below, (*path, element), added)
                else:
                    walk(was, became, below, (*path, element))
        if after is _ABSENT:
            removed.add(path)

    walk(dict(old), dict(new), view, ())
    return Comparison(removed=frozenset(removed), modified=frozenset(modified - {()}), added=frozenset(added))


def _come(value: Any, seen: View, path: Path, added: set[Path]) -> None:
    """Enter what was not there before, with all that it contains."""
    added.add(path)
    structure = seen.structure(value)
    if structure == "leaf" or not value:
        return
    if structure == "members":
        for name, below in value.items():
            _come(below, seen.member(name), (*path, field(name)), added)
    else:
        for element, below in _indexed(value, seen, path).items():
            _come(below, seen.item, (*path, element), added)


def _pairs(before: Any, after: Any, seen: View, path: Path) -> Iterator[tuple[str, View, Any, Any]]:
    """The members or items of two values side by side; what only one has is absent in the other."""
    if isinstance(before, dict) or isinstance(after, dict):
        left = before if isinstance(before, dict) else {}
        right = after if isinstance(after, dict) else {}
        for name in dict.fromkeys((*left, *right)):
            yield field(name), seen.member(name), left.get(name, _ABSENT), right.get(name, _ABSENT)
        return
    left_items, right_items = _indexed(before, seen, path), _indexed(after, seen, path)
    for element in dict.fromkeys((*left_items, *right_items)):
        yield element, seen.item, left_items.get(element, _ABSENT), right_items.get(element, _ABSENT)


def _indexed(value: Any, seen: View, path: Path) -> dict[str, Any]:
    items = value if isinstance(value, list) else []
    return {seen.element(item, _words(path)): item for item in items}


def merge(live: Any, config: Any, view: View, path: Path = ()) -> Any:
    """The live value with the configuration's fields: objects and keyed lists merged, leaves taken from the latter.

    Items of the configuration come in its order; those of the live list alone stay where they are among them.
    """
    if live in (None, {}, []) or config is None or view.structure(live) != view.structure(config):
        return config
    match view.structure(config):
        case "leaf":
            return config
        case "members":
            merged = dict(live)
            for name, value in config.items():
                below = view.member(name)
                merged[name] = merge(live[name], value, below, (*path, field(name))) if name in live else value
            return merged
        case "items":
            return _merged_items(live, config, view, path)


def _merged_items(live: list[Any], config: list[Any], view: View, path: Path) -> list[Any]:
    ours, theirs = _indexed(live, view, path), _indexed(config, view, path)
    if len(theirs) != len(config):
        raise UsageError(f"{_words(path)}: the configuration has two items with the same keys")
    return [
        merge(ours[element], theirs[element], view.item, (*path, element))
        if element in ours and element in theirs
        else theirs.get(element, ours.get(element))
        for element in merged_order(list(ours), list(theirs))
    ]


def merged_order(live: list[str], config: list[str]) -> list[str]:
    """The order of a merged list, as the API server has it.

    The configuration's items come in its order. An item of the live list alone comes before the shared item that
    follows it there, as far as the configuration has not asked for that one earlier.
    """
    asked, known = set(config), set(live)
    shared = [element for element in config if element in known]
    placed: dict[str, None] = {}
    at_live = at_config = 0
    while at_live < len(live) or at_config < len(config):
        if at_live < len(live):
            mine = live[at_live]
            awaited = next((element for element in shared if element not in placed), None)
            if mine in placed or (mine in asked and at_config < len(config) and awaited not in (None, mine)):
                at_live += 1  # it has come, or will come where the configuration wants it
                continue
            if mine not in asked:
                placed[mine] = None
                at_live += 1
                continue
        if at_config < len(config):
            placed[config[at_config]] = None
            at_config += 1
    return list(placed)


def remove(value: Any, paths: FieldSet, view: View) -> Any:
    """The value without these fields; objects and lists that become empty are gone too, those that were stay."""

    def walk(current: Any, seen: View, path: Path) -> Any:
        structure = seen.structure(current)
        if structure == "leaf" or not current:
            return current
        kept = [
            (name, walk(below, view_below, place))
            for name, below, view_below, place in _children(current, seen, path)
            if place not in paths
        ]
        if structure == "items":
            return [below for _, below in kept] or None
        return {name: below for name, below in kept if below is not None} or None

    return walk(value, view, ())


def _children(value: Any, seen: View, path: Path) -> Iterator[tuple[str, Any, View, Path]]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield name, below, seen.member(name), (*path, field(name))
    else:
        for item in value:
            element = seen.element(item, _words(path))
            yield element, item, seen.item, (*path, element)


def with_named_parents(paths: FieldSet, view: View) -> FieldSet:
    """The paths and every struct field above them: an applied `spec.replicas` holds on to `spec` itself."""
    found = set(paths)
    for path in paths:
        seen: View = view
        for depth, element in enumerate(path[:-1], start=1):
            name = element.removeprefix("f:")
            if element.startswith("f:"):
                if seen.is_named(name):
                    found.add(path[:depth])
                seen = seen.member(name)
            else:
                seen = seen.item
    return frozenset(found)


def _words(path: Path) -> str:
    return ".".join(element.partition(":")[2] for element in path) or "the object"
