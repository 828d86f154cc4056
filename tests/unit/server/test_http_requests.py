"""Requests that are none, or not what they should be. The answers are those of the real API server 1.36.3."""

import gzip

import pytest
from attacking import CONFIG_MAPS, PODS, Served, config_map, request

pytestmark = pytest.mark.unit

BAD_REQUEST = (400, b"400 Bad Request")
TOO_LONG = (431, b"431 Request Header Fields Too Large")
NO_VERSION = (505, b"505 HTTP Version Not Supported: unsupported protocol version")
NO_METHOD = "the server does not allow this method on the requested resource"

NO_REQUESTS = [
    (bytes(range(256)), BAD_REQUEST),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50, BAD_REQUEST),
    (b"GET /healthz\r\n\r\n", NO_VERSION),
    (b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", NO_VERSION),
    (b"GET /healthz HTTP/1.1\r\n\r\n", BAD_REQUEST),
    (b"GET  HTTP/1.1\r\nHost: x\r\n\r\n", BAD_REQUEST),
    (b"GET api/v1 HTTP/1.1\r\nHost: x\r\n\r\n", BAD_REQUEST),
    (request("GET", "/a b"), BAD_REQUEST),
    (request("GET", "/healthz", b"", "Host: y"), BAD_REQUEST),
    (request("GET", "/healthz", b"", "Bad Header: y"), BAD_REQUEST),
    (request("GET", "/healthz", b"", "nocolon"), BAD_REQUEST),
    (request("GET", "/healthz", b"", "X: a\0b"), BAD_REQUEST),
    (request("GET", "/healthz", b"", f"X: {'a' * 2_000_000}"), TOO_LONG),
    (request("GET", f"/healthz?{'a' * 2_000_000}"), TOO_LONG),
    (request("POST", CONFIG_MAPS, b"hello", "Content-Length: abc", length=-1), BAD_REQUEST),
    (request("POST", CONFIG_MAPS, b"hello", "Content-Length: -5", length=-1), BAD_REQUEST),
    (request("POST", CONFIG_MAPS, b"hello", "Content-Length: 4"), BAD_REQUEST),
    (request("GET", f"{PODS}/a%zzb"), BAD_REQUEST),
]


@pytest.mark.parametrize(("raw", "told"), NO_REQUESTS, ids=lambda value: str(value)[:40])
async def test_what_is_no_request_is_told_so(served: Served, raw: bytes, told: tuple[int, bytes]) -> None:
    found = await served.send(raw)
    code, text = told
    assert found.split(b" ", 2)[1] == str(code).encode()
    assert found.partition(b"\r\n\r\n")[2] == text


ODD = [
    ("HEAD", PODS, 405, NO_METHOD),
    ("OPTIONS", PODS, 405, NO_METHOD),
    ("TRACE", f"{PODS}/x", 405, NO_METHOD),
    ("PROPFIND", PODS, 405, NO_METHOD),
    ("PUT", PODS, 405, NO_METHOD),
    ("POST", f"{PODS}/x", 405, NO_METHOD),
    ("GET", f"{PODS}/nope", 404, 'pods "nope" not found'),
    ("GET", f"http://evil{PODS}/nope", 404, 'pods "nope" not found'),
    ("GET", f"{PODS}/nope#x", 404, 'pods "nope#x" not found'),
    ("GET", f"{PODS}/n%6Fpe", 404, 'pods "nope" not found'),
    ("GET", f"{PODS}/nope/", 404, 'pods "nope" not found'),
    ("GET", f"{PODS}/a%ffb", 404, 'pods "a\ufffdb" not found'),
    ("GET", "/api/v1//namespaces/default/pods", 404, "the server could not find the requested resource"),
    ("GET", "/api/v1/namespaces/default/../default/pods", 404, "the server could not find the requested resource"),
    ("GET", f"{PODS}/a%2Fb", 404, "the server could not find the requested resource"),
    ("GET", "/apis/apps/v9/deployments", 404, "the server could not find the requested resource"),
    ("GET", f"{PODS}?limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ("GET", f"{PODS}?fieldSelector=spec.foo%3D1", 400, "field label not supported: spec.foo"),
]


@pytest.mark.parametrize(("method", "target", "code", "message"), ODD, ids=str)
async def test_an_odd_request_gets_its_status(
    served: Served, method: str, target: str, code: int, message: str
) -> None:
    reply = await served.ask(method, target)
    assert reply.code == code
    if method != "HEAD":
        assert reply.status["message"] == message


@pytest.mark.parametrize(
    "query",
    ["limit=1&limit=x", "limit=%zz", "limit=1;x=2", "&&&", "=", "%ff=%ff", "a" * 100_000, "x=" + "%41" * 10_000],
    ids=lambda query: query[:20],
)
async def test_what_is_broken_in_a_query_is_not_there(served: Served, query: str) -> None:
    reply = await served.ask("GET", f"{PODS}?{query}")
    assert (reply.code, b'"items":[]' in reply.body) == (200, True)


async def test_a_client_of_http_1_0_is_answered_and_left(served: Served) -> None:
    found = await served.send(request("GET", PODS, keep=True).replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert found.startswith(b"HTTP/1.0 200 OK")
    assert found.endswith(b'"items":[]}')


async def test_a_watch_over_http_1_0_is_not_chunked(served: Served) -> None:
    raw = request("GET", "/api/v1/namespaces?watch=1&timeoutSeconds=1").replace(b"HTTP/1.1", b"HTTP/1.0")
    head, _, body = (await served.send(raw)).partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body.startswith(b'{"type":"ADDED"')


async def test_requests_that_come_at_once_are_answered_in_order(served: Served) -> None:
    names = [f"n{number}" for number in range(50)]
    raw = b"".join(request("POST", CONFIG_MAPS, config_map(name), keep=True) for name in names)
    found = await served.send(raw + request("GET", f"{CONFIG_MAPS}/n49"))
    assert found.count(b"HTTP/1.1 201 Created") == 50
    places = [found.index(f'"name":"{name}"'.encode()) for name in names]
    assert places == sorted(places)
    assert found.count(b"HTTP/1.1 200 OK") == 1


async def test_a_client_that_waits_to_be_told_to_send_its_body_is_told(served: Served) -> None:
    body = config_map("a")
    head = request("POST", CONFIG_MAPS, body, "Expect: 100-continue")[: -len(body)]
    reader, writer = await served.connect()
    writer.write(head)
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(body)
    assert (await reader.read()).startswith(b"HTTP/1.1 201 Created")
    writer.close()


async def test_an_offer_to_speak_another_protocol_is_not_taken_up(served: Served) -> None:
    reply = await served.ask("GET", f"{PODS}/nope", b"", "Upgrade: websocket")
    assert reply.status["message"] == 'pods "nope" not found'


async def test_a_compressed_body_is_read_as_it_is(served: Served) -> None:
    body = gzip.compress(config_map("a"), mtime=0)
    reply = await served.ask("POST", CONFIG_MAPS, body, "Content-Encoding: gzip")
    assert reply.status["message"].startswith(
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
        r"invalid character '\x1f' looking for beginning of value (1f8b08"
    )


async def test_warnings_that_no_header_can_hold_are_left_out(served: Served) -> None:
    body = b'{"metadata":{"name":"w"},"a\\nb":1,"c":2}'
    reply = await served.ask("POST", CONFIG_MAPS, body)
    assert (reply.code, reply.all("warning")) == (201, [r'299 - "unknown field \"c\""'])


async def test_warnings_are_cut_when_they_are_too_many(served: Served) -> None:
    fields = ",".join(f'"{"f" * 300}{number}":1' for number in range(1000))
    reply = await served.ask("POST", CONFIG_MAPS, f'{{"metadata":{{"name":"w"}},{fields}}}'.encode())
    assert reply.code == 201
    assert len(reply.all("warning")) == 16
    assert {len(text) for text in reply.all("warning")} == {len('299 - ""') + 256 + len("\\")}
