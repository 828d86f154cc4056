"""The scale subresource of custom kinds: replicas read from and written to the paths that a definition names."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.kinds.custom.findings import go_number, is_int64
from kubedyno.kit.errors import UsageError
from kubedyno.kube import problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem

_LARGEST_INT32 = 2**31 - 1


class WrongType(UsageError):
    """A value on the way to replicas or selector is not of the type that it must have."""


class ScalePaths(msgspec.Struct, frozen=True, kw_only=True):
    """Where the replicas are: `.spec.replicas`, `.status.replicas`, and (perhaps empty) where the selector is."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


def scale_of(obj: Object, paths: ScalePaths) -> Object | None:
    """The `autoscaling/v1` Scale of an object; None: it does not say how many replicas it wants.

    `WrongType` when there is something else where a number or text should be.
    """
    wanted = _number(obj, paths.spec_replicas)
    there = _number(obj, paths.status_replicas) or 0
    selector = _text(obj, paths.label_selector) if paths.label_selector else ""
    if wanted is None:
        return None
    metadata = obj.get("metadata") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if metadata.get(name)},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {"replicas": there, **({"selector": selector} if selector else {})},
    }


def with_replicas(obj: Object, paths: ScalePaths, replicas: int) -> Object:
    """The object with another number of replicas; objects on the way are made where they are missing."""
    *above, last = _names(paths.spec_replicas)
    changed = {**obj}
    place = changed
    for name in above:
        below = place.get(name)
        if below is not None and not isinstance(below, dict):
            raise WrongType(f"value cannot be set because {paths.spec_replicas} is not a map[string]interface{{}}")
        place[name] = {**(below or {})}
        place = place[name]
    place[last] = replicas
    return changed


def scale_problems(obj: Object, paths: ScalePaths, *, with_spec: bool = True) -> list[Problem]:
    """Replicas that are no numbers, negative or too many; a selector that is no text."""
    found = []
    for path in (paths.spec_replicas, paths.status_replicas) if with_spec else (paths.status_replicas,):
        try:
            number = _number(obj, path) or 0
        except WrongType as error:
            found.append(problems.invalid(path, 0, str(error)))
            continue
        if number < 0:
            found.append(problems.invalid(path, number, "should be a non-negative integer"))
        elif number > _LARGEST_INT32:
            found.append(problems.invalid(path, number, f"should be less than or equal to {_LARGEST_INT32}"))
    if paths.label_selector:
        try:
            _text(obj, paths.label_selector)
        except WrongType as error:
            found.append(problems.invalid(paths.label_selector, "", str(error)))
    return found


def _names(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _number(obj: Mapping[str, Any], path: str) -> int | None:
    value = _found(obj, path)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not is_int64(value):
        raise _wrong_type(_names(path), value, "int64")
    return value


def _text(obj: Mapping[str, Any], path: str) -> str:
    value = _found(obj, path)
    if value is not None and not isinstance(value, str):
        raise _wrong_type(_names(path), value, "string")
    return value or ""


def _found(obj: Mapping[str, Any], path: str) -> Any:
    value: Any = obj
    names = _names(path)
    for depth, name in enumerate(names):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise _wrong_type(names[: depth + 1], value, "map[string]interface{}")
        value = value.get(name)
    return value


GO_TYPES: dict[type, str] = {
    bool: "bool", str: "string", int: "int64", float: "float64",
    list: "[]interface {}", dict: "map[string]interface {}",
}  # fmt: skip


def _wrong_type(names: list[str], value: Any, expected: str) -> WrongType:
    place = f".{'.'.join(names)}"
    kind = float if isinstance(value, int) and not is_int64(value) else type(value)
    return WrongType(f"{place} accessor error: {go_text(value)} is of the type {GO_TYPES[kind]}, expected {expected}")


def go_text(value: Any) -> str:
    """A JSON value as Go's `%v` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{name}:{go_text(value[name])}' for name in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
        case int() | float():
            return go_number(value if isinstance(value, float) or is_int64(value) else float(value))
        case _:
            return str(value)
