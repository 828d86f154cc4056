"""What a kind's rows are made of: columns, and for each a function from an object to its cell.

A column is written `Name`, with a type if it is no string (`Desired:integer`), and with a `+` at its end if only wide
tables show it (`Images+`). A column that names an object has the format `name`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kinds.tables.ages import since
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.selectors import LabelSelector

# The attacher of a volume is marked like a name too.
_NAMING = frozenset({"Name", "Attacher"})

Cell = Callable[[Object, int], Any]
"""An object and the time (ns since 1970) to what stands in one column."""

Cells = Callable[[Object, int], list[Any]]
"""The same for all columns at once."""


class Column(msgspec.Struct, frozen=True):
    """One column; `priority` 1 is shown in wide tables only."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""


def _no_conditions(_obj: Object) -> list[Object]:
    return []


def _as_given(objects: Iterable[Object]) -> list[Object]:
    return list(objects)


class Printer(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind is printed."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Object], list[Object]] = _no_conditions
    """What is remarkable of a row: that a pod is done."""
    order: Callable[[Iterable[Object]], list[Object]] = _as_given


def columns(*written: str) -> tuple[Column, ...]:
    """Columns from their short form."""
    return tuple(map(_column, written))


def printer(*rows: tuple[str, Cell]) -> Printer:
    """A printer from pairs of a column and its cell."""
    cells = tuple(cell for _, cell in rows)

    def all_cells(obj: Object, now_ns: int) -> list[Any]:
        return [cell(obj, now_ns) for cell in cells]

    return Printer(columns=columns(*(written for written, _ in rows)), cells=all_cells)


def _column(written: str) -> Column:
    name, _, type_ = written.removesuffix("+").partition(":")
    return Column(
        name=name,
        type=type_ or "string",
        format="name" if name in _NAMING else "",
        priority=1 if written.endswith("+") else 0,
    )


def at(obj: Mapping[str, Any], path: str) -> Any:
    """What stands at a path of field names (`spec.nodeName`); None where something on the way is absent."""
    found: Any = obj
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
        if found is None:
            return None
    return found


def name(obj: Object, _now_ns: int) -> str:
    """The object's name."""
    return at(obj, "metadata.name") or ""


def age(obj: Object, now_ns: int) -> str:
    """How long ago it was created."""
    return since(at(obj, "metadata.creationTimestamp"), now_ns)


def text(path: str, default: str = "") -> Cell:
    """The text at a path; `default` where it is absent or empty."""
    return lambda obj, _now_ns: at(obj, path) or default


def given(path: str, default: str) -> Cell:
    """The text at a path, also an empty one; `default` where it is absent."""

    def cell(obj: Object, _now_ns: int) -> str:
        found = at(obj, path)
        return default if found is None else str(found)

    return cell


def number(path: str) -> Cell:
    """The number at a path; 0 where it is absent."""
    return lambda obj, _now_ns: at(obj, path) or 0


def count(path: str) -> Cell:
    """How many entries the list or map at a path has."""
    return lambda obj, _now_ns: len(at(obj, path) or ())


def truth(path: str, default: bool = False) -> Cell:
    """The truth value at a path."""

    def cell(obj: Object, _now_ns: int) -> bool:
        found = at(obj, path)
        return default if found is None else bool(found)

    return cell


def ago(path: str, default: str) -> Cell:
    """How long ago the time at a path is; `default` where there is none."""

    def cell(obj: Object, now_ns: int) -> str:
        written = at(obj, path)
        return since(written, now_ns) if written else default

    return cell


def labels(path: str) -> Cell:
    """A map as `a=b,c=d`."""
    return lambda obj, _now_ns: labels_text(at(obj, path))


def labels_text(found: Mapping[str, str] | None) -> str:
    """A map as `a=b,c=d`, or `<none>`."""
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or "<none>"


def selector(path: str) -> Cell:
    """A label selector as it is written in a query, or `<none>`."""
    return lambda obj, _now_ns: selector_text(at(obj, path)) or "<none>"


def selector_text(found: Mapping[str, Any] | None) -> str:
    """A label selector as it is written in a query; empty where it has no requirement."""
    try:
        return str(LabelSelector.from_object(found))
    except UsageError:
        return "<error>"


def listed(path: str, separator: str = ",") -> Cell:
    """The texts of a list in one line."""
    return lambda obj, _now_ns: separator.join(at(obj, path) or ())


def condition_status(obj: Mapping[str, Any], type_: str) -> str | None:
    """The status of the first condition of a type; None where there is none."""
    for condition in at(obj, "status.conditions") or ():
        if condition.get("type") == type_:
            return str(condition.get("status") or "")
    return None


def containers(template: str) -> tuple[tuple[str, Cell], tuple[str, Cell]]:
    """The wide columns with the names and images of a pod template's containers."""
    path = f"{template}.spec.containers"

    def joined(field: str) -> Cell:
        return lambda obj, _now_ns: ",".join(entry.get(field) or "" for entry in at(obj, path) or ())

    return ("Containers+", joined("name")), ("Images+", joined("image"))


def first_few(texts: list[str], shown: int, total: int) -> str:
    """At most `shown` texts and how many more there are."""
    told = ",".join(texts[:shown])
    return f"{told} + {total - shown} more..." if len(texts) > shown else told


NAME: tuple[str, Cell] = ("Name", name)
AGE: tuple[str, Cell] = ("Age", age)
