import pytest
from api_stub import JumpClock, Stub, failing, pod, pod_list, reply

from kubedyno.client.access import Access
from kubedyno.client.errors import MESSAGE_LIMIT, ApiError, Malformed
from kubedyno.client.rest import Client
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kit.pacing import TokenBucket
from kubedyno.kube import codec
from kubedyno.kube.resources import NODES, PODS

pytestmark = pytest.mark.unit

COLLECTION = "/api/v1/namespaces/ns/pods"
ONE = f"{COLLECTION}/a"


async def test_get_asks_for_one_object(client: Client, stub: Stub) -> None:
    stub.on("GET", ONE, reply(pod("a")))
    assert await client.get(PODS, "a", namespace="ns", resource_version="0") == pod("a")
    (seen,) = stub.seen
    assert seen.query == {"resourceVersion": "0"}
    assert seen.headers["Accept"] == "application/json"
    assert seen.headers["User-Agent"].startswith("kubedyno/")
    assert seen.headers["Accept-Encoding"] == "identity"


async def test_get_of_a_subresource(client: Client, stub: Stub) -> None:
    stub.on("GET", f"{ONE}/status", reply(pod("a")))
    await client.get(PODS, "a", namespace="ns", subresource="status")
    assert stub.seen[0].path == f"{ONE}/status"


async def test_names_and_selectors_are_quoted(client: Client, stub: Stub) -> None:
    stub.on("GET", "/api/v1/nodes/a%2Fb%20c", reply({}))
    await client.get(NODES, "a/b c")
    stub.on("GET", "/api/v1/pods", reply(pod_list(version=1)))
    await client.list(PODS, label_selector="app in (a, b),x!=y&z", field_selector="spec.nodeName=n")
    assert stub.seen[1].query == {"labelSelector": "app in (a, b),x!=y&z", "fieldSelector": "spec.nodeName=n"}


async def test_a_client_known_as_somebody_writes_as_that_manager(client: Client, stub: Stub) -> None:
    other = client.known_as("somebody")
    stub.on("POST", COLLECTION, reply(pod("a"), code=201))
    await other.create(PODS, pod("a"))
    await other.create(PODS, pod("a"), field_manager="me")
    await client.create(PODS, pod("a"))
    assert [seen.query.get("fieldManager") for seen in stub.seen] == ["somebody", "me", None]
    agents = [seen.headers["User-Agent"].partition("/")[0] for seen in stub.seen]
    assert agents == ["somebody", "somebody", "kubedyno"]


async def test_list_gives_one_page(client: Client, stub: Stub) -> None:
    page = pod_list(pod("a"), version=7, token="more")
    stub.on("GET", COLLECTION, reply(page))
    assert await client.list(PODS, namespace="ns", limit=1, continue_token="t", resource_version_match="Exact") == page
    assert stub.seen[0].query == {"limit": "1", "continue": "t", "resourceVersionMatch": "Exact"}


async def test_list_all_follows_the_pages(client: Client, stub: Stub) -> None:
    stub.on(
        "GET",
        COLLECTION,
        reply(pod_list(pod("a"), version=7, token="t1")),
        reply(pod_list(pod("b"), version=7, token="t2")),
        reply(pod_list(pod("c"), version=7)),
    )
    listing = await client.list_all(PODS, namespace="ns", label_selector="x=y", page_size=1)
    assert [item["metadata"]["name"] for item in listing.items] == ["a", "b", "c"]
    assert listing.resource_version == "7"
    assert [seen.query.get("continue") for seen in stub.seen] == [None, "t1", "t2"]
    assert {seen.query["labelSelector"] for seen in stub.seen} == {"x=y"}


async def test_a_token_that_expires_midway_restarts_the_list_in_one_piece(client: Client, stub: Stub) -> None:
    stub.on(
        "GET",
        COLLECTION,
        reply(pod_list(pod("a"), version=7, token="t1")),
        failing(410, reason="Expired"),
        reply(pod_list(pod("a"), pod("b"), version=9)),
    )
    listing = await client.list_all(PODS, namespace="ns", page_size=1)
    assert [item["metadata"]["name"] for item in listing.items] == ["a", "b"]
    assert listing.resource_version == "9"
    assert "limit" not in stub.seen[2].query


async def test_a_first_page_that_is_gone_is_an_error(client: Client, stub: Stub) -> None:
    stub.on("GET", COLLECTION, failing(410))
    with pytest.raises(ApiError) as caught:
        await client.list_all(PODS, namespace="ns")
    assert caught.value.is_gone


async def test_create_takes_the_namespace_from_the_object(client: Client, stub: Stub) -> None:
    stub.on("POST", COLLECTION, reply(pod("a"), code=201))
    created = await client.create(PODS, pod("a"), dry_run=True, field_validation="Strict", field_manager="me")
    assert created == pod("a")
    assert stub.seen[0].object == pod("a")
    assert stub.seen[0].query == {"dryRun": "All", "fieldValidation": "Strict", "fieldManager": "me"}
    assert stub.seen[0].headers["Content-Type"] == "application/json"


async def test_create_sends_bytes_as_they_are(client: Client, stub: Stub) -> None:
    stub.on("POST", COLLECTION, reply(pod("a"), code=201))
    await client.create(PODS, b'{ "kind":"Pod" }', namespace="ns")
    assert stub.seen[0].body == b'{ "kind":"Pod" }'


async def test_create_without_a_namespace_is_refused_here(client: Client, stub: Stub) -> None:
    with pytest.raises(UsageError, match="name the namespace"):
        await client.create(PODS, b"{}")
    assert not stub.seen


async def test_binding_and_eviction_are_posted_to_the_pod(client: Client, stub: Stub) -> None:
    stub.on("POST", f"{ONE}/binding", reply({"kind": "Status"}, code=201))
    binding = {"metadata": {"name": "a", "namespace": "ns"}, "target": {"kind": "Node", "name": "n"}}
    await client.create(PODS, binding, name="a", subresource="binding")
    assert stub.seen[0].object == binding


async def test_update_puts_to_the_objects_own_name(client: Client, stub: Stub) -> None:
    stub.on("PUT", ONE, reply(pod("a", version=2)))
    stub.on("PUT", f"{ONE}/status", reply(pod("a", version=3)))
    assert (await client.update(PODS, pod("a")))["metadata"]["resourceVersion"] == "2"
    await client.update(PODS, pod("a"), subresource="status")
    await client.update(PODS, codec.encode(pod("a")), namespace="ns", name="a")
    assert [seen.path for seen in stub.seen] == [ONE, f"{ONE}/status", ONE]
    with pytest.raises(UsageError, match="empty"):
        await client.update(PODS, b"{}", namespace="ns")


async def test_modify_reads_again_after_a_conflict(client: Client, stub: Stub) -> None:
    stub.on("GET", ONE, reply(pod("a", version=1)), reply(pod("a", version=2)))
    stub.on("PUT", ONE, failing(409), reply(pod("a", version=3)))

    def change(obj: codec.Object) -> None:
        obj["status"]["phase"] = "Running"

    await client.modify(PODS, "a", change, namespace="ns")
    puts = stub.seen_as("PUT")
    assert [put.object["metadata"]["resourceVersion"] for put in puts] == ["1", "2"]
    assert puts[1].object["status"]["phase"] == "Running"


async def test_modify_gives_up_some_time_and_passes_other_errors_on(client: Client, stub: Stub) -> None:
    stub.on("GET", ONE, reply(pod("a")))
    stub.on("PUT", ONE, failing(409))
    with pytest.raises(ApiError) as caught:
        await client.modify(PODS, "a", lambda _: None, namespace="ns")
    assert caught.value.is_conflict
    assert len(stub.seen_as("PUT")) == 20
    stub.on("PUT", ONE, failing(422))
    with pytest.raises(ApiError) as caught:
        await client.modify(PODS, "a", lambda _: None, namespace="ns")
    assert caught.value.is_invalid


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        ("json", "application/json-patch+json"),
        ("merge", "application/merge-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
    ],
)
async def test_patches_name_their_type(client: Client, stub: Stub, kind: str, content_type: str) -> None:
    stub.on("PATCH", ONE, reply(pod("a")))
    await client.patch(PODS, "a", {"x": 1}, kind=kind, namespace="ns")  # type: ignore[arg-type] # a parameter
    assert stub.seen[0].headers["Content-Type"] == content_type
    assert stub.seen[0].object == {"x": 1}


async def test_a_json_patch_is_a_list_and_bytes_pass(client: Client, stub: Stub) -> None:
    stub.on("PATCH", ONE, reply(pod("a")))
    await client.patch(PODS, "a", [{"op": "remove", "path": "/x"}], kind="json", namespace="ns")
    await client.patch(PODS, "a", b"[]", kind="json", namespace="ns")
    assert [seen.body for seen in stub.seen] == [b'[{"op":"remove","path":"/x"}]', b"[]"]


async def test_apply_names_manager_and_force(client: Client, stub: Stub) -> None:
    stub.on("PATCH", ONE, reply(pod("a")))
    await client.apply(pod("a"), field_manager="me", force=True)
    assert stub.seen[0].headers["Content-Type"] == "application/apply-patch+yaml"
    assert stub.seen[0].query == {"fieldManager": "me", "force": "true"}
    with pytest.raises(UsageError, match="field manager"):
        await client.patch(PODS, "a", {}, kind="apply", namespace="ns")
    with pytest.raises(UsageError, match="apiVersion and kind"):
        await client.apply({"metadata": {"name": "a"}}, field_manager="me")


async def test_delete_carries_its_options(client: Client, stub: Stub) -> None:
    stub.on("DELETE", ONE, reply({"kind": "Status", "status": "Success"}))
    await client.delete(
        PODS, "a", namespace="ns", propagation="Foreground", grace_s=0, uid="u", resource_version="7", dry_run=True
    )
    assert stub.seen[0].object == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }


async def test_delete_collection_needs_a_namespace(client: Client, stub: Stub) -> None:
    stub.on("DELETE", COLLECTION, reply(pod_list(version=1)))
    await client.delete_collection(PODS, namespace="ns", label_selector="a=b", grace_s=0)
    assert stub.seen[0].query == {"labelSelector": "a=b"}
    with pytest.raises(UsageError, match="one namespace at a time"):
        await client.delete_collection(PODS)


async def test_raw_requests_give_whatever_comes_once(client: Client, stub: Stub) -> None:
    stub.on("GET", "/readyz", reply(b"not yet", code=500, headers={"Retry-After": "1"}))
    answer = await client.request_raw("GET", "/readyz", query={"verbose": ""})
    assert (answer.status, answer.body) == (500, b"not yet")
    assert answer.headers["retry-after"] == "1"
    assert len(stub.seen) == 1


async def test_a_failure_carries_the_status(client: Client, stub: Stub) -> None:
    stub.on("GET", ONE, failing(404, 'pods "a" not found'))
    with pytest.raises(ApiError, match=r'GET .*/pods/a failed with 404 NotFound: pods "a" not found') as caught:
        await client.get(PODS, "a", namespace="ns")
    error = caught.value
    assert isinstance(error, EngineError)
    assert (error.code, error.reason, error.method, error.path) == (404, "NotFound", "GET", ONE)
    assert error.is_not_found
    assert [error.is_conflict, error.is_gone, error.is_already_exists] == [False, False, False]


async def test_predicates_tell_exists_from_conflict(client: Client, stub: Stub) -> None:
    stub.on("POST", COLLECTION, failing(409, reason="AlreadyExists"), failing(409), failing(403))
    codes = []
    for _ in range(3):
        with pytest.raises(ApiError) as caught:
            await client.create(PODS, pod("a"))
        codes.append((caught.value.is_already_exists, caught.value.is_conflict, caught.value.is_forbidden))
    assert codes == [(True, False, False), (False, True, False), (False, False, True)]


async def test_long_messages_are_cut_and_bodies_that_are_no_status_are_told(client: Client, stub: Stub) -> None:
    stub.on("GET", ONE, failing(403, "x" * 5000), reply(b"<html>\nbad gateway</html>", code=502))
    with pytest.raises(ApiError) as caught:
        await client.get(PODS, "a", namespace="ns")
    assert len(str(caught.value)) < MESSAGE_LIMIT + 100
    assert len(caught.value.message) == 5000
    with pytest.raises(ApiError, match="502 Unknown: <html> bad gateway</html>"):
        await client.get(PODS, "a", namespace="ns")


async def test_a_success_that_is_no_object_is_malformed(client: Client, stub: Stub) -> None:
    stub.on("GET", ONE, reply(b"<html>"), reply(b"[1]"))
    for _ in range(2):
        with pytest.raises(Malformed, match="is it an API server"):
            await client.get(PODS, "a", namespace="ns")


async def test_the_limiter_paces_requests(stub: Stub, clock: JumpClock) -> None:
    stub.on("GET", ONE, reply(pod("a")))
    limiter = TokenBucket(rate_per_s=10, burst=2)
    async with Client.connect(Access(server=stub.url), clock=clock, limiter=limiter) as client:
        for _ in range(4):
            await client.get(PODS, "a", namespace="ns")
    assert clock.slept_s == pytest.approx([0.1, 0.1])
    assert client.counts.limiter_wait_s == pytest.approx(0.2)
