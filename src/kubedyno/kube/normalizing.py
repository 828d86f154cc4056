"""An object as the API server gives it back: read into Go structs, stored, and printed again, before any defaults.

Fields that the kind does not have and nulls are gone, empty values are printed as the Go structs say (`gostructs`),
quantities and times are canonical. The server stores in a form that knows no difference between an empty list and
none, so `[]` is dropped, or printed as `null` where the list is always printed.

A function is compiled for each type when a kind is first seen; an object then takes one pass over what it has.
"""

import base64
import binascii
import functools
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from kubedyno.kit.errors import UsageError
from kubedyno.kube import schema
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.schema import Field

_Convert = Callable[[Any], Any]
_WHOLE_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_QUANTITY = re.compile(
    r"[+-]?0*(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE])i|[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]?))"
)
_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SMALLEST_SCALE = -9
_DECIMAL_DIGITS = 18
_BINARY_DIGITS = 15
_STORED_AS_JSON = ("apiextensions.", "apiregistration.")  # where an empty list is not forgotten
_LARGEST_PLAIN_NUMBER = 1e21  # Go prints larger ones with an exponent
_ZEROS: Mapping[str, Any] = {
    "string": "", "bool": False, "int32": 0, "int64": 0, "double": 0, "quantity": "0", "int-or-string": 0,
    "bytes": "", "time": None, "any": None,
}  # fmt: skip


def normalized(obj: Object, api_version: str, kind: str) -> Object:
    """A new object as the server would give it back without defaults; kinds not Kubernetes' own come back as they are.

    Values must have the right types already (`decoding` looks at them). The result shares nothing with `obj` that has
    a type; free-form values (a schema's `default`, `managedFields`' sets) are shared.
    """
    found = schema.type_of(api_version, kind)
    return obj if found is None else _of_type(found.name)(obj)


def _of_type(name: str) -> Callable[[Object], Object]:
    """What normalises objects of a type; compiled once, with the types of its fields."""
    if name not in _compiled:
        _compile(name)
    return _compiled[name]


_compiled: dict[str, Callable[[Object], Object]] = {}


def _compile(name: str) -> None:
    plans: dict[str, tuple[_Convert | None, bool]] = {}
    missing: list[tuple[str, Callable[[], Any]]] = []

    def normalise(obj: Object) -> Object:
        made = {}
        for key, value in obj.items():
            if value is None:
                continue
            plan = plans.get(key)
            if plan is None:
                continue
            convert, dropped_when_empty = plan
            if convert is not None:
                value = convert(value)  # noqa: PLW2901 - the next form of the same value
            if value or not dropped_when_empty:
                made[key] = value
        for key, zero in missing:
            if key not in made:
                made[key] = zero()
        return made

    # Known before its fields are looked at: some types contain themselves.
    _compiled[name] = normalise
    special = _SCHEMA_CONVERSIONS if name == _JSON_SCHEMA else {}
    fields = schema.type_named(name).fields
    missing += [(key, _zero(of)) for key, of in fields.items() if of.presence in {"always", "null"}]
    plans |= {
        key: (special.get(key) or _conversion(of), _is_dropped_when_empty(name, of)) for key, of in fields.items()
    }


def _is_dropped_when_empty(owner: str, field: Field) -> bool:
    """Whether `[]` and the like are no more than nothing: for `null` fields the null comes back in their place."""
    is_forgotten = field.shape in {"list", "map"} and not owner.startswith(_STORED_AS_JSON)
    return not field.presence or (field.presence == "null" and is_forgotten)


def _zero(field: Field) -> Callable[[], Any]:
    if field.presence == "null":
        return _nothing
    if field.shape == "object":
        return lambda: _of_type(field.of)({})
    zero = _ZEROS[field.of]
    return lambda: zero


def _nothing() -> None:
    return None


def _conversion(field: Field) -> _Convert | None:
    """What a value of the field becomes; None: it stays what it is."""
    one = _item_conversion(field)
    match field.shape:
        case "list":
            return _list_conversion(one, _item_zero(field))
        case "map":
            return _map_conversion(one, _item_zero(field))
        case _:
            return one


def _item_conversion(field: Field) -> _Convert | None:
    if field.of_objects:
        return _of_type(field.of)
    return _micro_time if field.micro else _CONVERSIONS.get(field.of)


def _item_zero(field: Field) -> Callable[[], Any]:
    """What a null among the items of a list or the values of a map stands for."""
    if field.of_objects:
        return lambda: _of_type(field.of)({})
    if field.of == "[]string":
        return list
    zero = _ZEROS[field.of]
    return lambda: zero


def _list_conversion(one: _Convert | None, zero: Callable[[], Any]) -> _Convert:
    if one is None:
        return lambda items: [zero() if item is None else item for item in items] if None in items else [*items]
    convert = one
    return lambda items: [zero() if item is None else convert(item) for item in items]


def _map_conversion(one: _Convert | None, zero: Callable[[], Any]) -> _Convert:
    if one is None:
        # Most maps are of texts, and none has a null: the copy is one step.
        return lambda values: _without_nulls(values, zero) if None in values.values() else {**values}
    convert = one
    return lambda values: {key: zero() if value is None else convert(value) for key, value in values.items()}


def _without_nulls(values: dict[str, Any], zero: Callable[[], Any]) -> dict[str, Any]:
    return {key: zero() if value is None else value for key, value in values.items()}


def _quantity(written: str | float) -> str:
    return _canonical_quantity(written if isinstance(written, str) else repr(written))


@functools.lru_cache(maxsize=4096)
def _canonical_quantity(text: str) -> str:
    try:
        canonical = str(Quantity.parse(text.strip()))
    except UsageError:
        return text  # refused by whoever reads the object
    return text if _is_kept_as_written(text) else canonical


def _is_kept_as_written(text: str) -> bool:
    """Whether Kubernetes takes a quantity for canonical without a closer look: `1.125` and `+5` stay so."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return False
    whole, fraction = match["whole"] or "0", match["fraction"] or ""
    if match["binary"]:
        tens = 1 + "KMGTPE".index(match["binary"])
        return not fraction and len(whole) + 3 * tens < _BINARY_DIGITS and int(whole) % 8 != 0
    exponent = int(match["exponent"]) if match["exponent"] else _EXPONENTS[match["suffix"]]
    scale, digits = exponent - len(fraction), whole + fraction
    is_exact = len(digits) <= _DECIMAL_DIGITS and scale >= _SMALLEST_SCALE
    return is_exact and scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")


@functools.lru_cache(maxsize=4096)
def _time(text: str) -> str:
    if _WHOLE_SECONDS.fullmatch(text):
        return text
    read = _read_time(text)
    return text if read is None else f"{read:%Y-%m-%dT%H:%M:%S}Z"


def _micro_time(text: str) -> str:
    read = _read_time(text)
    return text if read is None else f"{read:%Y-%m-%dT%H:%M:%S.%f}Z"


def _read_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # refused by whoever reads the object


def _bytes(text: str) -> str:
    try:
        return base64.b64encode(base64.b64decode(text)).decode()
    except binascii.Error:
        return text  # refused by whoever reads the object


def _double(number: Any) -> Any:
    whole = isinstance(number, float) and number.is_integer() and abs(number) < _LARGEST_PLAIN_NUMBER
    return int(number) if whole else number


_CONVERSIONS: Mapping[str, _Convert] = {
    "quantity": _quantity,
    "time": _time,
    "bytes": _bytes,
    "double": _double,
    "[]string": list,
}

# A JSON schema's fields that are one of several things; the table of types calls them `any`.
_JSON_SCHEMA = "apiextensions.v1.JSONSchemaProps"


def _schema_or_other(value: Any) -> Any:
    if isinstance(value, dict):
        return _of_type(_JSON_SCHEMA)(value)
    return [_schema_or_other(item) for item in value] if isinstance(value, list) else value


def _dependencies(values: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value == [] else _schema_or_other(value) for key, value in values.items()}


_SCHEMA_CONVERSIONS: Mapping[str, _Convert] = {
    "items": _schema_or_other,
    "additionalItems": _schema_or_other,
    "additionalProperties": _schema_or_other,
    "dependencies": _dependencies,
}
