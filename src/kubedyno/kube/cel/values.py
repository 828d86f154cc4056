"""The values of expressions that Python does not have itself, and what is common to all values.

int, double, string, bytes, bool, null are Python's; a list is a `list` or `tuple`; a map is a `Mapping` of texts, or
a `KeyedMap` when its keys may be something else. Objects of the API are therefore values as they are.
"""

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from kubedyno.kube.quantities import Quantity

LEAST_INT: Final = -(2**63)
MOST_INT: Final = 2**63 - 1
MOST_UINT: Final = 2**64 - 1
NANOS: Final = 10**9
_LEAST_PLAIN_POWER: Final = -4
_LEAST_POWER: Final = 6


class Uint(int):
    """An unsigned number of 64 bits."""

    __slots__ = ()


class Timestamp(msgspec.Struct, frozen=True):
    """A moment: nanoseconds since 1970; `offset` is the zone it was written in, in seconds: only printing shows it."""

    nanos: int
    offset: int = 0


class Duration(msgspec.Struct, frozen=True):
    """A length of time in nanoseconds."""

    nanos: int


class TypeValue(msgspec.Struct, frozen=True):
    """A type as a value: what `type(x)` gives."""

    name: str


class Maybe(msgspec.Struct, frozen=True):
    """An optional value: none, or some."""

    has: bool
    value: Any = None


NONE: Final = Maybe(has=False)


def some(value: Any) -> Maybe:
    """An optional value that is there."""
    return Maybe(has=True, value=value)


class Url(msgspec.Struct, frozen=True):
    """An absolute URL or path, in its parts as Go's net/url has them; `port` with its meaning, not its default."""

    scheme: str
    host: str
    hostname: str
    port: str
    escaped_path: str
    query: str
    text: str


class Ip(msgspec.Struct, frozen=True):
    """An address: `version` 4 or 6."""

    version: int
    number: int


class Cidr(msgspec.Struct, frozen=True):
    """A network, or an address with the length of its network's prefix."""

    ip: Ip
    bits: int


class Semver(msgspec.Struct, frozen=True):
    """A semantic version; identifiers of the pre-release are numbers where they are written so."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()


class Format(msgspec.Struct, frozen=True):
    """One of the named formats of Kubernetes (`format.dns1123Label()`)."""

    name: str


class Defaulted(dict[str, Any]):
    """A map in which every key can be looked up: those that are not there lead to an empty map."""


class KeyedMap:
    """A map whose keys may be numbers and booleans: `1` and `1u` are different, but looked up they find each other."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[tuple[str, Any], tuple[Any, Any]] = {}

    def put(self, key: Any, value: Any) -> None:
        """Set an entry; a second one of the same key takes its place."""
        self._entries[type_name(key), _hashable(key)] = (key, value)

    def find(self, key: Any) -> tuple[bool, Any]:
        """Whether there is such a key, and its value."""
        for name in _names_to_try(key):
            entry = self._entries.get((name, _hashable(key)))
            if entry is not None:
                return True, entry[1]
        return False, None

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values in the order they were written."""
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


_NAMES: Final[dict[type, str]] = {
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    bool: "bool",
    type(None): "null_type",
    list: "list",
    tuple: "list",
    dict: "map",
    KeyedMap: "map",
    Defaulted: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeValue: "type",
    Maybe: "optional_type",
    Quantity: "kubernetes.Quantity",
    Url: "kubernetes.URL",
    Ip: "net.IP",
    Cidr: "net.CIDR",
    Semver: "kubernetes.Semver",
    Format: "kubernetes.NamedFormat",
}
_GO_TYPES: Final = {
    "int": "types.Int", "uint": "types.Uint", "double": "types.Double", "string": "types.String",
    "bytes": "types.Bytes", "bool": "types.Bool", "null_type": "types.Null", "type": "*types.Type",
    "google.protobuf.Timestamp": "types.Timestamp", "google.protobuf.Duration": "types.Duration",
    "optional_type": "*types.Optional", "kubernetes.Quantity": "cel.Quantity", "kubernetes.Semver": "cel.Semver",
    "kubernetes.URL": "cel.URL", "net.IP": "cel.IP", "net.CIDR": "cel.CIDR",
}  # fmt: skip
TYPE_NAMES: Final = frozenset(_NAMES.values())


def type_name(value: Any) -> str:
    """The name of its type, as `type(value)` shows it."""
    name = _NAMES.get(type(value))
    if name is not None:
        return name
    return "map" if isinstance(value, Mapping) else type(value).__name__


def go_type(value: Any) -> str:
    """The type that holds it in cel-go: some messages tell it."""
    name = type_name(value)
    return _GO_TYPES.get(name, name)


def _hashable(key: Any) -> Any:
    return key if isinstance(key, (int, float, str, bytes)) else repr(key)


def _names_to_try(key: Any) -> tuple[str, ...]:
    """Numbers find keys of other numeric types when these are whole; a double finds no other double that is one."""
    kind = type(key)
    if kind is int:
        return ("int", "uint")
    if kind is Uint:
        return ("uint", "int")
    if kind is float:
        return ("double", "int", "uint") if key.is_integer() else ("double",)
    return (type_name(key),)


def found_in(held: Any, key: Any) -> tuple[bool, Any]:
    """Look a key up in a map: whether it is there, and its value."""
    if type(held) is KeyedMap:
        return held.find(key)
    if type(key) is str and key in held:
        return True, held[key]
    return (True, {}) if type(held) is Defaulted else (False, None)


def contains_key(held: Any, key: Any) -> bool:
    """Whether `key in map`: what is only there by default does not count."""
    return held.find(key)[0] if type(held) is KeyedMap else type(key) is str and key in held


def entries(held: Any) -> Iterator[tuple[Any, Any]]:
    """The keys and values of a map."""
    return iter(held.items())


def is_map(value: Any) -> bool:
    """Whether it is a map of any kind."""
    return type(value) is dict or type(value) is KeyedMap or isinstance(value, Mapping)


def is_list(value: Any) -> bool:
    """Whether it is a list of any kind."""
    return type(value) is list or type(value) is tuple


def is_number(value: Any) -> bool:
    """Whether it is an int, a uint or a double."""
    kind = type(value)
    return kind is int or kind is float or kind is Uint


def equal(one: Any, other: Any) -> bool:  # noqa: PLR0911 - one rule per kind of value
    """Whether `one == other`: numbers by what they are worth, all else only within its type."""
    if is_number(one):
        return is_number(other) and number_order(one, other) == 0
    if is_list(one):
        return is_list(other) and len(one) == len(other) and all(map(equal, one, other))
    if is_map(one):
        return is_map(other) and len(one) == len(other) and all(_same_entry(other, *entry) for entry in entries(one))
    if type(one) is Maybe:
        if type(other) is not Maybe or one.has != other.has:
            return False
        return not one.has or equal(one.value, other.value)
    if type(one) is Semver:
        # Build metadata has no part in the order, and so none in equality.
        return type(other) is Semver and semver_order(one, other) == 0
    if type(one) is Timestamp:
        return type(other) is Timestamp and one.nanos == other.nanos
    return type(one) is type(other) and bool(one == other)


def number_order(one: float, other: float) -> int | None:
    """-1, 0 or 1 across numeric types; None when one is no number. A whole number meets a double as a double."""
    if type(one) is float or type(other) is float:
        one, other = float(one), float(other)
        if math.isnan(one) or math.isnan(other):
            return None
    return int(one > other) - int(one < other)


def _same_entry(held: Any, key: Any, value: Any) -> bool:
    there, found = found_in(held, key)
    return there and equal(value, found)


def semver_order(one: Semver, other: Semver) -> int:
    """-1, 0 or 1; a pre-release comes before its release."""
    first, second = (one.major, one.minor, one.patch), (other.major, other.minor, other.patch)
    if first != second:
        return 1 if first > second else -1
    if not one.pre or not other.pre:
        return bool(other.pre) - bool(one.pre)
    for left, right in zip(one.pre, other.pre, strict=False):
        if left == right:
            continue
        if isinstance(left, int) != isinstance(right, int):
            return -1 if isinstance(left, int) else 1
        return 1 if left > right else -1  # type: ignore[operator]  # both are numbers, or both are texts
    return (len(one.pre) > len(other.pre)) - (len(one.pre) < len(other.pre))


def go_float(value: float) -> str:
    """A double as Go's `%g` prints it: the fewest digits that say it, with an exponent from a million on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) - 1 + int(exponent)
    if _LEAST_PLAIN_POWER <= power < _LEAST_POWER:
        return f"{Decimal(repr(value)).normalize():f}"
    mantissa = "".join(map(str, digits))
    point = f"{mantissa[0]}.{mantissa[1:]}" if len(mantissa) > 1 else mantissa
    return f"{'-' if sign else ''}{point}e{'-' if power < 0 else '+'}{abs(power):02d}"
