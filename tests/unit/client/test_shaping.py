"""Reading less of each object."""

from contextlib import aclosing
from typing import Any, TypedDict

import pytest
from api_stub import Stub, Wire, failing, pod, pod_list, reply

from kubedyno.client.rest import Client, Page
from kubedyno.client.shaping import Shape
from kubedyno.client.watching import Changed, Listed, Watch
from kubedyno.kit import randomness
from kubedyno.kube import codec, status
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

PATH = "/api/v1/namespaces/ns/pods"


class Metadata(TypedDict, total=False):
    name: Any
    resourceVersion: Any


class Spec(TypedDict, total=False):
    nodeName: Any


class Form(TypedDict, total=False):
    metadata: Metadata
    spec: Spec


SHAPE = Shape(Form)


def slim(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, "spec": {"nodeName": "n"}}


def full(name: str, version: int) -> dict[str, Any]:
    whole = pod(name, version=version)
    whole["metadata"]["managedFields"] = [{"manager": "x"}]
    whole["spec"] = {"nodeName": "n", "containers": [{"name": "c"}]}
    return whole


async def test_a_watch_reads_only_the_shape_of_listed_and_changed_objects(client: Client, stub: Stub) -> None:
    wire = Wire()
    stub.on("GET", PATH, reply(pod_list(full("a", 3), version=5)))
    stub.on("WATCH", PATH, wire)
    watch = Watch(client, PODS, namespace="ns", rng=randomness.stream(7, "test"), shape=SHAPE)
    async with aclosing(watch.events()) as events:
        first = await anext(events)
        assert isinstance(first, Listed)
        assert first.items == [slim("a", 3)]
        wire.send(("BOOKMARK", {"metadata": {"resourceVersion": "6"}, "spec": {"containers": None}}))
        wire.send(("ADDED", full("b", 7)))
        change = await anext(events)
        assert isinstance(change, Changed)
        assert (change.type, change.object) == ("ADDED", slim("b", 7))
        # What does not fit is read whole.
        wire.send(("MODIFIED", {"metadata": {"name": "b", "resourceVersion": "8"}, "spec": "odd"}))
        odd = await anext(events)
        assert isinstance(odd, Changed)
        assert odd.object["spec"] == "odd"
        assert (watch.counts.changes, watch.counts.bookmarks) == (2, 1)


@pytest.mark.parametrize("code", [410, 500])
async def test_errors_in_a_stream_are_understood_beside_a_shape(client: Client, stub: Stub, code: int) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, first, second)
    watch = Watch(client, PODS, namespace="ns", rng=randomness.stream(7, "test"), shape=SHAPE)
    async with aclosing(watch.events()) as events:
        await anext(events)
        first.send(("ERROR", codec.decode(codec.encode(status.failure(code, "m")))))
        second.send(("ADDED", full("b", 7)))
        event = await anext(events)
        assert isinstance(event, Listed if code == 410 else Changed)
        assert (watch.counts.errors, watch.counts.relists) == (1, 1 if code == 410 else 0)


async def test_a_watch_hands_its_list_over_page_by_page(client: Client, stub: Stub) -> None:
    page = pod_list(full("a", 3), version=5)
    page["metadata"]["continue"] = "t"
    stub.on("GET", PATH, reply(page), reply(pod_list(full("b", 4), version=5)))
    stub.on("WATCH", PATH, Wire())
    pages: list[tuple[Page, int]] = []
    watch = Watch(
        client,
        PODS,
        namespace="ns",
        rng=randomness.stream(7, "test"),
        shape=SHAPE,
        pages=lambda page, at_ns: pages.append((page, at_ns)),
    )
    async with aclosing(watch.events()) as events:
        listed = await anext(events)
    assert isinstance(listed, Listed)
    assert (listed.items, listed.resource_version) == ([], "5")
    assert [page for page, _ in pages] == [
        Page([slim("a", 3)], "5", is_first=True, is_last=False),
        Page([slim("b", 4)], "5", is_first=False, is_last=True),
    ]
    assert all(at_ns == client.clock.wall_ns() for _, at_ns in pages)


async def test_pages_begin_anew_when_their_version_has_expired(client: Client, stub: Stub) -> None:
    page = pod_list(full("a", 3), version=5)
    page["metadata"]["continue"] = "t"
    whole = pod_list(full("a", 3), full("b", 4), version=9)
    stub.on("GET", PATH, reply(page), failing(410, reason="Expired"), reply(whole))
    pages = [page async for page in client.list_pages(PODS, namespace="ns", page_size=1, shape=SHAPE)]
    assert [(len(page.items), page.resource_version, page.is_first, page.is_last) for page in pages] == [
        (1, "5", True, False),
        (2, "9", True, True),
    ]
    assert [seen.query.get("limit") for seen in stub.seen] == ["1", "1", None]


async def test_a_page_that_does_not_fit_the_shape_is_read_whole(client: Client, stub: Stub) -> None:
    odd = {"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "a"}, "spec": "odd"}]}
    stub.on("GET", PATH, reply(odd))
    pages = [page async for page in client.list_pages(PODS, namespace="ns", shape=SHAPE)]
    assert pages == [Page(odd["items"], "5", is_first=True, is_last=True)]  # type: ignore[arg-type] # as it is
