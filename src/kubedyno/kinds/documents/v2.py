"""OpenAPI v2 (Swagger): the v3 documents in one, said in the older language.

It cannot say alternatives and defaults; of a custom field that keeps unknown fields it says nothing else.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedyno.kinds.documents.types import REFERENCE
from kubedyno.kube.codec import Object

_OLD_REFERENCE = "#/definitions/"
_NOT_SAID = frozenset({"default", "nullable", "oneOf", "anyOf", "allOf", "not"})
_METHODS = ("get", "put", "post", "delete", "patch")
# Alternatives of scalars: the text of it, which always does.
_TEXTS: Mapping[str, Object] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
}


def swagger(documents: Iterable[Object]) -> Object:
    """`/openapi/v2`: all paths and types of the v3 documents."""
    paths: dict[str, Object] = {}
    definitions: dict[str, Object] = {}
    info: Object = {}
    for document in documents:
        info = document["info"]
        for path, content in document["paths"].items():
            paths[path] = _path(content)
        for name, schema in document["components"]["schemas"].items():
            if name not in definitions:
                definitions[name] = dict(_TEXTS[name]) if name in _TEXTS else _definition(schema)
    return {
        "swagger": "2.0",
        "info": info,
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
    }


def _path(content: Mapping[str, Any]) -> Object:
    found: Object = {method: _operation(content[method]) for method in _METHODS if method in content}
    found["parameters"] = [_parameter(parameter) for parameter in content["parameters"]]
    return found


def _operation(operation: Mapping[str, Any]) -> Object:
    body = operation.get("requestBody", {}).get("content", {})
    found: Object = {
        "consumes": list(body) or ["*/*"],
        "produces": ["application/json"],
        "parameters": [_parameter(parameter) for parameter in operation["parameters"]],
        "responses": {
            code: {
                "description": answer["description"],
                "schema": _schema(answer["content"]["application/json"]["schema"]),
            }
            for code, answer in operation["responses"].items()
        },
    }
    for content in list(body.values())[:1]:
        found["parameters"].insert(
            0, {"name": "body", "in": "body", "required": True, "schema": _schema(content["schema"])}
        )
    return found | {name: value for name, value in operation.items() if name.startswith("x-")}


def _parameter(parameter: Mapping[str, Any]) -> Object:
    return {**{name: value for name, value in parameter.items() if name != "schema"}, **parameter["schema"]}


def _definition(schema: Mapping[str, Any]) -> Object:
    """The schema of a named type. One that keeps unknown fields stays an object: it may be a kind."""
    found = _schema(schema)
    if schema.get("type") == "object" and "type" not in found:
        del found["x-kubernetes-preserve-unknown-fields"]
        return {"type": "object", **found}
    return found


def _schema(schema: Mapping[str, Any]) -> Object:
    target = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None)
    if target is not None:
        told = {name: value for name, value in schema.items() if name == "description" or name.startswith("x-")}
        return {**told, "$ref": f"{_OLD_REFERENCE}{target.removeprefix(REFERENCE)}"}
    found = {name: value for name, value in schema.items() if name not in _NOT_SAID}
    if _is_open(schema):
        for name in ("type", "properties", "items", "additionalProperties", "required", "format"):
            found.pop(name, None)
        return found
    if "properties" in found:
        found["properties"] = {name: _schema(below) for name, below in found["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = _schema(found[name])
    return found


def _is_open(schema: Mapping[str, Any]) -> bool:
    """Whether old clients would refuse values that the schema allows, if they were told its type."""
    return bool(
        schema.get("x-kubernetes-preserve-unknown-fields")
        or schema.get("x-kubernetes-int-or-string")
        or schema.get("nullable")
    )
