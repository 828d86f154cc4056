"""Bodies that are too large, broken, nested too deeply, or do not come. The words are those of the real server."""

import asyncio

import pytest
from attacking import CONFIG_MAPS, PODS, Served, a_server, ask, config_map, request

from kubedyno.server.bodies import MAX_BYTES
from kubedyno.server.http import Patience

pytestmark = pytest.mark.unit

UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
PARSE_ERROR = f"{UNRECOGNIZED}couldn't get version/kind; json parse error: "
TOO_LARGE = "Request entity too large: limit is 3145728"
UNKNOWN_FORMAT = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
NO_STRUCT = (
    'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
IMPATIENT = Patience(body_s=0.2, linger_s=0.1)
HUGE = b'{"a":"' + b"x" * MAX_BYTES + b'"}'


def chunked(body: bytes, size: int = 65536) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def nested(levels: int) -> bytes:
    return b'{"metadata":{"name":"d"},"x":' + b"[" * levels + b"]" * levels + b"}"


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + level, 98 + level, b",".join([b"*%c" % (97 + level)] * 9)) for level in range(9)
)

JSON, YAML = "application/json", "application/yaml"
BAD: list[tuple[bytes, str, int, str]] = [
    (b"", JSON, 400, f"{PARSE_ERROR}unexpected end of JSON input (<empty>)"),
    (b"garbage", JSON, 400, f"{PARSE_ERROR}invalid character 'g' looking for beginning of value (67617262616765)"),
    (b'{"kind":"', JSON, 400, f'{PARSE_ERROR}unexpected end of JSON input ({{"kind":")'),
    (b"[1]", JSON, 400, f"{PARSE_ERROR}json: cannot unmarshal array {NO_STRUCT} (5b315d)"),
    (b"true", JSON, 400, f"{PARSE_ERROR}json: cannot unmarshal bool {NO_STRUCT} (74727565)"),
    (b"{}", "text/plain", 415, UNKNOWN_FORMAT),
    (b"{}", ";;;", 415, UNKNOWN_FORMAT),
    (HUGE, JSON, 413, TOO_LARGE),
    (b"[" * 200_000, JSON, 400, f"{PARSE_ERROR}invalid character '[' exceeded max depth ({'5b' * 30} ...)"),
    (
        nested(100_000),
        JSON,
        400,
        f"{PARSE_ERROR}invalid character '[' exceeded max depth ({nested(9)[:30].decode()} ...)",
    ),
    (
        nested(100_000),
        YAML,
        400,
        f"{UNRECOGNIZED}yaml: exceeded max depth of 10000 ({nested(9)[:30].decode()} ...)",
    ),
    (b"- " * 1_000_000, YAML, 400, f"{UNRECOGNIZED}yaml: exceeded max depth of 10000 ({'2d20' * 15} ...)"),
    (b"{a: " * 500_000, YAML, 400, f"{UNRECOGNIZED}yaml: exceeded max depth of 10000 ({'{a: ' * 7}{{a ...)"),
    (BOMB, YAML, 400, f"{UNRECOGNIZED}yaml: document contains excessive aliasing ({BOMB[:30].hex()} ...)"),
    (b"a: &a [*a]\n", YAML, 400, f"{UNRECOGNIZED}yaml: anchor 'a' value contains itself (613a202661205b2a615d0a)"),
    (b"a: \0", YAML, 400, f"{UNRECOGNIZED}yaml: control characters are not allowed (613a2000)"),
    (b"\xff", YAML, 400, f"{UNRECOGNIZED}yaml: invalid leading UTF-8 octet (ff)"),
    (
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"!"}}',
        JSON,
        400,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: illegal base64 data at input byte 0',
    ),
]


@pytest.mark.parametrize(("body", "content_type", "code", "message"), BAD, ids=lambda value: str(value)[:40])
async def test_a_bad_body_gets_its_status(
    served: Served, body: bytes, content_type: str, code: int, message: str
) -> None:
    reply = await served.ask("POST", CONFIG_MAPS, body, content_type=content_type)
    assert (reply.code, reply.status["message"]) == (code, message)


READABLE = [
    (b'{"metadata":{"name":"r"},"data":{"a":"\xff\xfe"}}', JSON, '"a":"\ufffd\ufffd"'),
    (b'{"metadata":{"name":"r"},"data":{"a":"\\ud800"}}', JSON, '"a":"\ufffd"'),
    (b'{"metadata":{"name":"r"},"data":{"a":"\\\\ud800"}}', JSON, r'"a":"\\ud800"'),
    (b'{"metadata":{"name":"r"},"data":{"a":"\\ud83d\\ude00"}}', JSON, '"a":"\U0001f600"'),
    (b"null", JSON, ""),
    (b"metadata: {name: r}\ndata: {1: x, true: z, 1.5: v, 0x10: w}", YAML, '"data":{"1":"x","1.5":"v","16":"w","true"'),
    (b"metadata: {name: r}\ndata: {a: !!binary aGk=, b: !foo x}", YAML, '"data":{"a":"hi","b":"x"}'),
    (b"metadata: {name: r}\nx: &x {a: b}\ndata: {<<: *x, c: d}", YAML, '"data":{"a":"b","c":"d"}'),
    (b"metadata: {name: r}\n---\n%YAML 9.9\n", YAML, ""),
]


@pytest.mark.parametrize(("body", "content_type", "part"), READABLE, ids=lambda value: str(value)[:40])
async def test_a_body_that_go_can_read_is_read(served: Served, body: bytes, content_type: str, part: str) -> None:
    reply = await served.ask("POST", CONFIG_MAPS, body, content_type=content_type)
    assert reply.code == (422 if body == b"null" else 201), reply.body
    assert part in reply.body.decode()


@pytest.mark.parametrize(
    ("validation", "code", "told"),
    [
        ("Ignore", 201, []),
        ("Warn", 201, [r'299 - "unknown field \"x\""', r'299 - "unknown field \"metadata.y\""']),
        ("Strict", 400, []),
    ],
)
async def test_unknown_fields_are_ignored_warned_of_or_refused(
    served: Served, validation: str, code: int, told: list[str]
) -> None:
    body = b'{"x":1,"metadata":{"name":"u","y":2}}'
    reply = await served.ask("POST", f"{CONFIG_MAPS}?fieldValidation={validation}", body)
    assert (reply.code, reply.all("warning")) == (code, told)
    if validation == "Strict":
        said = 'strict decoding error: unknown field "x", unknown field "metadata.y"'
        expected = f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {said}'
        assert reply.status["message"] == expected


async def test_a_chunked_body_is_read_and_its_size_is_counted(served: Served) -> None:
    small = request("POST", CONFIG_MAPS, chunked(config_map("a"), 5), "Transfer-Encoding: chunked", length=-1)
    assert (await served.send(small)).startswith(b"HTTP/1.1 201 Created")
    large = request("POST", CONFIG_MAPS, chunked(HUGE), "Transfer-Encoding: chunked", length=-1)
    assert TOO_LARGE.encode() in await served.send(large)


async def test_a_broken_chunk_ends_the_connection(served: Served) -> None:
    broken = request("POST", CONFIG_MAPS, b"zz\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked", length=-1)
    assert b" 400 Bad Request\r\n" in await served.send(broken)


async def test_a_chunk_that_breaks_later_ends_the_connection() -> None:
    async with a_server(patience=IMPATIENT) as served:
        reader, writer = await served.connect()
        writer.write(request("POST", CONFIG_MAPS, b"5\r\nhello\r\n", "Transfer-Encoding: chunked", length=-1))
        await asyncio.sleep(0.05)
        writer.write(b"zz\r\n")
        assert b" 504 Gateway Timeout\r\n" in await reader.read()
        writer.close()
        assert await served.is_well()


async def test_a_large_body_that_is_announced_is_refused_before_it_comes(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(request("POST", CONFIG_MAPS, b"x", length=10**12))
    assert TOO_LARGE.encode() in await reader.readuntil(b'"code":413}')
    writer.close()


@pytest.mark.parametrize(
    "media", ["merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml"]
)
async def test_a_patch_that_is_nested_too_deeply_is_refused(served: Served, media: str) -> None:
    assert ask(served.api, "POST", CONFIG_MAPS, config_map("p")).status == 201
    reply = await served.ask(
        "PATCH", f"{CONFIG_MAPS}/p?fieldManager=x", nested(50_000), content_type=f"application/{media}"
    )
    assert (reply.code, "exceeded max depth" in reply.status["message"]) == (400, True)


async def test_a_body_that_does_not_come_is_not_awaited_for_ever() -> None:
    async with a_server(patience=IMPATIENT) as served:
        reply = await served.ask("POST", CONFIG_MAPS, b'{"kind', length=100)
        assert reply.status["reason"] == "Timeout"
        assert reply.status["message"] == "Timeout: request did not complete within the allotted timeout"
        assert await served.is_well()


async def test_a_request_that_does_not_come_is_not_awaited_for_ever() -> None:
    async with a_server(patience=Patience(idle_s=0.2)) as served:
        assert await served.send(b"") == b""
        assert await served.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ") == b""
        assert await served.is_well()


async def test_a_client_that_closes_its_half_is_let_go(served: Served) -> None:
    before = len(asyncio.all_tasks())
    await served.send(request("GET", f"{PODS}/nope", keep=True), half_close=True)
    await served.send(request("POST", CONFIG_MAPS, b'{"kind', length=100), half_close=True)
    await served.send(b"GET /he", half_close=True)
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) <= before
