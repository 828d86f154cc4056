"""OpenAPI v3: the index and one document for each group and version."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kinds.documents.paths import paths
from kubedyno.kinds.documents.types import (
    OBJECT_META,
    full_name,
    kind_extension,
    list_schema,
    reference,
    schemas,
    shared_schemas,
)
from kubedyno.kinds.naming import Served
from kubedyno.kube import schema
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

CustomSchemas = Mapping[tuple[str, str], Mapping[str, Any]]
"""The `openAPIV3Schema` of custom kinds, by `apiVersion` and kind."""


def index(served: Iterable[Served], custom: CustomSchemas) -> Object:
    """`/openapi/v3`: where the documents are. The hash changes with the document, so that clients may keep it."""
    found = {}
    for api_version, items in _by_version(served).items():
        path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        found[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={fingerprint(items, custom)}"}
    return {"paths": dict(sorted(found.items()))}


def fingerprint(served: Sequence[Served], custom: CustomSchemas) -> str:
    """A text that is another one when the document of these resources is."""
    own = [custom.get((item.resource.api_version, item.resource.kind)) for item in served]
    content = msgspec.json.encode((schema.kubernetes_version(), served, own), order="sorted")
    return hashlib.sha512(content).hexdigest().upper()


def document(served: Iterable[Served], api_version: str, custom: CustomSchemas) -> Object | None:
    """`/openapi/v3/api/v1` or `/openapi/v3/apis/<group>/<version>`; None when nothing of that version is served."""
    items = _by_version(served).get(api_version)
    if items is None:
        return None
    found = shared_schemas()
    names: dict[str, str] = {}
    for item in items:
        found |= _kind_schemas(item, names, custom)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": ".".join(schema.kubernetes_version().lstrip("v").split(".")[:2])},
        "paths": paths(items, names),
        "components": {"schemas": dict(sorted(found.items()))},
    }


def _by_version(served: Iterable[Served]) -> dict[str, list[Served]]:
    found: dict[str, list[Served]] = {}
    for item in served:
        found.setdefault(item.resource.api_version, []).append(item)
    return found


def _kind_schemas(item: Served, names: dict[str, str], custom: CustomSchemas) -> dict[str, Object]:
    """The schemas of a kind, of its list, and of what its subresources exchange; their names go into `names`."""
    found = _own_schema(item.resource, names, custom)
    for part in item.subresources:
        group, version = (part.group, part.version) if part.version else (item.resource.group, item.resource.version)
        other = Resource(group, version, part.kind, "", namespaced=True)
        if f"{other.api_version}/{other.kind}" not in names and schema.type_of(other.api_version, other.kind):
            found |= _own_schema(other, names, custom)
    if "list" in item.verbs:
        resource = item.resource
        name = names[f"{resource.api_version}/{resource.kind}"]
        found[f"{name}List"] = list_schema(name, resource.group, resource.version, f"{resource.kind}List")
    return found


def _own_schema(resource: Resource, names: dict[str, str], custom: CustomSchemas) -> dict[str, Object]:
    key = f"{resource.api_version}/{resource.kind}"
    type_ = schema.type_of(resource.api_version, resource.kind)
    if type_ is None:
        names[key] = f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"
        return {names[key]: published(custom.get((resource.api_version, resource.kind)) or {}, resource)}
    names[key] = full_name(type_.name)
    return schemas([type_.name])


def published(custom: Mapping[str, Any], resource: Resource) -> Object:
    """The schema of a custom kind as clients see it: with the fields that all objects have."""
    properties = {
        **custom.get("properties", {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [reference(OBJECT_META)]},
    }
    return {
        "type": "object",
        **custom,
        "properties": dict(sorted(properties.items())),
        **kind_extension(resource.group, resource.version, resource.kind),
    }
