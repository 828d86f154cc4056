"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386) on plain objects.

JSON patch behaves like the library inside the API server (evanphx/json-patch v4), also where that is laxer than
the RFC: `replace` creates a missing member of an object, `test` and `copy` take a missing member for null, an
absent `value` is null, and negative indices count from the end of an array. One laxness is not imitated: a path
that does not begin with `/` is refused instead of losing its first part.

No function changes its arguments, and no result shares a mutable part with them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubedyno.kit.errors import UsageError
from kubedyno.kube.meta import copied

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")


class RefusedPatch(UsageError):
    """A patch that changes nothing because of what is wrong with it.

    `told` says it in the API server's words, where it has some; `code` is its answer.
    """

    code = 400

    def __init__(self, message: str, *, told: str = "", code: int | None = None) -> None:
        self.told = told
        self.code = self.code if code is None else code
        super().__init__(message)


class MalformedPatch(RefusedPatch):
    """The patch itself is wrong, whatever the object."""


class PatchDoesNotApply(RefusedPatch):
    """The patch is well formed, but not for this object."""

    code = 422


def json_equal(left: Any, right: Any) -> bool:
    """Equality of JSON trees: unlike in Python, `true` is not 1 and 1 is not 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(json_equal(left[name], right[name]) for name in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    return bool(left == right)


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: objects are merged member by member, null removes a member, anything else replaces."""
    if not isinstance(patch, Mapping):
        return copied(patch)
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = apply_merge_patch(merged.get(name), value)
    return {name: value if name in patch else copied(value) for name, value in merged.items()}


def merge_diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest merge patch with `apply_merge_patch(old, patch) == new`; empty when nothing changed.

    A merge patch cannot set a member to null, so `new` must not have null members in objects.
    """
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        if name not in old:
            patch[name] = copied(value)
        elif isinstance(old[name], dict) and isinstance(value, dict):
            if below := merge_diff(old[name], value):
                patch[name] = below
        elif not json_equal(old[name], value):
            patch[name] = copied(value)
    return patch


def apply_json_patch(target: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """RFC 6902: all operations in order, or none; the error names the operation's index and its path."""
    document = copied(target)
    for index, operation in enumerate(operations):
        if not isinstance(operation, Mapping):
            raise MalformedPatch(
                f"operation {index} of the JSON patch is no object: write it like "
                '{"op": "add", "path": "/metadata/labels/a", "value": "b"}'
            )
        document = _Operation(index, operation).apply(document)
    return document


class _Operation:
    """One operation of a JSON patch: applies itself, and names itself in errors."""

    def __init__(self, index: int, operation: Mapping[str, Any]) -> None:
        self._index = index
        self._name = operation.get("op")
        self._operation = operation
        self._steps: Final[Mapping[Any, Callable[[Any], Any]]] = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }

    def apply(self, document: Any) -> Any:
        """The document after the operation; the one given may be changed."""
        step = self._steps.get(self._name) if isinstance(self._name, str) else None
        if step is None:
            raise self._refused("there is no such operation: use add, remove, replace, move, copy or test")
        return step(document)

    @property
    def _value(self) -> Any:
        return copied(self._operation.get("value"))

    def _add(self, document: Any) -> Any:
        self._insert(document, self._pointer("path"), self._value)
        return document

    def _remove(self, document: Any) -> Any:
        self._take(document, self._pointer("path"))
        return document

    def _replace(self, document: Any) -> Any:
        path = self._pointer("path")
        value = self._value
        if not path:
            if not isinstance(value, dict | list):
                raise self._refused("the whole document can be replaced by an object or an array only")
            return value
        parent = self._parent(document, path)
        if isinstance(parent, list):
            parent[self._position(path[-1], parent)] = value
        else:
            parent[path[-1]] = value
        return document

    def _move(self, document: Any) -> Any:
        value = self._take(document, self._pointer("from"))
        self._insert(document, self._pointer("path"), value)
        return document

    def _copy(self, document: Any) -> Any:
        value = copied(self._read(document, self._pointer("from")))
        self._insert(document, self._pointer("path"), value)
        return document

    def _test(self, document: Any) -> Any:
        path = self._pointer("path")
        found = self._read(document, path) if path else document
        if not json_equal(found, self._operation.get("value")):
            raise self._refused(f"the value is {found!r}, not {self._operation.get('value')!r}")
        return document

    def _pointer(self, member: str) -> list[str]:
        """The unescaped reference tokens of a JSON pointer; empty for the whole document."""
        text = self._operation.get(member)
        if not isinstance(text, str):
            raise self._refused(f"{member!r} is missing or no text: write it like '/spec/nodeName'")
        if text and not text.startswith("/"):
            raise self._refused(f"{member!r} {text!r} must begin with '/'")
        return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]

    def _parent(self, document: Any, path: list[str]) -> Any:
        """The object or array that holds the last token of `path`."""
        if not path:
            raise self._refused("the whole document cannot be the subject of this operation")
        parent = document
        for token in path[:-1]:
            parent = self._member(parent, token)
            if not isinstance(parent, dict | list):
                raise self._refused(f"there is no object or array at {token!r} on the way")
        return parent

    def _read(self, document: Any, path: list[str]) -> Any:
        return self._member(self._parent(document, path), path[-1])

    def _member(self, parent: Any, token: str) -> Any:
        """What stands at `token`; null for a member that an object does not have."""
        return parent[self._position(token, parent)] if isinstance(parent, list) else parent.get(token)

    def _take(self, document: Any, path: list[str]) -> Any:
        parent = self._parent(document, path)
        if isinstance(parent, list):
            return parent.pop(self._position(path[-1], parent))
        if path[-1] not in parent:
            raise self._refused(f"there is no {path[-1]!r} to remove")
        return parent.pop(path[-1])

    def _insert(self, document: Any, path: list[str], value: Any) -> None:
        parent = self._parent(document, path)
        if isinstance(parent, dict):
            parent[path[-1]] = value
        elif path[-1] == "-":
            parent.append(value)
        else:
            # One place more than there are items: behind the last one is a place to add at, too.
            parent.insert(self._position(path[-1], [*parent, None]), value)

    def _position(self, token: str, items: list[Any]) -> int:
        """The index that `token` means in `items`, counted from the start."""
        if not _INDEX.fullmatch(token):
            raise self._refused(f"{token!r} is no array index")
        position = int(token)
        if not -len(items) <= position < len(items):
            raise self._refused(f"array index {token} is out of bounds")
        return position % len(items)

    def _refused(self, reason: str) -> PatchDoesNotApply:
        where = self._operation.get("path")
        return PatchDoesNotApply(
            f"operation {self._index} of the JSON patch ({self._name} {where}) does not apply: {reason}"
        )
