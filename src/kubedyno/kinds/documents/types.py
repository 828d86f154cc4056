"""The types of Kubernetes' own kinds as OpenAPI v3 schemas, made from `kube.schema`.

Descriptions are left out.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kube import schema
from kubedyno.kube.codec import Object
from kubedyno.kube.schema import Field, Type

REFERENCE = "#/components/schemas/"

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META = f"{META}.ObjectMeta"
LIST_META = f"{META}.ListMeta"
PATCH = f"{META}.Patch"

_PREFIXES = {
    "meta.": "io.k8s.apimachinery.pkg.apis.",
    "apiextensions.": "io.k8s.apiextensions-apiserver.pkg.apis.",
    "apiregistration.": "io.k8s.kube-aggregator.pkg.apis.",
}


def full_name(short: str) -> str:
    """The name of a type in the documents: `core.v1.Pod` becomes `io.k8s.api.core.v1.Pod`."""
    prefix = next((prefix for start, prefix in _PREFIXES.items() if short.startswith(start)), "io.k8s.api.")
    return f"{prefix}{short}"


_PLAIN: Mapping[str, Object] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}

# Scalars that have a name in the documents.
_JSON = full_name("apiextensions.v1.JSON")
_NAMED: Mapping[str, tuple[str, Object]] = {
    "time": (f"{META}.Time", {"type": "string", "format": "date-time"}),
    "micro-time": (f"{META}.MicroTime", {"type": "string", "format": "date-time"}),
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    "int-or-string": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "any": ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
    "fields": (f"{META}.FieldsV1", {"type": "object"}),
    "json": (_JSON, {}),
    "schema-or-bool": (f"{_JSON}SchemaPropsOrBool", {}),
    "schema-or-list": (f"{_JSON}SchemaPropsOrArray", {}),
    "schema-or-strings": (f"{_JSON}SchemaPropsOrStringArray", {}),
}

# Free JSON that is no object of somebody else's kind.
_FREE: Mapping[tuple[str, str], str] = {
    ("meta.v1.ManagedFieldsEntry", "fieldsV1"): "fields",
    ("apiextensions.v1.JSONSchemaProps", "additionalItems"): "schema-or-bool",
    ("apiextensions.v1.JSONSchemaProps", "additionalProperties"): "schema-or-bool",
    ("apiextensions.v1.JSONSchemaProps", "default"): "json",
    ("apiextensions.v1.JSONSchemaProps", "dependencies"): "schema-or-strings",
    ("apiextensions.v1.JSONSchemaProps", "enum"): "json",
    ("apiextensions.v1.JSONSchemaProps", "example"): "json",
    ("apiextensions.v1.JSONSchemaProps", "items"): "schema-or-list",
}

# Where a merge patch keeps nothing but the keys that it names; kubectl asks for it, the table does not say it.
_RETAIN_KEYS = frozenset(
    {
        ("core.v1.PodSpec", "resourceClaims"),
        ("core.v1.PodSpec", "volumes"),
        ("core.v1.PodStatus", "resourceClaimStatuses"),
        ("apps.v1.DeploymentSpec", "strategy"),
        ("scheduling.v1alpha2.PodGroupSpec", "resourceClaims"),
        ("scheduling.v1alpha2.PodGroupStatus", "resourceClaimStatuses"),
        ("scheduling.v1alpha2.PodGroupTemplate", "resourceClaims"),
    }
)

# What an item of a list or a value of a map is if nobody says: Go's zero value.
_ZEROS = {"string": "", "bool": False, "int32": 0, "int64": 0, "double": 0}


def reference(name: str) -> Object:
    """The schema that stands for a named one."""
    return {"$ref": f"{REFERENCE}{name}"}


def kind_extension(group: str, version: str, kind: str) -> Object:
    """What marks the schema of a kind."""
    return {"x-kubernetes-group-version-kind": [{"group": group, "kind": kind, "version": version}]}


def schemas(names: Iterable[str]) -> dict[str, Object]:
    """The schemas of these types of the table and of all that they use, by full name."""
    found: dict[str, Object] = {}
    scalars: set[str] = set()
    waiting = list(names)
    while waiting:
        type_ = schema.type_named(waiting.pop())
        if full_name(type_.name) in found:
            continue
        found[full_name(type_.name)] = _object_schema(type_)
        for name in type_.fields:
            field = _field(type_, name)
            (waiting.append if field.of_objects else scalars.add)(field.of)
    return found | {_NAMED[scalar][0]: dict(_NAMED[scalar][1]) for scalar in scalars & set(_NAMED)}


def shared_schemas() -> dict[str, Object]:
    """What every document has: metadata, deletion, patches, failures."""
    shared = schemas(["meta.v1.ObjectMeta", "meta.v1.ListMeta", "meta.v1.DeleteOptions", "meta.v1.Status"])
    return {**shared, PATCH: {"type": "object"}}


def list_schema(item: str, group: str, version: str, kind: str) -> Object:
    """The schema of a list of objects of a named type."""
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"default": {}, "allOf": [reference(item)]}},
            "kind": {"type": "string"},
            "metadata": {"default": {}, "allOf": [reference(LIST_META)]},
        },
        **kind_extension(group, version, kind),
    }


def _object_schema(type_: Type) -> Object:
    found: Object = {"type": "object"}
    required = [name for name, field in type_.fields.items() if field.required]
    if required:
        found["required"] = required
    if type_.fields:
        found["properties"] = {name: _field_schema(type_, name) for name in type_.fields}
    if type_.atomic:
        found["x-kubernetes-map-type"] = "atomic"
    if type_.name in _kinds():
        found |= kind_extension(*_kinds()[type_.name])
    return found


@functools.cache
def _kinds() -> Mapping[str, tuple[str, str, str]]:
    """Group, version and kind of the types that are kinds; what is registered in every group is told once."""
    found: dict[str, tuple[str, str, str]] = {}
    for written in schema.kinds():
        api_version, _, kind = written.rpartition("/")
        type_ = schema.type_of(api_version, kind)
        group, _, version = api_version.rpartition("/")
        if type_ is not None and (not group or not type_.name.startswith("meta.")):
            found[type_.name] = (group, version, kind)
    return found


def _field(type_: Type, name: str) -> Field:
    """A field of a type, with the name that the documents have for its scalar."""
    field = type_.fields[name]
    scalar = "micro-time" if field.micro else _FREE.get((type_.name, name))
    return msgspec.structs.replace(field, of=scalar) if scalar else field


def _field_schema(type_: Type, name: str) -> Object:
    field = _field(type_, name)
    found: Object
    match field.shape:
        case "list":
            found = {"type": "array", "items": _nested(field)}
        case "map":
            found = {"type": "object", "additionalProperties": _nested(field)}
        case _:
            found = _own(field)
    if field.enum:
        found["enum"] = list(field.enum)
    return found | _extensions(field, retains_keys=(type_.name, name) in _RETAIN_KEYS)


def _own(field: Field) -> Object:
    """The schema of a field that holds one value or object."""
    if field.of_objects or field.of in _NAMED:
        name = full_name(field.of) if field.of_objects else _NAMED[field.of][0]
        default = {} if field.embedded else field.default
        return {"allOf": [reference(name)]} if default is None else {"default": default, "allOf": [reference(name)]}
    found = dict(_PLAIN[field.of])
    if field.default is not None:
        found["default"] = field.default
    elif field.required and field.of == "string":
        # The table leaves out empty texts; a required one is always there in Go.
        found["default"] = ""
    return found


def _nested(field: Field) -> Object:
    """The schema of the items of a list or the values of a map."""
    if field.of_objects:
        return {"default": {}, "allOf": [reference(full_name(field.of))]}
    if field.of in _NAMED:
        return reference(_NAMED[field.of][0])
    if field.of.startswith("[]"):
        return {"type": "array", "items": {**_PLAIN[field.of[2:]], "default": _ZEROS[field.of[2:]]}}
    zero = {"default": _ZEROS[field.of]} if field.of in _ZEROS else {}
    return {**_PLAIN[field.of], **zero}


def _extensions(field: Field, *, retains_keys: bool) -> dict[str, Any]:
    """What the server adds for apply and patches."""
    found: dict[str, Any] = {}
    if field.list_keys:
        found["x-kubernetes-list-map-keys"] = list(field.list_keys)
    if field.list_type:
        found["x-kubernetes-list-type"] = field.list_type
    if field.atomic_map:
        found["x-kubernetes-map-type"] = "atomic"
    if field.merge_key:
        found["x-kubernetes-patch-merge-key"] = field.merge_key
    words = {"merge": field.merge_key is not None, "replace": field.replace, "retainKeys": retains_keys}
    strategies = [word for word, is_set in words.items() if is_set]
    if strategies:
        found["x-kubernetes-patch-strategy"] = ",".join(strategies)
    return found
