"""Reading plain objects: names, labels, owners, conditions, and which names Kubernetes allows.

Objects are JSON trees (`dict`), as the API server sends them. Every accessor tolerates absent and null fields,
because controllers meet half-filled objects all the time; none changes its argument.
"""

import re
from collections.abc import Mapping
from typing import Any

_DNS1123_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_DNS1123_SUBDOMAIN = re.compile(rf"{_DNS1123_LABEL.pattern}(?:\.{_DNS1123_LABEL.pattern})*")
_LABEL_MAX_CHARS = 63
_SUBDOMAIN_MAX_CHARS = 253


def key(obj: Mapping[str, Any]) -> tuple[str, str]:
    """(namespace, name) of the object; the namespace of cluster-scoped objects is the empty string."""
    metadata = obj.get("metadata") or {}
    return metadata.get("namespace") or "", metadata.get("name") or ""


def labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of the object, empty where it has none. Not a copy: do not write to it."""
    found: Mapping[str, str] = (obj.get("metadata") or {}).get("labels") or {}
    return found


def annotations(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of the object, empty where it has none. Not a copy: do not write to it."""
    found: Mapping[str, str] = (obj.get("metadata") or {}).get("annotations") or {}
    return found


def owner_references(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All owner references of the object, in their order."""
    return list((obj.get("metadata") or {}).get("ownerReferences") or [])


def controller_owner(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """The one owner reference that is marked as the managing controller, if there is one."""
    return next((owner for owner in owner_references(obj) if owner.get("controller") is True), None)


def condition(obj: Mapping[str, Any], type_: str) -> dict[str, Any] | None:
    """The entry of `status.conditions` with that type, if there is one."""
    conditions: list[dict[str, Any]] = (obj.get("status") or {}).get("conditions") or []
    for entry in conditions:
        if entry.get("type") == type_:
            return entry
    return None


def is_condition_true(obj: Mapping[str, Any], type_: str) -> bool:
    """Whether the condition is there and its status is `True`; `Unknown` and absence are not."""
    entry = condition(obj, type_)
    return entry is not None and entry.get("status") == "True"


def copied(value: Any) -> Any:
    """A deep copy of a JSON tree; several times faster than `copy.deepcopy`, which must expect anything."""
    if isinstance(value, dict):
        return {name: copied(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [copied(entry) for entry in value]
    return value


def dns1123_label_problem(text: str) -> str | None:
    """Why `text` may not name a namespace or a container; None when it may."""
    if len(text) > _LABEL_MAX_CHARS:
        return f"{text!r} is longer than {_LABEL_MAX_CHARS} characters"
    if not _DNS1123_LABEL.fullmatch(text):
        return (
            f"{text!r} is no DNS-1123 label: use lower case letters, digits and '-', "
            "with a letter or digit at both ends, like 'team-1'"
        )
    return None


def dns1123_subdomain_problem(text: str) -> str | None:
    """Why `text` may not name a pod, a node or most other objects; None when it may."""
    if len(text) > _SUBDOMAIN_MAX_CHARS:
        return f"{text!r} is longer than {_SUBDOMAIN_MAX_CHARS} characters"
    if not _DNS1123_SUBDOMAIN.fullmatch(text):
        return (
            f"{text!r} is no DNS-1123 subdomain: use lower case letters, digits, '-' and '.', "
            "with a letter or digit at both ends of every part, like 'node-1.example'"
        )
    return None
