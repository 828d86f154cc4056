"""Our discovery and OpenAPI documents beside those of the real API server."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from kubedyno.client.rest import Client
from kubedyno.kinds import discovery, naming
from kubedyno.kinds.documents import v2, v3
from kubedyno.kinds.naming import Served
from kubedyno.kit.clock import RealClock
from kubedyno.kube import schema as kube_schema
from kubedyno.kube.resources import BUILT_IN, CRDS, Resource
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

Json = dict[str, Any]

TOYS = "b.discovered.example.com"
CARS = "a.discovered.example.com"

CUSTOM = [
    naming.custom(
        Resource(TOYS, "v1", "Toy", "toys", namespaced=True, subresources=("scale", "status")),
        singular="toy",
        short_names=["ty", "t"],
        categories=["play", "all"],
    ),
    naming.custom(
        Resource(TOYS, "v1beta1", "Toy", "toys", namespaced=True),
        singular="toy",
        short_names=["ty", "t"],
        categories=["play", "all"],
    ),
    naming.custom(Resource(CARS, "v1alpha1", "Car", "cars", namespaced=False), singular="car"),
]


def definition(*served: Served) -> Json:
    """The custom resource definition of a kind in these versions."""
    resource = served[0].resource
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.full_name},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "plural": resource.plural,
                "kind": resource.kind,
                "singular": served[0].singular,
                "shortNames": list(served[0].short_names),
                "categories": list(served[0].categories),
            },
            "versions": [
                {
                    "name": item.resource.version,
                    "served": True,
                    "storage": item is served[0],
                    "subresources": {"status": {}, "scale": scale} if item.subresources else {},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
                for item in served
            ],
        },
    }


async def read(client: Client, path: str, accept: str = "application/json") -> Json:
    answer = await client.request_raw("GET", path, accept=accept)
    found: Json = msgspec.json.decode(answer.body)
    for entry in found.get("resources", ()):
        entry.pop("storageVersionHash", None)
    return found


@pytest.fixture(scope="module")
async def client(shared_lab: RunningLab) -> AsyncIterator[Client]:
    """A client of a server with custom kinds, which are discovered a moment after they were defined."""
    client = shared_lab.client
    # Compared with itself, our own server would always be right.
    assert (await read(client, "/version"))["gitVersion"] == kube_schema.kubernetes_version()
    definitions = [definition(CUSTOM[0], CUSTOM[1]), definition(CUSTOM[2])]
    for entry in definitions:
        await client.create(CRDS, entry)
    for _ in range(200):
        plain, aggregated = str(await read(client, "/apis")), str(await read(client, "/apis", discovery.AGGREGATED))
        if all(group in told and "v1beta1" in told for told in (plain, aggregated) for group in (TOYS, CARS)):
            break
        await RealClock().sleep(0.05)
    yield client
    for entry in definitions:
        await client.delete(CRDS, entry["metadata"]["name"])


SERVED = [*map(naming.built_in, BUILT_IN), *CUSTOM]
GROUPS = sorted({item.resource.group for item in SERVED})


def ours(document: Json) -> Json:
    """What the document says of groups that we know: other tests may have defined kinds of their own."""
    if "groups" in document:
        return {**document, "groups": [entry for entry in document["groups"] if entry["name"] in GROUPS]}
    return {**document, "items": [entry for entry in document["items"] if entry["metadata"].get("name", "") in GROUPS]}


async def test_the_versions_of_the_core_group(client: Client) -> None:
    real = await read(client, "/api")
    assert discovery.core_versions(real["serverAddressByClientCIDRs"][0]["serverAddress"]) == real


async def test_all_groups_in_their_order(client: Client) -> None:
    assert discovery.groups(SERVED) == ours(await read(client, "/apis"))


@pytest.mark.parametrize("group", GROUPS[1:])
async def test_a_group(client: Client, group: str) -> None:
    assert discovery.group(SERVED, group) == await read(client, f"/apis/{group}")


@pytest.mark.parametrize("api_version", sorted({item.resource.api_version for item in SERVED}))
async def test_the_resources_of_a_version(client: Client, api_version: str) -> None:
    path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    assert discovery.resource_list(SERVED, api_version) == await read(client, path)


@pytest.mark.parametrize("core", [True, False])
async def test_aggregated_discovery(client: Client, core: bool) -> None:
    real = await read(client, "/api" if core else "/apis", discovery.AGGREGATED)
    assert discovery.aggregated(SERVED, core=core) == ours(real)


# What we do not tell: descriptions, defaults and choices of items, unions, and that a map is granular, as all are.
UNTOLD = frozenset({"description", "default", "x-kubernetes-unions"})
NOT_OURS = ("/watch/", "/proxy", "/exec", "/attach", "/portforward")
LOG = "/pods/{name}/log"
UNKNOWN_PARAMETERS = {"shardSelector", "ignoreStoreReadErrorWithClusterBreakingPotential"}


def normal(value: Any) -> Any:
    """A schema without what we do not tell; the same for both sides."""
    if isinstance(value, list):
        return [normal(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    found: Json = {}
    for name, below in value.items():
        if name in UNTOLD and not (isinstance(below, dict) and ("type" in below or "$ref" in below)):
            continue
        if name == "x-kubernetes-map-type" and below == "granular":
            continue
        if name in {"items", "additionalProperties"} and isinstance(below, dict):
            found[name] = {key: entry for key, entry in normal(below).items() if key != "enum"}
        elif name == "required" and isinstance(below, list):
            found[name] = sorted(below)
        elif name == "allOf" and len(below) == 1:
            found |= normal(below[0])
        else:
            found[name] = normal(below)
    return found


def operations(document: Json) -> dict[tuple[str, str], tuple[str, Json, set[str]]]:
    """Action, kind and parameters of every operation that we tell of."""
    found = {}
    for path, content in document["paths"].items():
        if path.endswith("/") or any(part in path for part in NOT_OURS):
            continue
        for method, operation in content.items():
            if method != "parameters":
                parameters = {entry["name"] for entry in [*operation["parameters"], *content["parameters"]]}
                if path.endswith(LOG):
                    parameters &= {"name", "namespace", "pretty"}
                found[path, method] = (
                    operation["x-kubernetes-action"],
                    operation["x-kubernetes-group-version-kind"],
                    parameters - UNKNOWN_PARAMETERS,
                )
    return found


def with_parameters(document: Json) -> Json:
    """The server leaves out empty lists of parameters."""
    for content in document["paths"].values():
        content.setdefault("parameters", [])
        for method, operation in content.items():
            if method != "parameters":
                operation.setdefault("parameters", [])
    return document


BUILT_IN_VERSIONS = sorted({resource.api_version for resource in BUILT_IN})


@pytest.mark.parametrize("api_version", BUILT_IN_VERSIONS)
async def test_the_openapi_document_of_a_version(client: Client, api_version: str) -> None:
    path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
    real = with_parameters(await read(client, f"/openapi/v3/{path}"))
    ours = v3.document(SERVED, api_version, {})
    assert ours is not None
    assert operations(ours) == operations(real)
    compared = 0
    for name, schema in ours["components"]["schemas"].items():
        # Options of deletion are registered in every group, reviews have no lists; it does not matter to clients.
        if name in real["components"]["schemas"] and not name.endswith("DeleteOptions"):
            assert normal(schema) == normal(real["components"]["schemas"][name]), name
            compared += 1
    assert compared >= 5


async def test_the_older_openapi_document(client: Client) -> None:
    real = await read(client, "/openapi/v2")
    documents = [v3.document(SERVED, api_version, {}) for api_version in BUILT_IN_VERSIONS]
    ours = v2.swagger(document for document in documents if document)
    different = [
        name
        for name, schema in ours["definitions"].items()
        if normal(schema) != normal(real["definitions"][name]) and not name.endswith("DeleteOptions")
    ]
    assert different == []
    assert len(ours["definitions"]) > 600


@pytest.mark.parametrize("item", CUSTOM, ids=lambda item: item.resource.api_version)
async def test_the_openapi_document_of_a_custom_kind(client: Client, item: Served) -> None:
    resource = item.resource
    path = f"/openapi/v3/apis/{resource.api_version}"
    for _ in range(200):
        if (await client.request_raw("GET", path)).status == 200:
            break
        await RealClock().sleep(0.05)
    real = with_parameters(await read(client, path))
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    ours = v3.document(SERVED, resource.api_version, {(resource.api_version, resource.kind): schema})
    assert ours is not None
    told = {key: entry[:2] for key, entry in operations(real).items()}
    assert {key: entry[:2] for key, entry in operations(ours).items()} == told
    name = f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"
    for found in (name, f"{name}List"):
        assert normal(ours["components"]["schemas"][found]) == normal(real["components"]["schemas"][found])
