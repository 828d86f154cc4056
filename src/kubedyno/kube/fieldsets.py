"""Sets of fields as `managedFields` writes them.

A path is a tuple of elements in their written form: `f:spec` a field, `k:{"name":"main"}` an item of a list by its
keys, `v:"x"` an item of a set by its value. A set of fields is a frozenset of paths: small enough, and all that
ownership needs is in the operations of sets.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

Path = tuple[str, ...]
FieldSet = frozenset[Path]

_ITSELF = "."

_compact = msgspec.json.Encoder(order="deterministic")


def field(name: str) -> str:
    """The element of a field."""
    return f"f:{name}"


def item_by_keys(keys: Mapping[str, Any]) -> str:
    """The element of a list's item by its keys, in the order of their names."""
    return f"k:{_compact.encode(dict(keys)).decode()}"


def item_by_value(value: Any) -> str:
    """The element of a set's item."""
    return f"v:{_compact.encode(value).decode()}"


def to_fields_v1(paths: FieldSet) -> dict[str, Any]:
    """The tree that `fieldsV1` holds; a field that is owned itself beside fields below it has the member `.`."""
    root: dict[str, Any] = {}
    for path in sorted(paths):  # a prefix comes before what it is a prefix of
        node = root
        for depth, element in enumerate(path, start=1):
            below = node.setdefault(element, {})
            if depth < len(path) and not below and path[:depth] in paths:
                below[_ITSELF] = {}
            node = below
    return root


def from_fields_v1(tree: Mapping[str, Any]) -> FieldSet:
    """The set that a `fieldsV1` tree means."""
    paths: set[Path] = set()

    def walk(node: Mapping[str, Any], path: Path) -> None:
        for element, below in node.items():
            if element == _ITSELF:
                paths.add(path)
            elif below:
                walk(below, (*path, element))
            else:
                paths.add((*path, element))

    walk(tree, ())
    return frozenset(paths)


def below_any(paths: FieldSet, prefixes: FieldSet) -> FieldSet:
    """The paths that are one of the prefixes or lie below one."""
    return frozenset(path for path in paths if any(path[:end] in prefixes for end in range(1, len(path) + 1)))
