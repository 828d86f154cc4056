import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
from api_stub import JumpClock, Stub, Wire, failing, pod, pod_list, reply, reset

from kubedyno.client.errors import ApiError, Malformed, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.watching import Changed, Event, Listed, Watch, WatchCounts
from kubedyno.kit import randomness
from kubedyno.kube import codec, status
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

PATH = "/api/v1/namespaces/ns/pods"


class Following:
    """A watch and its events, one at a time."""

    def __init__(self, watch: Watch, events: AsyncGenerator[Event, None]) -> None:
        self.watch = watch
        self._events = events

    async def listed(self) -> list[str]:
        event = await anext(self._events)
        assert isinstance(event, Listed)
        return [item["metadata"]["name"] for item in event.items]

    async def change(self) -> tuple[str, str]:
        event = await anext(self._events)
        assert isinstance(event, Changed)
        return event.type, event.object["metadata"]["name"]

    async def next(self) -> Event:
        return await anext(self._events)


@asynccontextmanager
async def following(client: Client, **options: str) -> AsyncIterator[Following]:
    watch = Watch(client, PODS, namespace="ns", rng=randomness.stream(7, "test"), **options)  # type: ignore[arg-type] # selectors
    async with aclosing(watch.events()) as events:
        yield Following(watch, events)


def error_frame(code: int, reason: str = "") -> tuple[str, Object]:
    return "ERROR", codec.decode(codec.encode(status.failure(code, "m", reason=reason or None)))


async def test_a_list_then_its_changes_with_stamps(client: Client, stub: Stub, clock: JumpClock) -> None:
    wire = Wire()
    stub.on("GET", PATH, reply(pod_list(pod("a"), version=5)))
    stub.on("WATCH", PATH, wire)
    async with following(client, label_selector="x=y", field_selector="f=g") as it:
        assert await it.listed() == ["a"]
        wire.send(("ADDED", pod("b", version=6)), ("MODIFIED", pod("b", version=7)), ("DELETED", pod("a", version=8)))
        first = await it.next()
        assert first == Changed("ADDED", pod("b", version=6), clock.now_ns, clock.now_ns)
        assert await it.change() == ("MODIFIED", "b")
        assert await it.change() == ("DELETED", "a")
        assert it.watch.counts == WatchCounts(lists=1, streams=1, changes=3)
    query = stub.seen_as("WATCH")[0].query
    assert 300 <= int(query.pop("timeoutSeconds")) <= 600
    assert query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "labelSelector": "x=y",
        "fieldSelector": "f=g",
    }
    assert stub.seen_as("GET")[0].query["labelSelector"] == "x=y"


async def test_a_stream_that_ends_is_resumed_at_the_last_version(client: Client, stub: Stub, clock: JumpClock) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, first, second)
    async with following(client) as it:
        assert await it.listed() == []
        first.send(("ADDED", pod("a", version=6)))
        first.end()
        assert await it.change() == ("ADDED", "a")
        second.send(("ADDED", pod("b", version=7)))
        assert await it.change() == ("ADDED", "b")
        assert it.watch.counts == WatchCounts(lists=1, streams=2, resumes=1, changes=2, early=1)
    assert [seen.query["resourceVersion"] for seen in stub.seen_as("WATCH")] == ["5", "6"]
    assert clock.slept_s == []  # it had brought something: no backoff


async def test_bookmarks_only_move_the_version(client: Client, stub: Stub) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, first, second)
    async with following(client) as it:
        await it.listed()
        first.send(("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "900"}}))
        first.end()
        second.send(("ADDED", pod("b", version=901)))
        assert await it.change() == ("ADDED", "b")
        assert it.watch.counts.bookmarks == 1
    assert stub.seen_as("WATCH")[1].query["resourceVersion"] == "900"


@pytest.mark.parametrize("how", ["frame", "answer", "expired frame"])
async def test_an_expired_version_is_listed_again(client: Client, stub: Stub, how: str) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(pod("a"), version=5)), reply(pod_list(pod("b"), version=50)))
    stub.on("WATCH", PATH, failing(410, reason="Expired") if how == "answer" else first, second)
    async with following(client) as it:
        assert await it.listed() == ["a"]
        first.send(error_frame(410, "Expired" if how == "expired frame" else ""))
        assert await it.listed() == ["b"]
        second.send(("ADDED", pod("c", version=51)))
        assert await it.change() == ("ADDED", "c")
        counts = it.watch.counts
    assert (counts.lists, counts.relists, counts.resumes, counts.errors) == (2, 1, 0, 1)
    assert [seen.query["resourceVersion"] for seen in stub.seen_as("WATCH")] == ["5", "50"]


async def test_a_version_newer_than_the_servers_is_listed_again(client: Client, stub: Stub) -> None:
    too_large = status.failure(504, "Too large resource version", causes=(status.Cause("ResourceVersionTooLarge"),))
    wire = Wire()
    stub.on("GET", PATH, reply(pod_list(version=900)), reply(pod_list(version=3)))
    stub.on("WATCH", PATH, reply(codec.encode(too_large), code=504), wire)
    async with following(client) as it:
        await it.listed()
        assert await it.listed() == []
        wire.send(("ADDED", pod("a", version=4)))
        assert await it.change() == ("ADDED", "a")


async def test_half_a_line_counts_as_a_cut_and_is_read_again(client: Client, stub: Stub) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, first, second)
    async with following(client) as it:
        await it.listed()
        first.send(("ADDED", pod("a", version=6)))
        first.send_bytes(b'{"type":"ADDED","object":{"metada')
        first.end()
        assert await it.change() == ("ADDED", "a")
        second.send(("ADDED", pod("b", version=7)))
        assert await it.change() == ("ADDED", "b")
        assert it.watch.counts == WatchCounts(lists=1, streams=2, resumes=1, cuts=1, changes=2)
    assert stub.seen_as("WATCH")[1].query["resourceVersion"] == "6"


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"type":"ADDED","object":{}}\n', b'{"type":"ADDED","object":[]}\n'])
async def test_a_line_that_is_no_frame_cuts_the_stream(client: Client, stub: Stub, line: bytes) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, first, second)
    async with following(client) as it:
        await it.listed()
        first.send_bytes(line)
        second.send(("ADDED", pod("b", version=7)))
        assert await it.change() == ("ADDED", "b")
        assert it.watch.counts.cuts == 1


async def test_a_broken_connection_counts_as_a_cut(client: Client, stub: Stub) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, first, second)
    async with following(client) as it:
        await it.listed()
        first.send(("ADDED", pod("a", version=6)))
        assert await it.change() == ("ADDED", "a")
        first.cut()
        second.send(("ADDED", pod("b", version=7)))
        assert await it.change() == ("ADDED", "b")
        assert it.watch.counts.cuts == 1


async def test_objects_over_many_chunks_come_whole(client: Client, stub: Stub) -> None:
    wire = Wire()
    big = pod("big", version=6)
    big["metadata"]["annotations"] = {"x": "é" * 300_000}
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, wire)
    async with following(client) as it:
        await it.listed()
        data = codec.encode({"type": "ADDED", "object": big}) + b"\n"
        for start in range(0, len(data), 70_001):
            wire.send_bytes(data[start : start + 70_001])
        event = await it.next()
        assert isinstance(event, Changed)
        assert event.object == big


async def test_a_server_that_is_away_is_waited_for_with_growing_pauses(
    client: Client, stub: Stub, clock: JumpClock
) -> None:
    wire = Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    # aiohttp repeats a GET on a broken connection once by itself: two resets are one failure.
    stub.on("WATCH", PATH, reset, reset, failing(500), failing(429), failing(503), wire)
    async with following(client) as it:
        await it.listed()
        wire.send(("ADDED", pod("a", version=6)))
        assert await it.change() == ("ADDED", "a")
        assert it.watch.counts.errors == 4
    assert len(clock.slept_s) == 4
    for slept_s, full_s in zip(clock.slept_s, [0.1, 0.2, 0.4, 0.8], strict=True):
        assert full_s / 2 <= slept_s <= full_s


async def test_an_error_frame_that_passes_is_resumed(client: Client, stub: Stub, clock: JumpClock) -> None:
    first, second = Wire(), Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, first, second)
    async with following(client) as it:
        await it.listed()
        first.send(error_frame(500))
        second.send(("ADDED", pod("a", version=6)))
        assert await it.change() == ("ADDED", "a")
        assert (it.watch.counts.errors, it.watch.counts.relists) == (1, 0)
    assert len(clock.slept_s) == 1


async def test_streams_that_end_at_once_are_not_reopened_in_a_hot_loop(
    client: Client, stub: Stub, clock: JumpClock
) -> None:
    wire = Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, reply(b""), reply(b""), wire)
    async with following(client) as it:
        await it.listed()
        wire.send(("ADDED", pod("a", version=6)))
        await it.change()
    assert len(clock.slept_s) == 2


async def test_failures_of_the_first_list_are_raised(client: Client, stub: Stub) -> None:
    stub.on("GET", PATH, failing(500))
    async with following(client) as it:
        with pytest.raises(ApiError):
            await it.next()
    stub.on("GET", PATH, reset)
    async with following(client) as it:
        with pytest.raises((ApiError, Unreachable)):
            await it.next()


async def test_refusals_later_on_are_raised(client: Client, stub: Stub) -> None:
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, failing(403, "no longer"))
    async with following(client) as it:
        await it.listed()
        with pytest.raises(ApiError, match="no longer"):
            await it.next()


async def test_an_unknown_event_type_is_an_error(client: Client, stub: Stub) -> None:
    wire = Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, wire)
    async with following(client) as it:
        await it.listed()
        wire.send(("RENAMED", pod("a")))
        with pytest.raises(Malformed, match="'RENAMED'"):
            await it.next()


async def test_closing_lets_the_connection_go(client: Client, stub: Stub) -> None:
    wire = Wire()
    stub.on("GET", PATH, reply(pod_list(version=5)))
    stub.on("WATCH", PATH, wire)
    async with following(client) as it:
        await it.listed()
        pending = asyncio.ensure_future(it.next())
        await wire.opened.wait()
        pending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pending
    assert it.watch.counts.cuts == 0
