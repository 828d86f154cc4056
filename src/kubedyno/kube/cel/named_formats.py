"""Kubernetes' named formats: `format.dns1123Label().validate(text)`."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from datetime import date
from typing import Final

from kubedyno.kube.cel.addresses import url_problem
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.values import NONE, Format, Maybe, some
from kubedyno.kube.gotimes import time_problem

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253
_UUID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PARTS: Final = 2


def _too_long(text: str, most: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {most} {unit}"] if len(text.encode()) > most else []


def _unlike(text: str, pattern: str, said: str, *examples: str) -> list[str]:
    """The complaint of a text that a pattern does not fit, with examples of such that it does."""
    if re.fullmatch(pattern, text):
        return []
    shown = ",  or ".join(f"'{example}'" for example in examples)
    return [f"{said} (e.g. {shown}, regex used for validation is '{pattern}')"]


def _label(text: str) -> list[str]:
    problems = _too_long(text, _LABEL_LENGTH)
    if not re.fullmatch(_LABEL, text) and re.fullmatch(_SUBDOMAIN, text):
        return [*problems, "must not contain dots"]
    said = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return problems + _unlike(text, _LABEL, said, "my-name", "123-abc")


def _subdomain(text: str) -> list[str]:
    said = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return _too_long(text, _SUBDOMAIN_LENGTH) + _unlike(text, _SUBDOMAIN, said, "example.com")


def _dns1035(text: str) -> list[str]:
    said = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    return _too_long(text, _LABEL_LENGTH) + _unlike(text, _DNS1035, said, "my-name", "abc-123")


def _qualified(text: str) -> list[str]:
    said = (
        "must consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character"
    )
    examples = ("MyName", "my.name", "123-abc")
    parts = text.split("/")
    if len(parts) > _PARTS:
        shown = _unlike("", _QUALIFIED, f"a valid label key {said}", *examples)[0]
        return [f"{shown} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems: list[str] = []
    if len(parts) == _PARTS:
        found = ["prefix part must be non-empty"] if not parts[0] else []
        problems = found or [f"prefix part {problem}" for problem in _subdomain(parts[0])]
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    else:
        problems += [f"name part {problem}" for problem in _too_long(name, _LABEL_LENGTH, "bytes")]
    return problems + [f"name part {problem}" for problem in _unlike(name, _QUALIFIED, said, *examples)]


def _label_value(text: str) -> list[str]:
    said = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character"
    )
    problems = _too_long(text, _LABEL_LENGTH, "bytes")
    return problems + _unlike(text, f"({_QUALIFIED})?", said, "MyValue", "my_value", "12345")


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Of prefixes of names, which may end with a dash."""
    return lambda text: check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _uri(text: str) -> list[str]:
    problem = url_problem(text)
    return [f"parse {json.dumps(text, ensure_ascii=False)}: {problem}"] if problem else []


def _byte(text: str) -> list[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return [] if text else ["invalid base64"]


def _date(text: str) -> list[str]:
    try:
        date.fromisoformat(text)
    except ValueError:
        return ["invalid date"]
    return [] if _DATE.fullmatch(text) else ["invalid date"]


_CHECKS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": _label,
    "dns1123Subdomain": _subdomain,
    "dns1035Label": _dns1035,
    "qualifiedName": _qualified,
    "dns1123LabelPrefix": _prefix(_label),
    "dns1123SubdomainPrefix": _prefix(_subdomain),
    "dns1035LabelPrefix": _prefix(_dns1035),
    "labelValue": _label_value,
    "uri": _uri,
    "uuid": lambda text: [] if _UUID.fullmatch(text) else ["does not match the UUID format"],
    "byte": _byte,
    "date": _date,
    "datetime": lambda text: ["invalid datetime"] if time_problem(text) else [],
}


def _validated(named: Format, text: str) -> Maybe:
    problems = _CHECKS[named.name](text)
    return some(problems) if problems else NONE


def _named(name: str) -> Maybe:
    return some(Format(name)) if name in _CHECKS else NONE


def _constant(name: str) -> Callable[[], Format]:
    return lambda: Format(name)


FUNCTIONS: Final[Library] = {
    **{f"format.{name}": (of("", _constant(name)),) for name in _CHECKS},
    "format.named": (of("string", _named),),
    "validate": (on("format string", _validated),),
}
