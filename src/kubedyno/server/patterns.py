"""Pod specs without what pods of one job differ in: commands, arguments and the values of variables.

The server makes nothing of these: it neither checks nor completes them, and field ownership does not depend on them.
So what it made of one spec holds for all that differ in them alone.
"""

from typing import Any

import msgspec

from kubedyno.kube import codec
from kubedyno.kube.codec import Object

_PARTS = ("containers", "initContainers")
_WORDS = ("command", "args")


class _Variable(msgspec.Struct, forbid_unknown_fields=True):
    """A variable with a plain value; others (`valueFrom`) stay in the pattern."""

    name: str
    value: str = ""


class Free(msgspec.Struct, frozen=True):
    """What was taken out of one container; None: it has none, or none that can be taken out."""

    command: list[str] | None
    args: list[str] | None
    values: list[str] | None
    """Of its variables, in their order."""


def taken_apart(spec: bytes) -> tuple[bytes, list[Free]] | None:
    """The pattern of a spec, and what is free in its containers; None when it has no containers to speak of."""
    try:
        tree = codec.decode(spec)
    except (ValueError, RecursionError):
        return None
    free: list[Free] = []
    for part in _PARTS:
        containers = tree.get(part)
        if containers is None and part != _PARTS[0]:
            continue
        if not isinstance(containers, list) or not all(isinstance(one, dict) for one in containers):
            return None
        free += map(_taken, containers)
    return codec.encode(tree), free


def _taken(container: Object) -> Free:
    """Take out of a container what is free, in place: marks stay that tell what was there."""
    command, args = (_texts(container.get(name)) for name in _WORDS)
    for name, found in zip(_WORDS, (command, args), strict=True):
        if found is not None:
            container[name] = True
    variables = _plain(container.get("env"))
    values = None
    if variables is not None:
        values = [one.value for one in variables]
        # An empty value is left out of the object, and nobody owns it.
        container["env"] = [[one.name, bool(one.value)] for one in variables]
    return Free(command, args, values)


def _texts(value: Any) -> list[str] | None:
    return value if value and isinstance(value, list) and all(type(one) is str for one in value) else None


def _plain(value: Any) -> list[_Variable] | None:
    if not value or not isinstance(value, list):
        return None
    try:
        return msgspec.convert(value, list[_Variable])
    except msgspec.ValidationError:
        return None


def put_together(spec: Object, free: list[Free]) -> Object:
    """A spec that the server made of another one of the pattern, with what is free in this one."""
    made = dict(spec)
    rest = iter(free)
    for part in _PARTS:
        if part in made:
            made[part] = [_filled(container, next(rest)) for container in made[part]]
    return made


def _filled(container: Object, free: Free) -> Object:
    filled = dict(container)
    if free.command is not None:
        filled["command"] = free.command
    if free.args is not None:
        filled["args"] = free.args
    if free.values is not None:
        filled["env"] = [
            {"name": known["name"], "value": value} if value else {"name": known["name"]}
            for known, value in zip(container["env"], free.values, strict=True)
        ]
    return filled
