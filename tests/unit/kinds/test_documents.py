"""OpenAPI documents: what kubectl looks for in them."""

from typing import Any

import pytest

from kubedyno.kinds import naming
from kubedyno.kinds.documents import gnostic, v2, v3
from kubedyno.kube.resources import BUILT_IN, CONFIG_MAPS, DEPLOYMENTS, PODS, Resource

pytestmark = pytest.mark.unit

Json = dict[str, Any]

TOY = Resource("b.example.com", "v1", "Toy", "toys", namespaced=True, subresources=("scale",))
TOYS = naming.custom(TOY, singular="toy")
SCHEMA: Json = {
    "type": "object",
    "description": "A toy",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "count": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}},
                "maybe": {"type": "string", "nullable": True},
            },
        }
    },
}
CUSTOM = {("b.example.com/v1", "Toy"): SCHEMA}
SERVED = [*(naming.built_in(resource) for resource in (PODS, CONFIG_MAPS, DEPLOYMENTS)), TOYS]
REF = "#/components/schemas/"


def document(api_version: str) -> Json:
    found = v3.document(SERVED, api_version, CUSTOM)
    assert found is not None
    return found


def test_the_index_names_a_document_for_every_version() -> None:
    paths = v3.index(SERVED, CUSTOM)["paths"]
    assert list(paths) == ["api/v1", "apis/apps/v1", "apis/b.example.com/v1"]
    assert paths["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")


def test_the_hash_changes_with_the_schema_of_a_custom_kind_alone() -> None:
    before = v3.index(SERVED, CUSTOM)["paths"]
    after = v3.index(SERVED, {("b.example.com/v1", "Toy"): {**SCHEMA, "description": "Another"}})["paths"]
    assert [path for path in before if before[path] != after[path]] == ["apis/b.example.com/v1"]
    assert v3.index(SERVED, CUSTOM)["paths"] == before


def test_a_version_that_is_not_served_has_no_document() -> None:
    assert v3.document(SERVED, "batch/v1", CUSTOM) is None


def test_a_kind_is_found_by_its_mark() -> None:
    schemas = document("v1")["components"]["schemas"]
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    assert pod["properties"]["spec"] == {"default": {}, "allOf": [{"$ref": f"{REF}io.k8s.api.core.v1.PodSpec"}]}
    assert schemas["io.k8s.api.core.v1.PodList"]["required"] == ["items"]
    assert schemas["io.k8s.api.policy.v1.Eviction"]["x-kubernetes-group-version-kind"] == [
        {"group": "policy", "kind": "Eviction", "version": "v1"}
    ]


def test_lists_tell_their_keys_and_how_patches_merge_them() -> None:
    spec = document("v1")["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]
    assert spec["required"] == ["containers"]
    assert spec["properties"]["containers"] == {
        "type": "array",
        "items": {"default": {}, "allOf": [{"$ref": f"{REF}io.k8s.api.core.v1.Container"}]},
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }
    assert spec["properties"]["volumes"]["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    assert spec["properties"]["restartPolicy"]["enum"] == ["Always", "Never", "OnFailure"]
    apps = document("apps/v1")["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]
    assert apps["properties"]["strategy"]["x-kubernetes-patch-strategy"] == "retainKeys"


@pytest.mark.parametrize("resource", BUILT_IN, ids=str)
def test_every_reference_is_answered(resource: Resource) -> None:
    served = [naming.built_in(resource)]
    found = v3.document(served, resource.api_version, {})
    assert found is not None
    assert references(found) <= {f"{REF}{name}" for name in found["components"]["schemas"]}
    old = v2.swagger([found])
    assert references(old) <= {f"#/definitions/{name}" for name in old["definitions"]}


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_a_patch_takes_the_parameters_that_kubectl_looks_for() -> None:
    operation = document("v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert operation["x-kubernetes-action"] == "patch"
    assert operation["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert {"dryRun", "fieldValidation"} <= {entry["name"] for entry in operation["parameters"]}
    assert "application/strategic-merge-patch+json" in operation["requestBody"]["content"]


def test_paths_follow_the_verbs() -> None:
    paths = document("v1")["paths"]
    assert {path: sorted(set(content) - {"parameters"}) for path, content in paths.items() if "/pods" in path} == {
        "/api/v1/namespaces/{namespace}/pods": ["delete", "get", "post"],
        "/api/v1/namespaces/{namespace}/pods/{name}": ["delete", "get", "patch", "put"],
        "/api/v1/namespaces/{namespace}/pods/{name}/binding": ["post"],
        "/api/v1/namespaces/{namespace}/pods/{name}/ephemeralcontainers": ["get", "patch", "put"],
        "/api/v1/namespaces/{namespace}/pods/{name}/eviction": ["post"],
        "/api/v1/namespaces/{namespace}/pods/{name}/log": ["get"],
        "/api/v1/namespaces/{namespace}/pods/{name}/resize": ["get", "patch", "put"],
        "/api/v1/namespaces/{namespace}/pods/{name}/status": ["get", "patch", "put"],
        "/api/v1/pods": ["get"],
    }


def test_a_custom_kind_is_published_with_what_all_objects_have() -> None:
    found = document("b.example.com/v1")
    toy = found["components"]["schemas"]["com.example.b.v1.Toy"]
    assert list(toy["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert toy["description"] == "A toy"
    assert toy["properties"]["spec"] == SCHEMA["properties"]["spec"]
    patch = found["paths"]["/apis/b.example.com/v1/namespaces/{namespace}/toys/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    scale = found["paths"]["/apis/b.example.com/v1/namespaces/{namespace}/toys/{name}/scale"]["get"]
    assert scale["x-kubernetes-group-version-kind"]["kind"] == "Toy"
    assert "io.k8s.api.autoscaling.v1.Scale" in found["components"]["schemas"]


def test_the_older_language_says_less() -> None:
    old = v2.swagger([document("v1"), document("b.example.com/v1")])
    definitions = old["definitions"]
    container = definitions["io.k8s.api.core.v1.Container"]["properties"]
    assert container["name"] == {"type": "string"}
    assert container["lifecycle"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Lifecycle"}
    assert definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] == {"type": "string"}
    assert definitions["com.example.b.v1.Toy"]["properties"]["spec"]["properties"] == {
        "size": {"x-kubernetes-int-or-string": True},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "open": {"x-kubernetes-preserve-unknown-fields": True},
        "maybe": {},
    }
    patch = old["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]
    assert patch["parameters"][0] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"},
    }
    assert {"name": "dryRun", "in": "query", "type": "string", "uniqueItems": True} in patch["parameters"]


def test_a_kind_that_keeps_unknown_fields_stays_an_object_in_the_older_language() -> None:
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    found = v3.document([TOYS], "b.example.com/v1", {("b.example.com/v1", "Toy"): open_schema})
    assert found is not None
    assert v2.swagger([found])["definitions"]["com.example.b.v1.Toy"] == {
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "b.example.com", "kind": "Toy", "version": "v1"}],
    }


def test_protocol_buffers_of_a_small_document() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minimum": 1}}, "x-y": [1]}
    document_ = {"swagger": "2.0", "info": {"title": "T", "version": "1"}, "definitions": {"D": schema}}
    assert gnostic.encode(document_) == (
        b"\x0a\x032.0"  # swagger
        b"\x12\x06\x0a\x01T\x12\x011"  # info
        b"\x4a\x43\x0a\x41\x0a\x01D\x12\x3c"  # definitions, one pair of a name and a schema
        b"\xb2\x01\x08\x0a\x06object"
        b"\x9a\x01\x01a"
        b"\xca\x01\x1b\x0a\x19\x0a\x01a\x12\x14\xb2\x01\x08\x0a\x06string\x49\x00\x00\x00\x00\x00\x00\xf0\x3f"
        b"\xfa\x01\x0c\x0a\x03x-y\x12\x05\x12\x03[1]"
    )


def test_protocol_buffers_tell_every_operation() -> None:
    encoded = gnostic.encode(v2.swagger([document("v1"), document("b.example.com/v1")]))
    for path in ("/api/v1/pods", "/apis/b.example.com/v1/namespaces/{namespace}/toys/{name}"):
        assert path.encode() in encoded
    assert b'{"group":"b.example.com","version":"v1","kind":"Toy"}' in encoded
