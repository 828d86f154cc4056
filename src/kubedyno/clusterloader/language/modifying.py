"""`--skip-steps` and `--overwrite-test-config`: what the command line changes in a config."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import msgspec

from kubedyno.clusterloader.language.decoding import Draft
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion

_OPTION: Final = "--overwrite-test-config"
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_COUNT = re.compile(r"\+?[0-9]{1,10}")
_INT32_MAX: Final = 2**31 - 1


class _Field(msgspec.Struct, frozen=True):
    """A field that can be overwritten."""

    attribute: str
    read: Callable[[str], Any]
    """From the text of a value; None: it is none."""
    example: str
    is_of_namespaces: bool = False


def _count(text: str) -> int | None:
    number = int(text) if _COUNT.fullmatch(text) else None
    return None if number is None or number > _INT32_MAX else number


# All that can be reached through structs and is no duration, float or list, by the names of Go's fields.
_FIELDS: Final = {
    "Name": _Field("name", str, "load"),
    "AutomanagedNamespaces": _Field("automanaged", _count, "10"),
    "Namespace.Number": _Field("number", _count, "10", is_of_namespaces=True),
    "Namespace.Prefix": _Field("prefix", str, "my-test", is_of_namespaces=True),
    "Namespace.DeleteStaleNamespaces": _Field("deletes_stale", _BOOLS.get, "true", is_of_namespaces=True),
    "Namespace.DeleteAutomanagedNamespaces": _Field("deletes_own", _BOOLS.get, "false", is_of_namespaces=True),
    "Namespace.EnableExistingNamespaces": _Field("takes_existing", _BOOLS.get, "true", is_of_namespaces=True),
}


def overwrite(draft: Draft, assignments: Sequence[str]) -> Draft:
    """The config with the fields of `Path.To.Field=value`, by the names of Go's fields, one after the other."""
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or "=" in text:
            raise UsageError(f"{_OPTION} {assignment}: write it as Path.To.Field=value, like Namespace.Prefix=my-test")
        field = _FIELDS.get(path)
        if field is None:
            raise UsageError(f"{_OPTION} {assignment}: there is no field {path!r} to set; {suggestion(path, _FIELDS)}")
        value = field.read(text)
        if value is None:
            raise UsageError(f"{_OPTION} {assignment}: {text!r} is no value of it; write {path}={field.example}")
        changed = {field.attribute: value}
        if field.is_of_namespaces:
            changed = {"namespaces": msgspec.structs.replace(draft.namespaces, **changed)}
        draft = msgspec.structs.replace(draft, **changed)
    return draft


def skip(draft: Draft, names: Collection[str], findings: Findings) -> Draft:
    """The config without its steps of these names. Those of modules stay: they are taken in afterwards."""
    present = {step.name for step in draft.steps if step.name}
    for name in names:
        if name not in present:
            findings.remark(draft.place, f"--skip-steps {name}: there is no such step; {suggestion(name, present)}")
    return msgspec.structs.replace(draft, steps=tuple(step for step in draft.steps if step.name not in names))
