"""From an API server's OpenAPI documents to the compact table of types that `schema` reads.

A field is written as one line of words, the first of which is its type:

    string | bool | int32 | int64 | double | bytes | time | quantity | int-or-string | any
    @core.v1.PodSpec        an object of that type
    []TYPE                  a list       {}TYPE   a map from strings

and the others say what the server knows beside it: `required`, `embedded` (a struct that is always there, if empty:
Go has no pointer to it), `enum=A|B`, `default=<JSON>`, `list=map:name,protocol`
(or `set`, `atomic`), `map=atomic`, `micro` (a time with microseconds), and for strategic merge patches `merge=KEY` (an
empty key unites plain values) or `replace`. Descriptions are left out: they are two thirds of the documents. What Go's
structs say beside it is added by `gostructs`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kit.errors import EngineError

_SCALARS: Mapping[str, str] = {
    "api.resource.Quantity": "quantity",
    "util.intstr.IntOrString": "int-or-string",
    "meta.v1.Time": "time",
    "meta.v1.MicroTime": "time",
    "meta.v1.FieldsV1": "any",
    "meta.v1.Patch": "any",
    "pkg.runtime.RawExtension": "any",
    "apiextensions.v1.JSON": "any",
    "apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}
_FORMATS = {
    ("string", "byte"): "bytes",
    ("string", "date-time"): "time",
    ("string", "int-or-string"): "int-or-string",
    ("string", ""): "string",
    ("boolean", ""): "bool",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", "double"): "double",
}
_REFERENCE = "#/components/schemas/"


def table(documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The table of all kinds in the documents (one per group and version), and of every type that they use.

    `kinds` gives a kind's type by `apiVersion/kind`, `atomic` the types whose objects are owned as a whole, `types`
    the fields of each type; all sorted, so that the text of two tables can be compared.
    """
    schemas: dict[str, Mapping[str, Any]] = {}
    for document in documents:
        schemas |= document["components"]["schemas"]
    kinds = {
        f"{gvk['group']}/{gvk['version']}/{gvk['kind']}".lstrip("/"): name
        for name, schema in schemas.items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
        if _is_stored(name, gvk)
    }
    types: dict[str, dict[str, str]] = {}
    atomic: list[str] = []
    waiting = sorted(kinds.values())
    while waiting:
        name = waiting.pop()
        if short_name(name) in types:
            continue
        types[short_name(name)], used = _fields(name, schemas)
        if schemas[name].get("x-kubernetes-map-type") == "atomic":
            atomic.append(short_name(name))
        waiting += used
    return {
        "kinds": {kind: short_name(kinds[kind]) for kind in sorted(kinds)},
        "atomic": dict.fromkeys(sorted(atomic), True),
        "types": {name: types[name] for name in sorted(types)},
    }


def text(made: Mapping[str, Any], version: str) -> str:
    """The table as it is kept: JSON with a line for each kind and type, so that a change can be reviewed."""
    parts = [f'{{"kubernetes": "{version}"']
    for part in ("kinds", "atomic", "types"):
        rows = (f"{_json(name)}: {_json(content)}" for name, content in made[part].items())
        parts.append(f'"{part}": {{\n' + ",\n".join(rows) + "\n}")
    return ",\n".join(parts) + "}\n"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def short_name(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` becomes `core.v1.Pod`: the last three parts are unique."""
    return ".".join(name.split(".")[-3:])


def _is_stored(name: str, gvk: Mapping[str, str]) -> bool:
    """Whether it is a kind of its own: lists, watch events and options are registered in every group."""
    options = short_name(name).startswith("meta.v1.") and gvk["version"] != "v1"
    return not (gvk["kind"].endswith("List") or gvk["kind"] == "WatchEvent" or options)


def _fields(name: str, schemas: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, str], list[str]]:
    """The fields of a type, and the types that they use."""
    schema = schemas[name]
    required = set(schema.get("required", ()))
    used: list[str] = []
    fields = {}
    for field, content in sorted(schema.get("properties", {}).items()):
        words = [_type(content, schemas, used, f"{name}.{field}")]
        if field in required:
            words.append("required")
        if _reference(content).endswith(".MicroTime"):
            words.append("micro")
        words += _attributes(content)
        if any(" " in word for word in words):
            raise EngineError(f"{name}.{field} has a value with a space, which the table cannot say: {words}")
        fields[field] = " ".join(words)
    return fields, used


def _reference(content: Mapping[str, Any]) -> str:
    """The type that a field refers to; empty for one that says its type itself."""
    reference: str = content.get("$ref") or next((part["$ref"] for part in content.get("allOf", ())), "")
    return reference.removeprefix(_REFERENCE)


def _type(content: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]], used: list[str], where: str) -> str:
    name = _reference(content)
    if name:
        if short_name(name) in _SCALARS:
            return _SCALARS[short_name(name)]
        used.append(name)
        return f"@{short_name(name)}"
    kind = content.get("type")
    if kind == "array":
        return f"[]{_type(content['items'], schemas, used, where)}"
    if kind == "object":
        values = content.get("additionalProperties")
        return f"{{}}{_type(values, schemas, used, where)}" if values else "any"
    if kind is None:
        return "any"
    try:
        return _FORMATS[kind, content.get("format", "")]
    except KeyError:
        raise EngineError(
            f"{where} has type {kind} and format {content.get('format')}, which the table cannot say: add it"
        ) from None


def _attributes(content: Mapping[str, Any]) -> list[str]:
    words = []
    if "enum" in content:
        words.append(f"enum={'|'.join(content['enum'])}")
    if content.get("default") == {}:
        words.append("embedded")
    elif content.get("default") not in (None, ""):
        words.append(f"default={msgspec.json.encode(content['default']).decode()}")
    list_type = content.get("x-kubernetes-list-type")
    if list_type == "map":
        words.append(f"list=map:{','.join(content['x-kubernetes-list-map-keys'])}")
    elif list_type:
        words.append(f"list={list_type}")
    if content.get("x-kubernetes-map-type"):
        words.append(f"map={content['x-kubernetes-map-type']}")
    strategies = content.get("x-kubernetes-patch-strategy", "").split(",")
    if "merge" in strategies:
        words.append(f"merge={content.get('x-kubernetes-patch-merge-key', '')}")
    if "replace" in strategies:
        words.append("replace")
    return words
