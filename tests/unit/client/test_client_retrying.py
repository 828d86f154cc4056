import socket

import aiohttp
import pytest
from aiohttp import web
from api_stub import JumpClock, Stub, failing, pod, reply, reset

from kubedyno.client import http, retrying
from kubedyno.client.access import Access
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.kit.errors import EngineError
from kubedyno.kube import status
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

COLLECTION = "/api/v1/namespaces/ns/pods"
ONE = f"{COLLECTION}/a"


async def test_429_with_retry_after_is_repeated_for_any_verb(client: Client, stub: Stub, clock: JumpClock) -> None:
    stub.on("POST", COLLECTION, failing(429, headers={"Retry-After": "3"}), reply(pod("a"), code=201))
    await client.create(PODS, pod("a"))
    assert clock.slept_s == [3.0]
    assert len(stub.seen) == 2
    assert (client.counts.requests, client.counts.retries, client.counts.retry_wait_s) == (2, 1, 3.0)


async def test_429_without_retry_after_is_an_answer(client: Client, stub: Stub, clock: JumpClock) -> None:
    stub.on("POST", f"{ONE}/eviction", failing(429, "the disruption budget stands against it"))
    with pytest.raises(ApiError) as caught:
        await client.create(PODS, b"{}", namespace="ns", name="a", subresource="eviction")
    assert caught.value.is_too_many_requests
    assert clock.slept_s == []


async def test_a_server_that_never_stops_saying_429_is_given_up(client: Client, stub: Stub, clock: JumpClock) -> None:
    stub.on("GET", ONE, failing(429, headers={"Retry-After": "1"}))
    with pytest.raises(ApiError):
        await client.get(PODS, "a", namespace="ns")
    assert len(stub.seen) == 1 + retrying.MAX_RETRIES


async def test_get_is_repeated_after_503_with_retry_after_and_post_is_not(
    client: Client, stub: Stub, clock: JumpClock
) -> None:
    stub.on("GET", ONE, failing(503, headers={"Retry-After": "2"}), reply(pod("a")))
    await client.get(PODS, "a", namespace="ns")
    assert clock.slept_s == [2.0]
    stub.on("POST", COLLECTION, failing(503, headers={"Retry-After": "2"}))
    with pytest.raises(ApiError):
        await client.create(PODS, pod("a"))
    assert len(stub.seen_as("POST")) == 1


async def test_get_is_repeated_after_server_timeout_only_among_plain_500s(
    client: Client, stub: Stub, clock: JumpClock
) -> None:
    stub.on("GET", ONE, failing(500, reason="ServerTimeout"), reply(pod("a")))
    await client.get(PODS, "a", namespace="ns")
    assert clock.slept_s == [retrying.FIRST_BACKOFF_S]
    stub.on("GET", COLLECTION, failing(500))
    with pytest.raises(ApiError):
        await client.list(PODS, namespace="ns")
    assert len(clock.slept_s) == 1


async def test_a_refused_connection_is_tried_again_with_any_verb(clock: JumpClock) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        port = reserved.getsockname()[1]

        async def created(_: web.Request) -> web.Response:
            return web.json_response(pod("a"), status=201)

        app = web.Application()
        app.router.add_post(COLLECTION, created)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()

        async def listen_on_second_sleep() -> None:
            if len(clock.slept_s) == 2:
                await web.SockSite(runner, reserved).start()

        clock.on_sleep = listen_on_second_sleep
        try:
            async with Client.connect(Access(server=f"http://127.0.0.1:{port}"), clock=clock) as client:
                await client.create(PODS, pod("a"))
        finally:
            await runner.cleanup()
    assert clock.slept_s == [0.1, 0.2]


async def test_a_server_that_is_not_there_is_one_sentence(clock: JumpClock) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        async with Client.connect(Access(server=server), clock=clock) as client:
            with pytest.raises(Unreachable, match=r"cannot be connected to \(Connection refused\): check") as caught:
                await client.get(PODS, "a", namespace="ns")
    assert isinstance(caught.value, EngineError)
    assert caught.value.server == server
    assert server in str(caught.value)
    assert not caught.value.sent
    assert isinstance(caught.value.__cause__, aiohttp.ClientError)
    assert len(clock.slept_s) == retrying.MAX_RECONNECTS


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_a_write_that_was_sent_and_not_answered_is_never_repeated(
    client: Client, stub: Stub, clock: JumpClock, method: str
) -> None:
    stub.on("GET", ONE, reply(pod("a")))
    stub.on(method, COLLECTION if method == "POST" else ONE, reset, reply(pod("a")))
    # The connection is a persistent one: that is where aiohttp by itself would repeat PUT and DELETE.
    await client.get(PODS, "a", namespace="ns")
    writes = {
        "POST": lambda: client.create(PODS, pod("a")),
        "PUT": lambda: client.update(PODS, pod("a")),
        "PATCH": lambda: client.patch(PODS, "a", {}, kind="merge", namespace="ns"),
        "DELETE": lambda: client.delete(PODS, "a", namespace="ns"),
    }
    with pytest.raises(Unreachable, match="broke the connection") as caught:
        await writes[method]()
    assert caught.value.sent
    assert len(stub.seen_as(method)) == 1
    assert clock.slept_s == []


async def test_a_get_on_a_broken_connection_is_repeated(client: Client, stub: Stub) -> None:
    stub.on("GET", ONE, reset, reply(pod("a")))
    await client.get(PODS, "a", namespace="ns")
    assert len(stub.seen) == 2


async def test_half_an_answer_is_a_broken_connection(client: Client, stub: Stub) -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "100"})
        await answer.prepare(request)
        await answer.write(b'{"half":')
        assert request.transport is not None
        request.transport.close()
        return answer

    stub.on("POST", COLLECTION, half)
    with pytest.raises(Unreachable) as caught:
        await client.create(PODS, pod("a"))
    assert caught.value.sent


def test_writing_to_a_connection_closed_before_is_told_from_one_that_broke() -> None:
    closed = aiohttp.ClientConnectionResetError("Cannot write to closing transport")
    wrapped = aiohttp.ClientOSError(None, "Can not write request body")
    wrapped.__cause__ = closed
    broken = aiohttp.ServerDisconnectedError()
    sent = [http._unreachable(error, server="http://x", timeout_s=1).sent for error in (closed, wrapped, broken)]
    assert sent == [False, False, True]
    before = Unreachable(server="http://x", cause="c", remedy="r", sent=False)
    after = Unreachable(server="http://x", cause="c", remedy="r", sent=True)
    assert retrying.after_failure(before, attempt=0) == 0.1
    assert retrying.after_failure(before, attempt=retrying.MAX_RECONNECTS) is None
    assert retrying.after_failure(after, attempt=0) is None


@pytest.mark.parametrize(
    ("header", "expected"), [("7", 7.0), ("100000", 60.0), ("soon", None), ("-1", None), ("²", None), (None, None)]
)
def test_retry_after_is_seconds_and_bounded(header: str | None, expected: float | None) -> None:
    assert retrying.retry_after_s({} if header is None else {"Retry-After": header}) == expected


def test_backoff_doubles_to_its_bound() -> None:
    assert [retrying.backoff_s(attempt) for attempt in range(4)] == [0.1, 0.2, 0.4, 0.8]
    assert retrying.backoff_s(1000) == retrying.MAX_BACKOFF_S


@pytest.mark.parametrize(
    ("code", "reason", "method", "headers", "expected"),
    [
        (500, "InternalError", "GET", {}, None),
        (504, "Timeout", "GET", {}, None),
        (500, "ServerTimeout", "PUT", {}, None),
        (404, "NotFound", "GET", {"Retry-After": "1"}, None),
        (500, "InternalError", "GET", {"Retry-After": "1"}, 1.0),
    ],
)
def test_decisions_on_answers(
    code: int, reason: str, method: str, headers: dict[str, str], expected: float | None
) -> None:
    error = ApiError(status.failure(code, "m", reason=reason), method=method, path="/")
    assert retrying.after_answer(error, headers, method=method, attempt=0) == expected
