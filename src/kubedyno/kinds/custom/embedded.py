"""`metadata` of custom objects and of the whole Kubernetes objects inside of them.

A schema says nothing of metadata: the server reads it as it reads its own kinds', drops what it does not know, and
writes it back in its own form. Places marked as embedded resources are treated like the object itself.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from kubedyno.kinds.custom.findings import as_go
from kubedyno.kinds.custom.structural import Schema
from kubedyno.kinds.rules import metadata as metadata_rules
from kubedyno.kinds.rules import texts
from kubedyno.kube import decoding, normalizing, problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem
from kubedyno.kube.resources import Resource

# Any kind of Kubernetes' own will do: all have the same metadata.
_ANY_KIND = ("v1", "ConfigMap")
_ANY_RESOURCES = {namespaced: Resource("", "v1", "Any", "any", namespaced=namespaced) for namespaced in (False, True)}
_MOST_SLASHES = 1


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in metadata."""

    error: str
    """Why the object cannot be read; empty: it can."""
    unknown: tuple[str, ...]


def root(obj: Object) -> tuple[Object, Reading]:
    """The object with its own metadata in the server's form, and what was found there."""
    if "metadata" not in obj:
        return obj, Reading(error="", unknown=())
    metadata, error, unknown = _read(obj["metadata"])
    if error:
        return obj, Reading(error=error, unknown=())
    return {**obj, "metadata": metadata}, Reading(error="", unknown=tuple(f"metadata.{name}" for name in unknown))


def inner(obj: Any, schema: Schema) -> Reading:
    """Bring the metadata of embedded resources into the server's form, in place; what was found there."""
    if not schema.has_embedded:
        return Reading(error="", unknown=())
    unknown: list[str] = []
    for resource, path in _resources(obj, schema, ""):
        for name in ("apiVersion", "kind"):
            if name in resource and not isinstance(resource[name], str):
                wrong = problems.invalid(f"{path}.{name}", as_go(resource[name]), "must be a string")
                return Reading(error=f"{wrong.field}: {wrong.message}", unknown=())
        if "metadata" in resource:
            metadata, error, below = _read(resource["metadata"])
            if error:
                wrong = problems.invalid(f"{path}.metadata", as_go(resource["metadata"]), error)
                return Reading(error=f"{wrong.field}: {wrong.message}", unknown=())
            resource["metadata"] = metadata
            unknown.extend(f"{path}.metadata.{name}" for name in below)
    return Reading(error="", unknown=tuple(unknown))


def _read(metadata: Any) -> tuple[Object, str, list[str]]:
    found = decoding.read({"metadata": metadata}, *_ANY_KIND)
    if found is None or found.error:
        text = found.error if found else ""
        return {}, text.replace(".metadata.", ".").replace("Go struct field ConfigMap.metadata", "Go value"), []
    kept = normalizing.normalized({"metadata": metadata}, *_ANY_KIND)["metadata"]
    return kept, "", [name.removeprefix("metadata.") for name in found.unknown]


def _resources(value: Any, schema: Schema | None, path: str) -> Iterator[tuple[Object, str]]:
    """The embedded resources in a value, outer ones first."""
    if schema is None or not schema.has_embedded:
        return
    if isinstance(value, dict):
        if schema.embedded:
            yield value, path
        for name, member in list(value.items()):
            named = name in schema.properties
            place = f"{path}[{name}]" if not named else f"{path}.{name}" if path else name
            yield from _resources(member, schema.member(name), place)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _resources(item, schema.items, f"{path}[{index}]")


def embedded_problems(obj: Any, schema: Schema) -> list[Problem]:
    """What is wrong with the type and metadata of embedded resources."""
    return [one for resource, path in _resources(obj, schema, "") for one in _resource_problems(resource, path)]


def _resource_problems(resource: Object, path: str) -> Iterator[Problem]:
    for name in ("apiVersion", "kind"):
        if name not in resource:
            yield problems.required(f"{path}.{name}")
    for name in resource:
        if name in _TYPE_RULES and (told := _TYPE_RULES[name](resource[name])):
            yield problems.invalid(f"{path}.{name}", resource[name], told)
        elif name == "metadata":
            metadata = {**resource["metadata"], "name": resource["metadata"].get("name") or "fakename"}
            any_resource = _ANY_RESOURCES[bool(metadata.get("namespace"))]
            for one in metadata_rules.generic_problems({"metadata": metadata}, any_resource):
                yield Problem(f"{path}.{one.field}", one.reason, one.message)


def _api_version_problem(value: str) -> str:
    if not value:
        return "must not be empty"
    return f"unexpected GroupVersion string: {value}" if value.count("/") > _MOST_SLASHES else ""


def _kind_problem(value: str) -> str:
    if not value:
        return "must not be empty"
    told = ",".join(texts.dns1035_label(value.lower()))
    return f"may have mixed case, but should otherwise match: {told}" if told else ""


_TYPE_RULES: dict[str, Callable[[str], str]] = {"apiVersion": _api_version_problem, "kind": _kind_problem}
