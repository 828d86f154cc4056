"""What server-side apply finds wrong with a configuration before it merges it, in its own words."""

from collections.abc import Iterator
from typing import Any

from kubedyno.kube import schema
from kubedyno.kube.fieldsets import field
from kubedyno.kube.ownership import words
from kubedyno.kube.schema import Field
from kubedyno.kube.typed import View

_NUMBERS = frozenset({"int32", "int64", "double"})
_ANY_SCALAR = frozenset({"any", "quantity", "int-or-string"})


def configuration_problem(config: dict[str, Any], view: View) -> str:
    """Fields that the kind does not have, values of another type, items that stand twice; empty: nothing is wrong.

    Custom kinds are not looked at: what they do not know is pruned.
    """
    found = list(_problems(config, view, ()))
    if len(found) > 1:
        return "errors:\n  " + "\n  ".join(found) + "\n"
    return found[0] if found else ""


def _problems(value: Any, view: View, path: tuple[str, ...]) -> Iterator[str]:
    of = view.of
    if of is None or value is None:
        return
    match of.shape:
        case "object" | "map":
            yield from _of_members(value, of, view, path)
        case "list":
            yield from _of_list(value, of, view, path)
        case "scalar":
            yield from _of_scalar(value, of.of, path)


def _of_members(value: Any, of: Field, view: View, path: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _unexpected(path, "map", value)
        return
    known = schema.type_named(of.of).fields if of.shape == "object" else value
    for name, below in value.items():
        place = (*path, field(name))
        if name in known:
            yield from _problems(below, view.member(name), place)
        else:
            yield f"{words(place)}: field not declared in schema"


def _of_list(value: Any, of: Field, view: View, path: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(value, list):
        yield _unexpected(path, "list", value)
        return
    seen: set[str] = set()
    for item in value:
        keyed = of.list_type == "set" or (of.list_type == "map" and isinstance(item, dict))
        element = view.element(item, "") if keyed else ""
        if keyed and element in seen:
            yield f"{words(path)}: duplicate entries for key {words((element,))}"
        seen.add(element)
        yield from _problems(item, view.item, (*path, element) if keyed else path)


def _of_scalar(value: Any, scalar: str, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict | list):
        if scalar != "any":
            yield _unexpected(path, "scalar" if scalar in _ANY_SCALAR else _expected(scalar), value)
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        scalar in _ANY_SCALAR
        or (scalar == "bool" and isinstance(value, bool))
        or (scalar in _NUMBERS and is_number)
        or (scalar != "bool" and scalar not in _NUMBERS and isinstance(value, str))
    )
    if not fits:
        yield _unexpected(path, _expected(scalar), value)


def _expected(scalar: str) -> str:
    if scalar == "bool":
        return "boolean"
    return "numeric (int or float)" if scalar in _NUMBERS else "string"


def _unexpected(path: tuple[str, ...], expected: str, value: Any) -> str:
    return f"{words(path)}: expected {expected}, got &value.valueUnstructured{{Value:{_go(value)}}}"


def _go(value: Any) -> str:
    """A value as Go's `%#v` prints it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case dict():
            inside = ", ".join(f'"{name}":{_go(below)}' for name, below in sorted(value.items()))
            return f"map[string]interface {{}}{{{inside}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(_go, value))}}}"
    return "interface {}(nil)" if value is None else str(value)
