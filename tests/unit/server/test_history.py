"""What the server says when history that is asked for is gone: a real one needs minutes for that, ours a few writes."""

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from kubedyno.kit.clock import VirtualClock
from kubedyno.kube import codec
from kubedyno.server.api import Api
from kubedyno.server.embedding import new_api
from kubedyno.server.messages import Answer, Request
from kubedyno.server.watching import Watch

pytestmark = pytest.mark.unit

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def api() -> Api:
    """One that keeps five events of each resource."""
    return new_api(clock=VirtualClock(start_ns=10**18), seed=1, keep_events=5)


def create(api: Api, *names: str) -> None:
    for name in names:
        made = api.handle(Request("POST", MAPS, {}, msgspec.json.encode({"metadata": {"name": name}})))
        assert isinstance(made, Answer)
        assert made.status == 201


def listed(api: Api, **query: str) -> tuple[int, Any]:
    answer = api.handle(Request("GET", MAPS, query))
    assert isinstance(answer, Answer)
    return answer.status, codec.decode(answer.body)


def names(found: Any) -> list[str]:
    return [item["metadata"]["name"] for item in found["items"]]


def test_a_token_that_is_too_old_gives_another_with_which_the_list_goes_on_inconsistently(api: Api) -> None:
    create(api, "a", "b", "c")
    code, first = listed(api, limit="1")
    assert (code, names(first), first["metadata"]["remainingItemCount"]) == (200, ["a"], 2)
    create(api, "d", "e", "f", "g", "h", "i")
    code, gone = listed(api, limit="2", **{"continue": first["metadata"]["continue"]})
    assert (code, gone["reason"], gone["code"]) == (410, "Expired", 410)
    assert gone["message"].startswith("The provided continue parameter is too old to display a consistent list result.")
    code, rest = listed(api, limit="2", **{"continue": gone["metadata"]["continue"]})
    assert (code, names(rest)) == (200, ["b", "c"])
    code, end = listed(api, **{"continue": rest["metadata"]["continue"]})
    assert (code, names(end)) == (200, ["d", "e", "f", "g", "h", "i"])


def test_pages_are_of_one_moment_while_history_reaches_back_to_it(api: Api) -> None:
    create(api, "a", "c")
    _, first = listed(api, limit="1")
    create(api, "b")
    _, rest = listed(api, **{"continue": first["metadata"]["continue"]})
    assert names(rest) == ["c"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_an_exact_version_that_is_gone_is_refused(api: Api) -> None:
    create(api, "a")
    _, then = listed(api)
    version = then["metadata"]["resourceVersion"]
    create(api, *"bcdefgh")
    code, gone = listed(api, resourceVersion=version, resourceVersionMatch="Exact")
    assert (code, gone["reason"]) == (410, "Expired")


async def test_a_watch_from_a_version_that_is_gone_is_told_so_and_ends(api: Api) -> None:
    create(api, "a")
    _, then = listed(api)
    version = then["metadata"]["resourceVersion"]
    create(api, *"bcdefgh")
    watch = api.handle(Request("GET", MAPS, {"watch": "true", "resourceVersion": version, "timeoutSeconds": "5"}))
    assert isinstance(watch, Watch)
    async with aclosing(watch.frames()) as told:
        frames = [msgspec.json.decode(frame) async for some in told for frame in some]
    assert [frame["type"] for frame in frames] == ["ERROR"]
    assert frames[0]["object"]["reason"] == "Expired"
    assert frames[0]["object"]["code"] == 410
    assert frames[0]["object"]["message"].startswith(f"too old resource version: {version} (")


async def test_a_watch_that_falls_behind_what_is_kept_is_cut_off(api: Api) -> None:
    create(api, "a")
    watch = api.handle(Request("GET", MAPS, {"watch": "true", "timeoutSeconds": "5"}))
    assert isinstance(watch, Watch)
    async with aclosing(watch.frames()) as frames:
        (first,) = await anext(frames)
        assert msgspec.json.decode(first)["object"]["metadata"]["name"] == "a"
        create(api, *"bcdefghi")
        assert [some async for some in frames] == []


async def test_what_is_written_while_a_frame_is_on_its_way_is_not_waited_for(api: Api) -> None:
    watch = api.handle(Request("GET", MAPS, {"watch": "true", "timeoutSeconds": "60"}))
    assert isinstance(watch, Watch)
    async with asyncio.timeout(5), aclosing(watch.frames()) as frames:
        first = asyncio.ensure_future(anext(frames))
        await asyncio.sleep(0)
        create(api, "a")
        await first
        create(api, "b")  # before the watch has come to wait again
        (second,) = await anext(frames)
        assert msgspec.json.decode(second)["object"]["metadata"]["name"] == "b"
