"""The client against a real API server: verbs, patches, paging, watches, and what the server refuses."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Informer
from kubedyno.client.rest import Client
from kubedyno.kube import meta
from kubedyno.kube.resources import BUILT_IN, CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, PODS
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local


@pytest.fixture
async def client(shared_lab: RunningLab) -> Client:
    return shared_lab.client


@pytest.fixture
async def namespace(client: Client, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    name = request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60].rstrip("-")
    await installing.ensure_namespace(client, name)
    yield name
    await client.delete(NAMESPACES, name)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_every_verb_round_trips(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("one", a="1"), namespace=namespace)
    made["data"]["a"] = "2"
    replaced = await client.update(CONFIG_MAPS, made)
    assert replaced["data"] == {"a": "2"}
    patched = await client.patch(
        CONFIG_MAPS, "one", [{"op": "add", "path": "/data/b", "value": "3"}], kind="json", namespace=namespace
    )
    assert patched["data"] == {"a": "2", "b": "3"}
    merged = await client.patch(CONFIG_MAPS, "one", {"data": {"a": None}}, kind="merge", namespace=namespace)
    assert merged["data"] == {"b": "3"}
    assert (await client.get(CONFIG_MAPS, "one", namespace=namespace))["data"] == {"b": "3"}
    await client.delete(CONFIG_MAPS, "one", namespace=namespace)
    with pytest.raises(ApiError) as gone:
        await client.get(CONFIG_MAPS, "one", namespace=namespace)
    assert gone.value.is_not_found
    assert gone.value.reason == "NotFound"


async def test_a_stale_update_conflicts_and_modify_retries(client: Client, namespace: str) -> None:
    stale = await client.create(CONFIG_MAPS, config_map("shared", a="1"), namespace=namespace)
    await client.patch(CONFIG_MAPS, "shared", {"data": {"a": "2"}}, kind="merge", namespace=namespace)
    with pytest.raises(ApiError) as conflict:
        await client.update(CONFIG_MAPS, stale)
    assert conflict.value.is_conflict
    changes = 0

    def change(obj: dict[str, Any]) -> None:
        nonlocal changes
        changes += 1
        if changes == 1:
            obj["metadata"]["resourceVersion"] = stale["metadata"]["resourceVersion"]
        obj["data"]["b"] = "3"

    done = await client.modify(CONFIG_MAPS, "shared", change, namespace=namespace)
    assert done["data"] == {"a": "2", "b": "3"}
    assert changes == 2


async def test_server_side_apply_knows_owners(client: Client, namespace: str) -> None:
    await client.apply(config_map("owned", a="1"), field_manager="first", namespace=namespace)
    with pytest.raises(ApiError) as conflict:
        await client.apply(config_map("owned", a="2"), field_manager="second", namespace=namespace)
    assert conflict.value.is_conflict
    assert "first" in conflict.value.message
    taken = await client.apply(config_map("owned", a="2"), field_manager="second", namespace=namespace, force=True)
    assert taken["data"] == {"a": "2"}


async def test_strategic_patch_merges_containers_by_name(client: Client, namespace: str) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]},
            },
        },
    }
    await client.create(DEPLOYMENTS, deployment, namespace=namespace)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "new"}]}}}}
    patched = await client.patch(DEPLOYMENTS, "web", patch, kind="strategic", namespace=namespace)
    images = {c["name"]: c["image"] for c in patched["spec"]["template"]["spec"]["containers"]}
    assert images == {"a": "a", "b": "new"}
    scale = await client.get(DEPLOYMENTS, "web", namespace=namespace, subresource="scale")
    assert scale["kind"] == "Scale"


async def test_a_list_is_read_page_by_page(client: Client, namespace: str) -> None:
    for index in range(7):
        await client.create(CONFIG_MAPS, config_map(f"page-{index}"), namespace=namespace)
    listing = await client.list_all(CONFIG_MAPS, namespace=namespace, page_size=3)
    names = [item["metadata"]["name"] for item in listing.items]
    assert [name for name in names if name.startswith("page-")] == [f"page-{index}" for index in range(7)]


async def test_an_informer_sees_every_change_in_order(client: Client, namespace: str) -> None:
    seen: list[tuple[str, str]] = []

    def note(change: Change) -> None:
        if change.key[1] == "watched":
            seen.append((change.type, change.object.get("data", {}).get("a", "")))

    informer = Informer(client, CONFIG_MAPS, namespace=namespace)
    informer.subscribe(note)
    async with informer:
        await client.create(CONFIG_MAPS, config_map("watched", a="1"), namespace=namespace)
        await client.patch(CONFIG_MAPS, "watched", {"data": {"a": "2"}}, kind="merge", namespace=namespace)
        await client.delete(CONFIG_MAPS, "watched", namespace=namespace)
        await informer.wait_until(lambda _: len(seen) == 3, timeout_s=10, what="three changes")
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


async def test_the_server_refuses_an_unknown_field_when_asked_to(client: Client, namespace: str) -> None:
    wrong = {**config_map("strict"), "dta": {}}
    with pytest.raises(ApiError) as refused:
        await client.create(CONFIG_MAPS, wrong, namespace=namespace, field_validation="Strict")
    assert refused.value.code == 400
    assert 'unknown field "dta"' in refused.value.message


async def test_the_table_of_resources_agrees_with_the_server(client: Client) -> None:
    """For every group and version that is served: plural, scope and kind as the server's discovery says."""
    import msgspec  # noqa: PLC0415 - used once

    async def served(path: str) -> dict[str, Any]:
        answer = await client.request_raw("GET", path)
        return dict(msgspec.json.decode(answer.body)) if answer.status == 200 else {}

    compared = 0
    for api_version in sorted({resource.api_version for resource in BUILT_IN}):
        path = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        found = {item["name"]: item for item in (await served(path)).get("resources", [])}
        for resource in (r for r in BUILT_IN if r.api_version == api_version and found):
            item = found[resource.plural]
            assert (item["kind"], item["namespaced"]) == (resource.kind, resource.namespaced), resource
            compared += 1
    assert compared > 50


async def test_deciding_stops_while_the_scheduler_is_paused(shared_lab: RunningLab, namespace: str) -> None:
    client = shared_lab.client

    async def pod(name: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"containers": [{"name": "main", "image": "simulated"}]},
        }
        await client.create(PODS, body)

    def bound(name: str) -> Any:
        return lambda pods: bool((found := pods.get((namespace, name))) and found["spec"].get("nodeName"))

    async with Informer(client, PODS, namespace=namespace) as pods:
        for how in ("stop", "freeze"):
            await shared_lab.scheduler.pause(how)
            await pod(how)
            # The scheduler would have bound it before the API server answers ten more requests.
            for _ in range(10):
                await client.get(PODS, how, namespace=namespace)
            assert not bound(how)(pods)
            resumed = await shared_lab.scheduler.resume()
            assert resumed.answered_at_ns >= resumed.resumed_at_ns
            await pods.wait_until(bound(how), timeout_s=30, what=f"pod {how} to be bound")
        stopped_for_s = (resumed.answered_at_ns - resumed.resumed_at_ns) / 1e9
        assert stopped_for_s >= 0
    assert not meta.is_condition_true(pods.get((namespace, "stop")) or {}, "DisruptionTarget")
