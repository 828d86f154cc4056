"""Rules of config maps, secrets and service accounts."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.fields import NO_FIELD, immutable
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import annotations
from kubedyno.kube.problems import Problem, forbidden, invalid, required, too_long

_SIZE_LIMIT: Final = 1024 * 1024
_ACCOUNT_ANNOTATION: Final = "kubernetes.io/service-account.name"
_FROZEN: Final = "field is immutable when `immutable` is set"
_DOCKER_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def _key_problems(key: str, path: str) -> Iterator[Problem]:
    for told in texts.config_key(key):
        yield invalid(f"{path}[{key}]", key, told)


def _decoded_size(encoded: str | None) -> int:
    return len(base64.b64decode(encoded or ""))


def _config_map(config: Object) -> Iterator[Problem]:
    data, binary = config.get("data") or {}, config.get("binaryData") or {}
    for key in data:
        yield from _key_problems(key, "data")
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from _key_problems(key, "binaryData")
    size = sum(map(texts.byte_length, data.values())) + sum(map(_decoded_size, binary.values()))
    if size > _SIZE_LIMIT:
        yield too_long(NO_FIELD, _SIZE_LIMIT)


def _update_config_map(new: Object, old: Object) -> Iterator[Problem]:
    yield from _frozen_problems(new, old, "data", "binaryData")
    yield from _config_map(new)


def _frozen_problems(new: Object, old: Object, *fields: str) -> Iterator[Problem]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", _FROZEN)
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            yield forbidden(field, _FROZEN)


def _secret(secret: Object) -> Iterator[Problem]:
    data = secret.get("data") or {}
    for key in data:
        yield from _key_problems(key, "data")
    if sum(map(_decoded_size, data.values())) > _SIZE_LIMIT:
        yield too_long("data", _SIZE_LIMIT)
    yield from _type_problems(secret, data)


def _type_problems(secret: Object, data: Mapping[str, Any]) -> Iterator[Problem]:
    """What the type of a secret promises must be in it."""
    match secret.get("type", ""):
        case "kubernetes.io/service-account-token":
            if not annotations(secret).get(_ACCOUNT_ANNOTATION):
                yield required(f"metadata.annotations[{_ACCOUNT_ANNOTATION}]")
        case "kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson" as kind:
            yield from _docker_problems(data, _DOCKER_KEYS[kind])
        case "kubernetes.io/basic-auth":
            if not data.keys() & {"username", "password"}:
                yield from (required(f"data[{key}]") for key in ("username", "password"))
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield required("data[ssh-privatekey]")
        case "kubernetes.io/tls":
            yield from (required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data)


def _docker_problems(data: Mapping[str, Any], key: str) -> Iterator[Problem]:
    if key not in data:
        yield required(f"data[{key}]")
        return
    content = base64.b64decode(data[key] or "")
    if told := _json_complaint(content):
        yield invalid(f"data[{key}]", "<secret contents redacted>", told)


def _json_complaint(content: bytes) -> str:
    """What Go says of a text that is no JSON object."""
    try:
        value = json.loads(content)
    except ValueError:
        return _syntax_complaint(content.decode(errors="replace"))
    if value is None or isinstance(value, dict):
        return ""
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    return f"json: cannot unmarshal {kinds[type(value)]} into Go value of type map[string]interface {{}}"


def _syntax_complaint(text: str) -> str:
    stripped = text.lstrip(" \t\r\n")
    if not stripped:
        return "unexpected end of JSON input"
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text):
            return "unexpected end of JSON input"
        if error.pos == len(text) - len(stripped):
            return f"invalid character '{stripped[0]}' looking for beginning of value"
        return f"invalid character '{text[error.pos]}' in string literal"
    return ""


def _update_secret(new: Object, old: Object) -> Iterator[Problem]:
    yield from immutable(new.get("type", ""), old.get("type", ""), "type")
    yield from _frozen_problems(new, old, "data")
    yield from _secret(new)


def _anything(_account: Object) -> Iterator[Problem]:
    yield from ()


def _any_change(_new: Object, _old: Object) -> Iterator[Problem]:
    yield from ()


RULES: Final = {
    ("", "ConfigMap"): Rules(create=_config_map, update=_update_config_map),
    ("", "Secret"): Rules(create=_secret, update=_update_secret),
    ("", "ServiceAccount"): Rules(create=_anything, update=_any_change),
}
