"""What the API server finds when it reads an object of one of its own kinds: values of a wrong type, unknown fields.

The server decodes JSON into Go structs; the first value that does not fit is the error, in the words of Go's JSON
package, and fields that no struct has are collected for `fieldValidation`. Go's names of string types (an enum's) are
not in the table of types, so for those the sentence says `string`.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import schema
from kubedyno.kube.gobytes import bytes_problem
from kubedyno.kube.gotimes import time_problem
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.schema import Field

_QUANTITY_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_QUANTITY = re.compile(r"[+-]?[0-9]*(?:\.[0-9]*)?(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)")
_SUFFIX = re.compile(r"|[numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+")
_BITS = {"int32": 32, "int64": 64}
_GO_SCALARS = {
    "string": "string",
    "bool": "bool",
    "int32": "int32",
    "int64": "int64",
    "double": "float64",
    "time": "string",
    "bytes": "[]uint8",
}

_READ_THEMSELVES = frozenset({"time", "quantity", "int-or-string"})


_JSON_SCHEMA = "apiextensions.v1.JSONSchemaProps"
_SCHEMA_FIELDS = frozenset({"items", "additionalItems", "additionalProperties", "dependencies"})


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in an object."""

    error: str
    """Why it cannot be read; empty: it can."""
    unknown: tuple[str, ...]
    """Fields that the kind does not have (`spec.containers[0].imag`), in the order of the document."""


def read(obj: Mapping[str, Any], api_version: str, kind: str) -> Reading | None:
    """Look at an object as the server would; None for a kind that is not Kubernetes' own."""
    found = schema.type_of(api_version, kind)
    if found is None:
        return None
    if _check_of(found.name)(obj):
        return _NOTHING
    walker = _Walker()
    try:
        walker.members(obj, found.name, place="", words="")
    except _Ended as ended:
        return Reading(error=str(ended), unknown=tuple(walker.unknown))
    return Reading(error=walker.error, unknown=tuple(walker.unknown))


_NOTHING = Reading(error="", unknown=())
_Check = Callable[[Any], bool]
"""Whether there is nothing to tell of a value, as of most: words are looked for where there is."""


@functools.cache
def _check_of(type_name: str) -> _Check:
    """What looks at objects of a type; compiled once, those of its fields when they are first met."""
    if type_name == _JSON_SCHEMA:
        return lambda _obj: False
    fields = schema.type_named(type_name).fields
    checks: dict[str, _Check] = {}

    def check(obj: Mapping[str, Any]) -> bool:
        for name, value in obj.items():
            if name not in fields:
                return False
            if value is None:
                continue
            known = checks.get(name)
            if known is None:
                known = checks[name] = _field_check(fields[name])
            if not known(value):
                return False
        return True

    return check


def _field_check(of: Field) -> _Check:
    one = _item_check(of)
    match of.shape:
        case "list":
            return lambda value: isinstance(value, list) and all(item is None or one(item) for item in value)
        case "map":
            return lambda value: isinstance(value, dict) and all(item is None or one(item) for item in value.values())
        case _:
            return one


def _item_check(of: Field) -> _Check:
    if of.of_objects:
        members = _check_of(of.of)
        return lambda value: isinstance(value, dict) and members(value)
    if of.of in _PLAIN:
        kind = _PLAIN[of.of]
        return lambda value: type(value) is kind
    return lambda value: not _scalar_problem(value, of) and _fits(value, of.of)


_PLAIN: Mapping[str, type] = {"string": str, "bool": bool}


class _Ended(Exception):
    """What ends the reading at once."""


class _Walker:
    """One pass over a document. `place` is a path with indexes, `words` the one that Go's errors name."""

    def __init__(self) -> None:
        self.error = ""
        self.unknown: list[str] = []

    def members(self, obj: Mapping[str, Any], type_name: str, *, place: str, words: str) -> None:
        fields = schema.type_named(type_name).fields
        for name, value in obj.items():
            inner = f"{place}.{name}".lstrip(".")
            if name not in fields:
                self.unknown.append(inner)
            elif value is not None:
                spoken = f"{words}.{name}".lstrip(".")
                if type_name == _JSON_SCHEMA and name in _SCHEMA_FIELDS:
                    self.schema_or_other(value, place=inner, words=spoken)
                else:
                    self.value(value, fields[name], place=inner, words=spoken, owner=type_name)

    def schema_or_other(self, value: Any, *, place: str, words: str) -> None:
        """A field of a JSON schema that is one of several things: a schema, some of them, a flag."""
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.schema_or_other(item, place=f"{place}[{index}]", words=words)
        elif isinstance(value, dict) and words.endswith("dependencies"):
            for name, item in value.items():
                self.schema_or_other(item, place=f"{place}.{name}", words=f"{words}.{name}")
        elif isinstance(value, dict):
            self.members(value, _JSON_SCHEMA, place=place, words=words)
        elif not isinstance(value, bool | str) or words.endswith("items"):
            self.fail(f"json: cannot unmarshal {json_kind(value)} into Go value of type v1.JSONSchemaProps")

    def value(self, value: Any, of: Field, *, place: str, words: str, owner: str) -> None:
        match of.shape:
            case "list":
                if not isinstance(value, list):
                    self.misfit(value, f"[]{_go_name(of)}", words, owner)
                    return
                for index, item in enumerate(value):
                    self.one(item, of, place=f"{place}[{index}]", words=words, owner=owner)
            case "map":
                if not isinstance(value, dict):
                    self.misfit(value, _go_map(of), words, owner)
                    return
                for key, item in value.items():
                    self.one(item, of, place=f"{place}.{key}", words=words, owner=owner)
            case _:
                self.one(value, of, place=place, words=words, owner=owner)

    def one(self, value: Any, of: Field, *, place: str, words: str, owner: str) -> None:
        """A single value: an object of the table, or a scalar."""
        if value is None:
            return
        if of.of_objects:
            if isinstance(value, dict):
                self.members(value, of.of, place=place, words=words)
            else:
                self.misfit(value, _go_name(of), words, owner)
        elif problem := _scalar_problem(value, of):
            self.fail(problem, of)
        elif not _fits(value, of.of):
            self.misfit(value, _GO_SCALARS.get(of.of, "int32"), words, owner, of)

    def misfit(self, value: Any, go_type: str, words: str, owner: str, of: Field | None = None) -> None:
        struct, kind = owner.rpartition(".")[2], json_kind(value)
        if kind == "number" and go_type in _BITS:
            kind = f"number {msgspec.json.encode(value).decode()}"  # one that is broken or out of range is named
        self.fail(f"json: cannot unmarshal {kind} into Go struct field {struct}.{words} of type {go_type}", of)

    def fail(self, error: str, of: Field | None = None) -> None:
        """Go keeps the first error and reads on, but a type that reads itself ends it all with its own."""
        if of is not None and of.of in _READ_THEMSELVES:
            raise _Ended(error)
        self.error = self.error or error


def _scalar_problem(value: Any, of: Field) -> str:
    """The words of types that read themselves."""
    if of.of == "time" and isinstance(value, str):
        return time_problem(value, micro=of.micro)
    if of.of == "bytes" and isinstance(value, str):
        return bytes_problem(value)
    return _quantity_problem(value) if of.of == "quantity" else ""


def _quantity_problem(value: Any) -> str:
    """Of a text or number that is no quantity, or none that `quantities` can hold."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return _QUANTITY_FORMAT
    return _amount_problem(value)


@functools.lru_cache(maxsize=4096, typed=True)
def _amount_problem(value: str | float) -> str:
    try:
        Quantity.parse(value)
    except UsageError:
        found = _QUANTITY.fullmatch(str(value))
        if found and not _SUFFIX.fullmatch(found["suffix"]):
            return "unable to parse quantity's suffix"
        return _QUANTITY_FORMAT
    return ""


def _fits(value: Any, scalar: str) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    match scalar:
        case "int32" | "int64":
            return is_integer and -(2 ** (_BITS[scalar] - 1)) <= value < 2 ** (_BITS[scalar] - 1)
        case "int-or-string":
            return isinstance(value, str) or (is_integer and -(2**31) <= value < 2**31)
        case "bool":
            return isinstance(value, bool)
        case "double":
            return is_integer or isinstance(value, float)
        case "any" | "quantity":
            return True
        case _:
            return isinstance(value, str)


def json_kind(value: Any) -> str:
    """What Go calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def _go_name(of: Field) -> str:
    """`core.v1.Container` is `v1.Container` in Go's words."""
    return ".".join(of.of.split(".")[-2:]) if of.of_objects else _GO_SCALARS.get(of.of, of.of)


def _go_map(of: Field) -> str:
    # The only maps of quantities are resource lists, which have a name.
    return "v1.ResourceList" if of.of == "quantity" else f"map[string]{_go_name(of)}"
