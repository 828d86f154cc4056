"""What a server says of itself: groups, resources, versions, health."""

from typing import Any

import msgspec
from tests.conformance.api import Answer, Api
from tests.conformance.behaviour import behaviour

AGGREGATED = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
COMPARED = (
    "v1",
    "apps/v1",
    "batch/v1",
    "coordination.k8s.io/v1",
    "policy/v1",
    "scheduling.k8s.io/v1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "storage.k8s.io/v1",
    "rbac.authorization.k8s.io/v1",
    "events.k8s.io/v1",
    "apiextensions.k8s.io/v1",
)


def root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def named(answer: Answer) -> set[str]:
    return {resource["name"] for resource in answer["resources"]}


def without_hash(resource: dict[str, Any]) -> dict[str, Any]:
    """Without what tells how it is stored, and the order of the verbs."""
    kept = {key: value for key, value in resource.items() if key != "storageVersionHash"}
    return {**kept, "verbs": sorted(kept["verbs"])}


@behaviour
async def the_old_root(api: Api) -> None:
    answer = await api.send("GET", "/api", recorded=False)
    assert answer["versions"] == ["v1"]
    api.note("kind", answer["kind"])


@behaviour
async def the_groups(api: Api) -> None:
    answer = await api.send("GET", "/apis", recorded=False)
    groups = {group["name"]: group for group in answer["groups"]}
    for api_version in COMPARED[1:]:
        name = api_version.partition("/")[0]
        api.note(name, groups[name])
        assert groups[name]["preferredVersion"]["version"] == "v1"


@behaviour
async def one_group(api: Api) -> None:
    answer = await api.send("GET", "/apis/resource.k8s.io")
    assert answer["preferredVersion"]["version"] == "v1"


@behaviour
async def a_group_that_nobody_serves(api: Api) -> None:
    answer = await api.send("GET", "/apis/nobody.example.com")
    assert answer.code == 404


@behaviour
async def the_core_resources(api: Api) -> None:
    answer = await api.send("GET", "/api/v1", recorded=False)
    found = {resource["name"]: without_hash(resource) for resource in answer["resources"]}
    for name in (
        "pods",
        "pods/status",
        "pods/binding",
        "pods/eviction",
        "nodes",
        "namespaces",
        "namespaces/finalize",
        "configmaps",
        "secrets",
        "services",
        "serviceaccounts",
        "events",
        "persistentvolumes",
        "persistentvolumeclaims",
        "resourcequotas",
        "limitranges",
    ):
        api.note(name, found[name])
    assert found["pods"]["shortNames"] == ["po"]


@behaviour
async def the_resources_of_apps(api: Api) -> None:
    answer = await api.send("GET", "/apis/apps/v1", recorded=False)
    assert "deployments/scale" in named(answer)
    for resource in answer["resources"]:
        api.note(resource["name"], without_hash(resource))


@behaviour
async def the_resources_of_batch(api: Api) -> None:
    answer = await api.send("GET", "/apis/batch/v1", recorded=False)
    assert "jobs/status" in named(answer)
    for resource in answer["resources"]:
        api.note(resource["name"], without_hash(resource))


@behaviour
async def the_resources_of_devices_in_both_versions(api: Api) -> None:
    for version in ("v1", "v1beta2"):
        answer = await api.send("GET", f"/apis/resource.k8s.io/{version}", recorded=False)
        assert "resourceclaims/status" in named(answer)
        for resource in answer["resources"]:
            if not resource["name"].startswith(("resourcepoolstatus", "devicetaintrules")):
                api.note(resource["name"], without_hash(resource))


@behaviour
async def the_resources_of_small_groups(api: Api) -> None:
    for api_version in ("coordination.k8s.io/v1", "policy/v1", "scheduling.k8s.io/v1", "events.k8s.io/v1"):
        answer = await api.send("GET", root(api_version), recorded=False)
        assert answer["groupVersion"] == api_version
        for resource in answer["resources"]:
            api.note(f"{api_version} {resource['name']}", without_hash(resource))


@behaviour
async def the_resources_of_storage_and_roles(api: Api) -> None:
    for api_version in ("storage.k8s.io/v1", "rbac.authorization.k8s.io/v1", "apiextensions.k8s.io/v1"):
        answer = await api.send("GET", root(api_version), recorded=False)
        assert answer["groupVersion"] == api_version
        for resource in answer["resources"]:
            api.note(f"{api_version} {resource['name']}", without_hash(resource))


@behaviour
async def all_groups_at_once(api: Api) -> None:
    answer = await api.send("GET", "/apis", accept=AGGREGATED, recorded=False)
    assert answer["kind"] == "APIGroupDiscoveryList"
    api.note("type", answer.content_type)
    groups = {item["metadata"]["name"]: item for item in answer["items"]}
    for name in ("apps", "batch", "policy", "scheduling.k8s.io", "events.k8s.io"):
        first = groups[name]["versions"][0]
        for resource in first["resources"]:
            api.note(f"{name} {resource['resource']}", {**resource, "verbs": sorted(resource["verbs"])})


@behaviour
async def the_core_group_at_once(api: Api) -> None:
    answer = await api.send("GET", "/api", accept=AGGREGATED, recorded=False)
    (group,) = answer["items"]
    pods = next(item for item in group["versions"][0]["resources"] if item["resource"] == "pods")
    api.note("verbs", sorted(pods["verbs"]))
    assert "watch" in pods["verbs"]
    api.note("names", [pods["singularResource"], pods.get("shortNames"), pods.get("categories"), pods["scope"]])
    status = next(item for item in pods["subresources"] if item["subresource"] == "status")
    api.note("status", {**status, "verbs": sorted(status["verbs"])})


@behaviour
async def an_aggregated_answer_of_another_version_is_plain(api: Api) -> None:
    accept = "application/json;v=v9;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList,application/json"
    answer = await api.send("GET", "/apis", accept=accept, recorded=False)
    assert answer["kind"] == "APIGroupList"
    api.note("kind", answer["kind"])


@behaviour
async def the_version(api: Api) -> None:
    answer = await api.send("GET", "/version", recorded=False)
    assert (answer["major"], answer["minor"]) == ("1", "36")
    api.note("keys", sorted(answer.body))
    api.note("number", [answer["major"], answer["minor"], answer["gitVersion"]])


@behaviour
async def health(api: Api) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        answer = await api.send("GET", path)
        assert (answer.code, answer.body) == (200, "ok")


@behaviour
async def health_in_words(api: Api) -> None:
    answer = await api.send("GET", "/readyz", verbose="true", recorded=False)
    assert answer.body.endswith("readyz check passed\n")
    api.note("last line", answer.body.splitlines()[-1])


@behaviour
async def the_index_of_the_third_openapi(api: Api) -> None:
    answer = await api.send("GET", "/openapi/v3", recorded=False)
    api.note("type", answer.content_type)
    index = msgspec.json.decode(answer.body) if isinstance(answer.body, str) else answer.body
    for path in ("api/v1", "apis/apps/v1", "apis/batch/v1", "apis/resource.k8s.io/v1"):
        assert index["paths"][path]["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")
        api.note(path, "is there")


@behaviour
async def the_third_openapi_of_a_group(api: Api) -> None:
    answer = await api.send("GET", "/openapi/v3/apis/batch/v1", recorded=False)
    schemas = answer["components"]["schemas"]
    for name in ("io.k8s.api.batch.v1.Job", "io.k8s.api.batch.v1.JobSpec"):
        fields = schemas[name]["properties"]
        api.note(name, {key: sorted(set(value) - {"description", "default"}) for key, value in fields.items()})
        assert fields
    api.note("kinds", schemas["io.k8s.api.batch.v1.Job"]["x-kubernetes-group-version-kind"])


@behaviour
async def the_second_openapi(api: Api) -> None:
    answer = await api.send("GET", "/openapi/v2", recorded=False)
    assert answer.code == 200
    job = answer["definitions"]["io.k8s.api.batch.v1.Job"]
    api.note("fields of a job", sorted(job["properties"]))
    api.note("kinds", job["x-kubernetes-group-version-kind"])


@behaviour
async def metrics_have_the_names_of_the_real_ones(api: Api) -> None:
    answer = await api.send("GET", "/metrics", accept="*/*", recorded=False)
    assert answer.code == 200
    for name in ("apiserver_request_total", "apiserver_request_duration_seconds_bucket"):
        api.note(name, name in str(answer.body))
        assert name in str(answer.body)


@behaviour
async def health_of_one_check(api: Api) -> None:
    for path in ("/healthz/etcd", "/livez/ping", "/readyz/log"):
        answer = await api.send("GET", path)
        assert (answer.code, answer.body) == (200, "ok")
    nobody = await api.send("GET", "/readyz/nobody")
    assert nobody.code == 404


@behaviour
async def old_versions_warn_whoever_asks(api: Api) -> None:
    endpoints = await api.send("GET", f"/api/v1/namespaces/{api.namespace}/endpoints/missing")
    assert (endpoints.code, len(endpoints.warnings)) == (404, 1)
    classes = await api.send("GET", "/apis/resource.k8s.io/v1beta2/deviceclasses/missing")
    assert (classes.code, len(classes.warnings)) == (404, 1)
