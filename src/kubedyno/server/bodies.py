"""Reading the body of a request: JSON or YAML to an object of the kind that the path says."""

import functools
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from kubedyno.kinds import conversions
from kubedyno.kube import decoding, goyaml, schema, status
from kubedyno.kube.codec import Object
from kubedyno.kube.gojson import json_problem
from kubedyno.kube.nesting import too_deep
from kubedyno.kube.resources import Resource, UnknownResource, by_kind
from kubedyno.server import protobuf
from kubedyno.server.catalogue import Kind, Understood
from kubedyno.server.messages import JSON, Refused, bad_request
from kubedyno.server.options import FieldValidation

YAML = "application/yaml"
MAX_BYTES = 3 * 1024 * 1024

_SHOWN_BYTES = 30
_INTEGER_MAX_CHARS = 300
"""Longer ones are out of the range of a float, too."""
SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'


class Read(msgspec.Struct, frozen=True):
    """An object as the server understands it, and what its sender is to be warned of."""

    object: Object
    warnings: tuple[str, ...] = ()


def media_type(content_type: str) -> str:
    """Without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def read_object(kind: Kind, body: bytes, content_type: str, validation: FieldValidation) -> Read:
    """The object of a create or update, checked against the type of its kind."""
    resource = kind.resource
    media = media_type(content_type)
    if media == JSON or not content_type:
        obj, duplicates = _from_json(body, resource, look_for_duplicates=validation != "Ignore")
    elif media == YAML:
        obj, duplicates = _from_yaml(body, resource, strict=validation == "Strict")
    elif media == protobuf.MEDIA_TYPE:
        obj, duplicates = protobuf.decode_object(body), []
    else:
        raise unknown_format()
    if kind.is_custom:
        _check_custom_kind(obj, resource, body)
    else:
        check_kind(obj, kind)
    understood = kind.read(obj)
    if understood.error:
        raise bad_request(f"{_unreadable(resource)}{understood.error}")
    found = [*duplicates, *unknown_fields(understood)]
    return Read(understood.object, complaints(kind, found, validation))


def unknown_format() -> Refused:
    """415 of a body."""
    said = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{JSON}, {YAML}, {protobuf.MEDIA_TYPE}"
    )
    return Refused(status.failure(415, said))


def complaints(kind: Kind, found: Sequence[str], validation: FieldValidation) -> tuple[str, ...]:
    """What to warn of; under strict validation it is refused instead."""
    if not found or validation == "Ignore":
        return ()
    if validation == "Strict":
        told = ", ".join(found)
        raise bad_request(f"{_unreadable(kind.resource)}strict decoding error: {told}")
    return tuple(found)


def unknown_fields(understood: Understood) -> list[str]:
    """What the decoder tells of fields that the kind does not have."""
    return [f'unknown field "{field}"' for field in understood.unknown]


def _unreadable(resource: Resource) -> str:
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '


def check_kind(obj: Object, kind: Kind) -> None:
    """An object that says another kind or version than the path is refused; one that says none is of the path's."""
    problem = kind_problem(obj, kind)
    if problem:
        said_kind, version = obj.get("kind") or kind.resource.kind, obj.get("apiVersion") or kind.resource.api_version
        if _is_of_another_version(version, said_kind, kind):
            raise _other_version(version, kind.resource)
        raise bad_request(
            f'{said_kind} in version "{str(version).rpartition("/")[2]}" cannot be handled as a '
            f"{kind.resource.kind}: {problem}"
        )


def _is_of_another_version(version: str, said_kind: str, kind: Kind) -> bool:
    try:
        return conversions.storage_resource(by_kind(version, said_kind)) == kind.stored
    except UnknownResource:
        return False


def _other_version(version: str, resource: Resource) -> Refused:
    return bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
    )


def _check_custom_kind(obj: Object, resource: Resource, body: bytes) -> None:
    """An object of a custom kind must say its version, and some kind: whether it is the right one is for the rules."""
    version = obj.get("apiVersion") or ""
    if not isinstance(version, str) or not isinstance(obj.get("kind") or "", str):
        name, value = ("apiVersion", version) if not isinstance(version, str) else ("kind", obj["kind"])
        said = f"json: cannot unmarshal {decoding.json_kind(value)} into Go struct field .{name} of type string"
        raise unrecognized(resource.kind, f"couldn't get version/kind; json parse error: {said}", body)
    if not obj.get("kind"):
        said = f"Object 'Kind' is missing in '{body.decode(errors='replace')}'"
        raise unrecognized(resource.kind, said, body)
    if version != resource.api_version:
        raise _other_version(version, resource)


def kind_problem(obj: Object, kind: Kind) -> str:
    """Why an object is none of a kind, by what it says of itself; empty: it may be."""
    if kind.is_custom:
        return ""  # by its rules
    resource = kind.resource
    said_kind, version = obj.get("kind") or resource.kind, obj.get("apiVersion") or resource.api_version
    if (said_kind, version) == (resource.kind, resource.api_version):
        return ""
    for name, value in (("apiVersion", version), ("kind", said_kind)):
        if not isinstance(value, str):
            raise bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): couldn't get version/kind; "
                f"json parse error: json: cannot unmarshal {decoding.json_kind(value)} into Go struct field .{name} "
                "of type string"
            )
    if schema.type_of(version, said_kind) is not None:
        # It is one of Kubernetes' kinds, but not this: Go packages are called for version and group.
        package = kind.stored.group.partition(".")[0] or "core"
        return (
            f"converting ({version.rpartition('/')[2]}.{said_kind}) to ({package}.{resource.kind}): unknown conversion"
        )
    return f'no kind "{said_kind}" is registered for version "{version}" {SCHEME}'


def _from_json(body: bytes, resource: Resource, *, look_for_duplicates: bool) -> tuple[Object, list[str]]:
    try:
        obj = json_value(body)
    except ValueError as error:
        problem = f"couldn't get version/kind; json parse error: {error}"
        raise unrecognized(resource.kind, problem, body) from error
    if obj is None:
        return {}, []
    if not isinstance(obj, dict):
        raise unrecognized(resource.kind, _no_object(obj), body)
    if not look_for_duplicates or _has_no_duplicates(body, obj):
        return obj, []
    readable = _unicode(body)
    duplicates = _duplicates(readable)
    return _united(readable) if duplicates else obj, duplicates


def _from_yaml(body: bytes, resource: Resource, *, strict: bool) -> tuple[Object, list[str]]:
    try:
        obj, duplicates = goyaml.read(body)
    except ValueError as error:
        raise unrecognized(resource.kind, str(error), body) from error
    if obj is not None and not isinstance(obj, dict):
        raise unrecognized(resource.kind, _no_object(obj), body)
    if duplicates and strict:
        return obj or {}, ["\n  ".join(("yaml: unmarshal errors:", *duplicates))]
    return obj or {}, list(duplicates)


def unrecognized(kind: str, problem: str, body: bytes) -> Refused:
    """400 of a body in which no object was found."""
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {problem} ({_shown(body)})")


def json_value(body: bytes) -> Any:
    """The JSON value of a body; `ValueError` with Go's words when it is none."""
    if opener := too_deep(body):
        raise ValueError(f"invalid character '{opener}' exceeded max depth")
    try:
        return msgspec.json.decode(body)
    except ValueError:
        problem = json_problem(body)
    if problem:
        raise ValueError(problem)
    return json.loads(_unicode(body), parse_int=_integer, parse_float=_number)


_ESCAPES = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)


def _unicode(body: bytes) -> str:
    """JSON as Go reads it: what is no Unicode, as bytes or as half of an escaped pair, is replaced."""
    text = body.decode("utf-8", "replace")
    return _ESCAPES.sub(lambda found: "\\ufffd" if found[1] else found[0], text)


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _INTEGER_MAX_CHARS else _number(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return value


def _no_object(value: Any) -> str:
    """Why Go finds no object in it."""
    return (
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {decoding.json_kind(value)} into Go "
        'value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
        'Kind string "json:\\"kind,omitempty\\"" }'
    )


def _shown(body: bytes) -> str:
    """The body as the server's message shows it: text that begins like an object as it is, other bytes in hex."""
    if not body:
        return "<empty>"
    more = " ..." if len(body) > _SHOWN_BYTES else ""
    begin = body[:_SHOWN_BYTES]
    return (begin.decode("utf-8", "replace") if begin.startswith(b"{") else begin.hex()) + more


def _has_no_duplicates(body: bytes, obj: Object) -> bool:
    """Whether it is plain that no key stands twice; nearly always, and then it costs little to know."""
    # Most bodies are written as we would: then nothing got lost. Else, each member has its colon behind a quote.
    return msgspec.json.encode(obj) == body or body.count(b'":') == _members(obj)


def _members(value: Any) -> int:
    """How many members the objects of a tree have, all together."""
    if isinstance(value, dict):
        return len(value) + sum(_members(below) for below in value.values() if isinstance(below, dict | list))
    return sum(_members(below) for below in value if isinstance(below, dict | list))


def _duplicates(body: str) -> list[str]:
    """Keys that stand twice in one object, as the strict decoder tells them."""
    found: list[str] = []

    def walk(value: Any, path: str) -> None:
        if isinstance(value, _Members):
            seen: set[str] = set()
            for name, below in value:
                inner = f"{path}.{name}".lstrip(".")
                if name in seen:
                    found.append(f'duplicate field "{inner}"')
                seen.add(name)
                walk(below, inner)
        elif isinstance(value, list):
            for index, below in enumerate(value):
                walk(below, f"{path}[{index}]")

    walk(json.loads(body, object_pairs_hook=_Members), "")
    return found


def _united(body: str) -> Object:
    """The object with keys that stand twice: Go reads the second object into the first, and other values over it."""

    def united(value: Any) -> Any:
        if isinstance(value, _Members):
            made: Object = {}
            for name, below in value:
                new, old = united(below), made.get(name)
                made[name] = {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new
            return made
        return [united(below) for below in value] if isinstance(value, list) else value

    found: Object = united(json.loads(body, object_pairs_hook=_Members))
    return found


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object with their repetitions."""


def yaml_object(body: bytes) -> Object:
    """One YAML document, with JSON's types only; `ValueError` with Go's words when it is none."""
    value, _ = goyaml.read(body)
    if value is not None and not isinstance(value, dict):
        raise ValueError(_no_object(value))
    return value or {}


@functools.cache
def _dumper() -> type[yaml.SafeDumper]:
    return getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_yaml(body: bytes) -> bytes:
    """A JSON body as YAML."""
    return yaml.dump(msgspec.json.decode(body), Dumper=_dumper(), sort_keys=True).encode()
