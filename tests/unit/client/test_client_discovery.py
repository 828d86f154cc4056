from typing import Any

import pytest
from api_stub import Stub, failing, reply

from kubedyno.client.discovery import AGGREGATED
from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import PODS, Resource, UnknownResource

pytestmark = pytest.mark.unit

GANG = Resource("train.example", "v1", "Gang", "gangs", namespaced=True, subresources=("status", "scale"))


def aggregated(*kinds: str) -> dict[str, Any]:
    resources = [
        {
            "resource": f"{kind.lower()}s",
            "responseKind": {"group": "", "kind": kind, "version": ""},
            "scope": "Namespaced",
            "subresources": [{"subresource": "status"}, {"subresource": "scale"}],
        }
        for kind in kinds
    ]
    versions = [{"version": "v1", "resources": resources}, {"version": "v2", "freshness": "Stale"}]
    items = [{"metadata": {"name": "train.example"}, "versions": versions}]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}


async def test_built_in_kinds_ask_nobody(client: Client, stub: Stub) -> None:
    assert await client.resource("v1", "Pod") is PODS
    assert stub.seen == []


async def test_other_kinds_are_asked_for_once(client: Client, stub: Stub) -> None:
    stub.on("GET", "/apis", reply(aggregated("Gang")))
    assert await client.resource("train.example/v1", "Gang") == GANG
    assert await client.resource_of({"apiVersion": "train.example/v1", "kind": "Gang"}) == GANG
    assert len(stub.seen) == 1
    assert stub.seen[0].headers["Accept"] == AGGREGATED


async def test_a_miss_asks_again_because_it_may_have_been_installed(client: Client, stub: Stub) -> None:
    stub.on("GET", "/apis", reply(aggregated("Gang")), reply(aggregated("Gang", "Squad")))
    with pytest.raises(UnknownResource, match=r"no kind 'Sqad' in train.example/v1: known are: Gang"):
        await client.resource("train.example/v1", "Sqad")
    with pytest.raises(UnknownResource, match="did you mean 'Squad'"):
        await client.resource("train.example/v1", "Sqad")
    assert (await client.resource("train.example/v1", "Squad")).plural == "squads"
    assert len(stub.seen) == 2


async def test_a_group_that_is_not_there_names_the_nearest(client: Client, stub: Stub) -> None:
    stub.on("GET", "/apis", reply(aggregated("Gang")))
    with pytest.raises(UsageError, match=r"definition installed.*did you mean 'train\.example/v1'"):
        await client.resource("traim.example/v1", "Gang")


async def test_servers_without_aggregation_are_asked_by_group(client: Client, stub: Stub) -> None:
    stub.on("GET", "/apis", reply({"kind": "APIGroupList", "groups": []}))
    resources = [
        {"name": "gangs", "kind": "Gang", "namespaced": True},
        {"name": "gangs/status", "kind": "Gang", "namespaced": True},
        {"name": "gangs/scale", "kind": "Scale", "namespaced": True},
        {"name": "gangsters", "kind": "Gangster", "namespaced": False},
    ]
    stub.on("GET", "/apis/train.example/v1", reply({"kind": "APIResourceList", "resources": resources}))
    assert await client.resource("train.example/v1", "Gang") == GANG
    assert not (await client.resource("train.example/v1", "Gangster")).namespaced
    with pytest.raises(UnknownResource):
        await client.resource("other.example/v1", "Gang")


async def test_unknown_core_kinds_are_asked_for_at_the_core(client: Client, stub: Stub) -> None:
    stub.on("GET", "/api", reply({"kind": "APIVersions", "versions": ["v1"]}))
    stub.on("GET", "/api/v1", reply({"resources": [{"name": "novelties", "kind": "Novelty", "namespaced": True}]}))
    assert (await client.resource("v1", "Novelty")).path(namespace="a") == "/api/v1/namespaces/a/novelties"


async def test_failures_of_discovery_are_passed_on(client: Client, stub: Stub) -> None:
    stub.on("GET", "/apis", reply({"kind": "APIGroupList"}))
    stub.on("GET", "/apis/train.example/v1", failing(503, "its server is away"))
    with pytest.raises(ApiError, match="its server is away"):
        await client.resource("train.example/v1", "Gang")
