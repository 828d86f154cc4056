"""The paths of an OpenAPI v3 document: which requests a resource takes, with which parameters.

Deprecated watch paths, and what is streamed through the server (exec, proxies, port forwarding), are left out.
"""

from collections.abc import Iterable, Mapping

from kubedyno.kinds.documents.types import META, PATCH, reference
from kubedyno.kinds.naming import Served, Subresource
from kubedyno.kube.codec import Object

_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_SELECT = (
    "continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch sendInitialEvents timeoutSeconds"
)
_LIST = tuple(sorted(["allowWatchBookmarks", "watch", *_SELECT.split()]))
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_DELETE_MANY = tuple(sorted({*_SELECT.split(), *_DELETE}))

_COLLECTION = {
    "list": ("get", "list", _LIST),
    "create": ("post", "post", _WRITE),
    "deletecollection": ("delete", "deletecollection", _DELETE_MANY),
}
_ITEM = {
    "get": ("get", "get", ()),
    "update": ("put", "put", _WRITE),
    "delete": ("delete", "delete", _DELETE),
    "patch": ("patch", "patch", (*_WRITE, "force")),
    "create": ("post", "post", _WRITE),
}
_TYPES: Mapping[str, str] = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_DELETE_OPTIONS = f"{META}.DeleteOptions"
_STATUS = f"{META}.Status"


def paths(served: Iterable[Served], names: Mapping[str, str]) -> dict[str, Object]:
    """The paths of these resources; `names` gives the schema's name of each `apiVersion/kind` and its list."""
    found: dict[str, Object] = {}
    for item in served:
        found |= _resource_paths(item, names)
    return dict(sorted(found.items()))


def _resource_paths(item: Served, names: Mapping[str, str]) -> dict[str, Object]:
    resource = item.resource
    all_namespaces = f"{resource.root}/{resource.plural}"
    namespaced = f"{resource.root}/namespaces/{{namespace}}/{resource.plural}"
    collection = namespaced if resource.namespaced else all_namespaces
    scope = ["namespace"] if resource.namespaced else []
    found: dict[str, Object] = {}
    if resource.namespaced and "list" in item.verbs:
        found[all_namespaces] = _path([], {"list": _COLLECTION["list"]}, item, None, names)
    found[collection] = _path(scope, _chosen(_COLLECTION, item.verbs), item, None, names)
    on_items = _chosen(_ITEM, (verb for verb in item.verbs if verb != "create"))
    found[f"{collection}/{{name}}"] = _path(["name", *scope], on_items, item, None, names)
    for part in item.subresources:
        if not part.kind.endswith("Options"):
            path = f"{collection}/{{name}}/{part.name}"
            found[path] = _path(["name", *scope], _chosen(_ITEM, part.verbs), item, part, names)
    return {path: content for path, content in found.items() if len(content) > 1}


_Operations = Mapping[str, tuple[str, str, tuple[str, ...]]]


def _chosen(operations: _Operations, verbs: Iterable[str]) -> _Operations:
    return {verb: operations[verb] for verb in verbs if verb in operations}


def _path(
    in_path: list[str], operations: _Operations, item: Served, part: Subresource | None, names: Mapping[str, str]
) -> Object:
    """One path with its operations; `part` is the subresource that it stands for."""
    group, version, kind = item.resource.group, item.resource.version, item.resource.kind
    if part is not None:
        # The scale of a custom resource goes by the name of the custom kind.
        kind = kind if item.is_custom else part.kind
        group, version = (part.group, part.version) if part.version and not item.is_custom else (group, version)
    body_kind = part.kind if part is not None else kind
    owner = (part.group, part.version) if part is not None and part.version else (group, version)
    schema = names[f"{owner[0]}/{owner[1]}/{body_kind}".lstrip("/")]
    found: Object = {}
    for method, action, parameters in operations.values():
        answer = f"{schema}List" if action == "list" else _STATUS if action.startswith("delete") else schema
        operation: Object = {
            "parameters": [_parameter(name) for name in parameters],
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference(answer)}}}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        }
        body = _body(action, schema, item)
        if body:
            operation["requestBody"] = {"content": body}
        found[method] = operation
    found["parameters"] = [_path_parameter(name) for name in in_path] + [_parameter("pretty")]
    return found


def _body(action: str, schema: str, item: Served) -> Object:
    """What a request may carry, by media type."""
    match action:
        case "patch":
            # Custom kinds have no merge keys of their own, so no strategic merge patches.
            kinds = _PATCHES if item.is_custom else (*_PATCHES, _STRATEGIC)
            return {kind: {"schema": reference(PATCH)} for kind in kinds}
        case "post" | "put":
            return {
                "application/json": {"schema": reference(schema)},
                "application/yaml": {"schema": reference(schema)},
            }
        case "delete" | "deletecollection":
            return {"application/json": {"schema": reference(_DELETE_OPTIONS)}}
    return {}


def _parameter(name: str) -> Object:
    return {"name": name, "in": "query", "schema": {"type": _TYPES.get(name, "string"), "uniqueItems": True}}


def _path_parameter(name: str) -> Object:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
