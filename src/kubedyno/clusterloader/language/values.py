"""What templates are rendered with: overrides, the size of the cluster, and the environment. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.language.documents import Document, NoYaml, first_line, key_lines, read
from kubedyno.clusterloader.language.numbers import parse_float
from kubedyno.kit.errors import UsageError
from kubedyno.kube.gotemplate.jsonvalues import json_text, with_floats

_PREFIX: Final = "CL2_"
_WHOLE = re.compile(r"[+-]?[0-9]+")
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_MOST_DIGITS: Final = 40  # with a sign and zeros before them; more are a float's
_BOOLEANS: Final = {
    **dict.fromkeys(("t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("f", "F", "false", "FALSE", "False"), False),
}


class Overrides(msgspec.Struct, frozen=True):
    """A file of overrides: its name as it was given, and what stands in it."""

    file: str
    text: str


def template_values(
    overrides: Sequence[Overrides], environment: Mapping[str, str], *, nodes: int, image_registry: str
) -> dict[str, Any]:
    """All values by name. Of two files that set the same one the later wins: those of a suite come last.

    A variable of the environment and a file must agree where both say something. Numbers of files are floats, as Go's
    JSON has them, and those of the environment whole where they can be.
    """
    values: dict[str, Any] = {}
    origins: dict[str, Overrides] = {}
    for file in overrides:
        for name, value in _mapping(file).items():
            values[name], origins[name] = value, file
    values |= {"Nodes": nodes, "ImageRegistry": image_registry}
    for name, text in sorted(environment.items()):
        if not name.startswith(_PREFIX):
            continue
        value = environment_value(text)
        if name in values and not _equal(values[name], value):
            raise UsageError(_conflict(name, text, values[name], origins[name]))
        values.setdefault(name, value)
    return values


def environment_value(text: str) -> int | float | bool | str:
    """The first of these that it is: a whole number of 64 bits, a float, true or false, a text."""
    if _WHOLE.fullmatch(text) and len(text) <= _MOST_DIGITS and _INT_MIN <= int(text) <= _INT_MAX:
        return int(text)
    floating = parse_float(text)
    return floating if floating is not None else _BOOLEANS.get(text, text)


def _mapping(overrides: Overrides) -> dict[str, Any]:
    document = Document(overrides.text)
    try:
        value = read(document)
    except NoYaml as error:
        raise UsageError(
            f"{Place(overrides.file, error.line)}: {error}; overrides are YAML, one `name: value` a line"
        ) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        place = Place(overrides.file, first_line(document))
        raise UsageError(f"{place}: overrides are a mapping; write one `name: value` a line")
    found: dict[str, Any] = with_floats(value)
    return found


def _equal(one: Any, other: Any) -> bool:
    """Whole numbers and floats may be equal, but no number is true."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _conflict(name: str, text: str, value: Any, origin: Overrides) -> str:
    document = Document(origin.text)
    # A mapping that is merged in with `<<` has its keys elsewhere.
    place = Place(origin.file, key_lines(document).get(name) or first_line(document))
    return (
        f"merge conflict for {name}: it is {json_text(value)} in {place}, and {json_text(environment_value(text))} in "
        "the environment; remove one of them, or make them equal"
    )
