"""Changing `fieldsV1` trees in place of reading them into sets: an update touches few of the fields that are owned.

A node without members is a field that is owned; one with members is owned itself only if `.` is among them. Trees are
never changed: a change gives a new tree that shares what it did not touch.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedyno.kube.fieldsets import Path

Tree = Mapping[str, Any]

_ITSELF = "."
_LEAF: Tree = {}


def without(tree: Tree, paths: Iterable[Path]) -> Tree:
    """The tree without these fields; the very same one when it has none of them. Fields below them stay."""
    for path in paths:
        tree = _without(tree, path)
    return tree


def _without(tree: Tree, path: Path) -> Tree:
    element, rest = path[0], path[1:]
    below = tree.get(element)
    if below is None:
        return tree
    if rest:
        left = _without(below, rest) if below else below
        if left is below:
            return tree
    elif not below:
        return {name: node for name, node in tree.items() if name != element}
    elif _ITSELF in below:
        left = {name: node for name, node in below.items() if name != _ITSELF}
    else:
        return tree
    if not left and _ITSELF not in below:
        # It was there for what was below it alone.
        return {name: node for name, node in tree.items() if name != element}
    if left.keys() == {_ITSELF}:
        left = _LEAF
    return {**tree, element: left}


def with_fields(tree: Tree, paths: Iterable[Path]) -> Tree:
    """The tree with these fields; sorted like the server's."""
    made = _opened(tree)
    for path in paths:
        node = made
        for element in path[:-1]:
            known = node.get(element)
            if known is None:
                below: dict[str, Any] = {}
                node[element] = below
            else:
                # A field that was owned alone is still owned when something below it is.
                below = node[element] = _opened(known) if known else {_ITSELF: _LEAF}
            node = below
        last = path[-1]
        known = node.get(last)
        if known is None:
            node[last] = _LEAF
        elif known and _ITSELF not in known:
            node[last] = {_ITSELF: _LEAF, **known}
    return ordered(made)


def _opened(tree: Tree) -> dict[str, Any]:
    return dict(tree)


def ordered(tree: Tree) -> Tree:
    """The tree with the names of each level in order, as the server writes it."""
    return {name: ordered(node) if node else _LEAF for name, node in sorted(tree.items())}
