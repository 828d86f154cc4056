"""Structural schemas: what makes a schema one.

It says for every field what it is, outside of `anyOf` and the like, so that unknown fields can be told. Schemas are
looked at as they are written.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from kubedyno.kinds.custom import patterns
from kubedyno.kube.problems import Problem, forbidden, invalid, required

Raw = Mapping[str, Any]
_Level = Literal["root", "item", "field"]

_UNTYPED = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS = ("anyOf", "allOf", "oneOf")


def children(raw: Raw) -> Iterator[tuple[str, Raw]]:
    """Schemas right below one, with what their place adds to its path."""
    if isinstance(raw.get("items"), Mapping):
        yield ".items", raw["items"]
    for name, below in (raw.get("properties") or {}).items():
        yield f".properties[{name}]", below
    if isinstance(raw.get("additionalProperties"), Mapping):
        yield ".additionalProperties", raw["additionalProperties"]
    for junctor in _JUNCTORS:
        for index, below in enumerate(raw.get(junctor) or ()):
            yield f".{junctor}[{index}]", below
    if raw.get("not") is not None:
        yield ".not", raw["not"]


def structure_problems(raw: Raw, place: str) -> list[Problem]:
    """Where the schema is not structural, in the order of what is told."""
    found = [*_invariants(raw, "root", place), *_completeness(raw, raw, place, place)]
    return sorted(found, key=lambda one: f"{one.field}: {one.message}")


def _invariants(raw: Raw, level: _Level, path: str) -> Iterator[Problem]:
    type_ = raw.get("type") or ""
    if type_ == "array" and raw.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(raw.get("items"), dict):
        yield from _invariants(raw["items"], "item", f"{path}.items")
    properties = raw.get("properties") or {}
    for name, below in properties.items():
        yield from _invariants(below, "field", f"{path}.properties[{name}]")
    additional = raw.get("additionalProperties")
    if additional is not None and level == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, Mapping):
        yield from _invariants(additional, "field", f"{path}.additionalProperties")
    yield from _extension_problems(raw, path)
    yield from _value_rules(raw, path, skipped=_skipped(raw))
    yield from _type_problems(raw, level, path)
    if level == "root" or raw.get("x-kubernetes-embedded-resource"):
        yield from _resource_problems(properties, path)
    if level == "root" and "metadata" in properties:
        yield from _metadata_problems(properties["metadata"], f"{path}.properties[metadata]")


def _resource_problems(properties: Raw, path: str) -> Iterator[Problem]:
    """The types of what all Kubernetes objects have, where a schema names it."""
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        found = properties.get(name, {"type": wanted}).get("type") or ""
        if found != wanted:
            yield invalid(f"{path}.properties[{name}].type", found, f"must be {wanted}")


def _extension_problems(raw: Raw, path: str) -> Iterator[Problem]:
    if not raw.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if raw.get(name):
            yield invalid(f"{path}.{name}", value=True, detail="must be false if x-kubernetes-int-or-string is true")


def _type_problems(raw: Raw, level: _Level, path: str) -> Iterator[Problem]:
    type_ = raw.get("type") or ""
    preserves, embedded = raw.get("x-kubernetes-preserve-unknown-fields"), raw.get("x-kubernetes-embedded-resource")
    if embedded and type_ != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", type_, detail) if type_ else required(f"{path}.type", detail)
    elif not type_ and not raw.get("x-kubernetes-int-or-string") and not preserves:
        yield required(f"{path}.type", _UNTYPED[level])
    if embedded and raw.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", detail)
    if level == "root" and type_ not in {"", "object"}:
        yield invalid(f"{path}.type", type_, "must be object at the root")
    if embedded and not preserves and not raw.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", detail)


def _metadata_problems(raw: Raw, path: str) -> Iterator[Problem]:
    """At the root a schema may restrict the names in metadata, and nothing else."""
    names = set(raw.get("properties") or ())
    others = {name for name, value in raw.items() if value and name not in {"type", "default", "properties"}}
    if names - {"name", "generateName"} or others:
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(path, detail)


def _skipped(raw: Raw) -> str:
    """Where types may be named although they are nested: the two ways to say integer or string."""
    if raw.get("anyOf") == _INT_OR_STRING:
        return "anyOf"
    first = (raw.get("allOf") or [{}])[0]
    return "allOf" if first.get("anyOf") == _INT_OR_STRING else ""


def _value_rules(raw: Raw, path: str, skipped: str = "") -> Iterator[Problem]:
    """The rules for values: alternatives must not say what things are."""
    for junctor in _JUNCTORS:
        for index, below in enumerate(raw.get(junctor) or ()):
            if junctor == "anyOf" and skipped == "anyOf":
                continue
            inner = "anyOf" if junctor == "allOf" and skipped == "allOf" and index == 0 else ""
            yield from _nested(below, f"{path}.{junctor}[{index}]", inner)
    if raw.get("not") is not None:
        yield from _nested(raw["not"], f"{path}.not")
    if (pattern := raw.get("pattern")) and (told := patterns.problem(pattern)):
        yield invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {told}")


_NESTED_FORBIDDEN = (
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    ("x-kubernetes-preserve-unknown-fields", "false"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-validations", "empty"),
)
_SET_WHEN_EMPTY = frozenset(["default", "additionalProperties"])


def _nested(raw: Raw, path: str, skipped: str = "") -> Iterator[Problem]:
    yield from _value_rules(raw, path, skipped)
    if raw.get("items") is not None:
        yield from _nested(raw["items"], f"{path}.items")
    for name, below in (raw.get("properties") or {}).items():
        yield from _nested(below, f"{path}.properties[{name}]")
    for name, wanted in _NESTED_FORBIDDEN:
        value = raw.get(name)
        is_set = value is not None and value is not False if name in _SET_WHEN_EMPTY else bool(value)
        if is_set or (name == "default" and value is False):
            yield forbidden(f"{path}.{name}", f"must be {wanted} to be structural")
    if "metadata" in (raw.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(raw: Raw, structure: Raw, place: str, path: str) -> Iterator[Problem]:
    """What alternatives at the root name must be named outside of them too."""
    for junctor in _JUNCTORS:
        for index, below in enumerate(raw.get(junctor) or ()):
            yield from _nested_completeness(below, structure, place, f"{path}.{junctor}[{index}]")
    if raw.get("not") is not None:
        yield from _nested_completeness(raw["not"], structure, place, f"{path}.not")


def _nested_completeness(raw: Raw, structure: Raw | None, place: str, path: str) -> Iterator[Problem]:
    if structure is None:
        yield required(place, f"because it is defined in {path}")
        return
    yield from _completeness(raw, structure, place, path)
    if raw.get("items") is not None:
        yield from _nested_completeness(raw["items"], structure.get("items"), f"{place}.items", f"{path}.items")
    properties = structure.get("properties") or {}
    for name, below in (raw.get("properties") or {}).items():
        at = f".properties[{name}]"
        yield from _nested_completeness(below, properties.get(name), f"{place}{at}", f"{path}{at}")
