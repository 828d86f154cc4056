"""Bodies in protobuf, as Kubernetes' generated Go clients send those of its own kinds: read to what JSON would be.

These clients cannot be told otherwise from outside: the imperative commands of kubectl (`create namespace`, `drain`)
and KWOK's leases are among them. Answers are JSON, which they all accept. Kinds that are not Kubernetes' own are
refused with a sentence that says what to set.
"""

import base64
import functools
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kubedyno.kube import schema, status
from kubedyno.kube.codec import Object
from kubedyno.kube.schema import Field
from kubedyno.server import numbers
from kubedyno.server.messages import Refused, bad_request
from kubedyno.server.wire import broken, fields, signed, text

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_DELETE_OPTIONS = "meta.v1.DeleteOptions"


def decode_object(body: bytes) -> Object:
    """The object of a body, with the version and kind that it says; 415 for kinds that are read as JSON only."""
    api_version, kind, raw = _unwrapped(body)
    found = schema.type_of(api_version, kind)
    if found is None or numbers.fields_by_number(found.name) is None:
        raise Refused(
            status.failure(
                415,
                f"the embedded engine reads {kind} of {api_version} as JSON, not as protobuf: set the client's content "
                "type to application/json (client-go: rest.Config.ContentType, kube-scheduler: "
                "clientConnection.contentType), or use the local engine",
            )
        )
    return {"kind": kind, "apiVersion": api_version, **_message(raw, found.name)}


def decode_delete_options(body: bytes) -> Object:
    """The DeleteOptions of a delete. Clients name them after the group of what they delete."""
    _, kind, raw = _unwrapped(body)
    if kind != "DeleteOptions":
        raise bad_request(f"the body is a {kind}, not DeleteOptions")
    return _message(raw, _DELETE_OPTIONS)


def _unwrapped(body: bytes) -> tuple[str, str, bytes]:
    """Kubernetes' envelope: a magic number and a `runtime.Unknown` with version, kind and the object's bytes."""
    if not body.startswith(_MAGIC):
        raise bad_request("the body says that it is protobuf, but does not begin like Kubernetes' envelope")
    parts = dict(fields(body[len(_MAGIC) :]))
    named = dict(fields(parts.get(1, b"")))
    raw = parts.get(2, b"")
    if not isinstance(raw, bytes):
        raise broken()
    return text(named.get(1, b"")), text(named.get(2, b"")), raw


def _message(raw: Any, type_name: str) -> Object:
    """A message as the object that JSON would have. Empty values are there as well, for `normalizing` to drop."""
    made: Object = {}
    _fill(made, raw, schema.type_named(type_name).fields, type_name)
    return made


def _fill(made: Object, raw: Any, known: Mapping[str, Field], message: str) -> None:
    """Enter the fields of a message. One that JSON inlines fills the same object."""
    by_number = numbers.fields_by_number(message) or {}
    for number, value in fields(raw):
        name = by_number.get(number)
        if name is None:
            continue  # a field of a newer version: it would be dropped all the same
        if name.startswith("@"):
            _fill(made, value, known, name[1:])
            continue
        field = known[name]
        read = _reader(field.of, is_object=field.of_objects, micro=field.micro)
        if field.shape == "list":
            made.setdefault(name, []).append(read(value))
        elif field.shape == "map":
            entry = dict(fields(value))
            made.setdefault(name, {})[text(entry.get(1, b""))] = read(entry.get(2, b""))
        else:
            made[name] = read(value)


@functools.cache
def _reader(of: str, *, is_object: bool, micro: bool) -> Callable[[Any], Any]:
    """What reads a single value of a field's type."""
    if is_object:
        return functools.partial(_message, type_name=of)
    return _micro_time if micro else _READERS[of]


def _bytes(value: Any) -> str:
    if not isinstance(value, bytes):
        raise broken()
    return base64.b64encode(value).decode()


def _double(value: Any) -> float:
    if not isinstance(value, bytes) or len(value) != 8:  # noqa: PLR2004 - bytes of a double
        raise broken()
    found: float = struct.unpack("<d", value)[0]
    return found


def _time(value: Any) -> str | None:
    """A time in whole seconds; empty bytes are none."""
    moment, _ = _moment(value)
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%S}Z"


def _micro_time(value: Any) -> str | None:
    moment, nanoseconds = _moment(value)
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds // 1000:06d}Z"


def _moment(value: Any) -> tuple[datetime | None, int]:
    parts = dict(fields(value))
    if not parts:
        return None, 0
    try:
        return datetime.fromtimestamp(signed(parts.get(1, 0)), tz=UTC), signed(parts.get(2, 0))
    except (ValueError, OverflowError, OSError):
        raise broken() from None


def _quantity(value: Any) -> str:
    return text(dict(fields(value)).get(1, b""))


def _int_or_string(value: Any) -> int | str:
    parts = dict(fields(value))
    return text(parts.get(3, b"")) if parts.get(1) else signed(parts.get(2, 0))


def _any(value: Any) -> Any:
    """Free-form values travel as JSON."""
    raw = text(dict(fields(value)).get(1, b""))
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, RecursionError):
        raise broken() from None


def _texts(value: Any) -> list[str]:
    return [text(item) for number, item in fields(value) if number == 1]


def _bool(value: Any) -> bool:
    return bool(signed(value))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "string": text,
    "bool": _bool,
    "int32": signed,
    "int64": signed,
    "double": _double,
    "bytes": _bytes,
    "time": _time,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "any": _any,
    "[]string": _texts,
}
