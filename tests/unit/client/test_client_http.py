import asyncio
import ssl
from pathlib import Path

import pytest
from aiohttp import web
from api_stub import Authority, JumpClock, Stub, failing, pod, reply, server_context, serving

from kubedyno.client.access import Access, StaticToken, TokenFile
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.http import HttpTransport
from kubedyno.client.rest import Client
from kubedyno.kit.errors import UsageError
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

ONE = "/api/v1/namespaces/ns/pods/a"


async def fetch(access: Access) -> None:
    async with Client.connect(access, clock=JumpClock()) as client:
        await client.get(PODS, "a", namespace="ns")


async def test_tls_is_verified_with_the_given_authority(authority: Authority, tmp_path: Path) -> None:
    async with serving(server_context(authority, tmp_path)) as stub:
        stub.on("GET", ONE, reply(pod("a")))
        await fetch(Access(server=stub.url, ca_data=authority.pem))
        await fetch(Access(server=stub.url, ca_data=authority.pem, tls_server_name="api.test"))
        await fetch(Access(server=stub.url, insecure=True))
    assert len(stub.seen) == 3


async def test_a_wrong_authority_is_one_sentence(authority: Authority, tmp_path: Path) -> None:
    async with serving(server_context(authority, tmp_path)) as stub:
        for ca_data in (Authority("another").pem, None):
            with pytest.raises(Unreachable, match=r"certificate that cannot be trusted .* check certificate-authority"):
                await fetch(Access(server=stub.url, ca_data=ca_data))
        with pytest.raises(Unreachable, match=r"other\.test") as caught:
            await fetch(Access(server=stub.url, ca_data=authority.pem, tls_server_name="other.test"))
    assert caught.value.permanent
    assert not caught.value.sent


async def test_the_client_certificate_is_presented(authority: Authority, tmp_path: Path) -> None:
    people = Authority("people")
    me, stranger = people.issue("me"), Authority("strangers").issue("stranger")
    async with serving(server_context(authority, tmp_path, clients=people)) as stub:
        stub.on("GET", ONE, reply(pod("a")))
        await fetch(
            Access(server=stub.url, ca_data=authority.pem, client_certificate=me.certificate, client_key=me.key)
        )
        with pytest.raises(Unreachable):
            await fetch(
                Access(
                    server=stub.url,
                    ca_data=authority.pem,
                    client_certificate=stranger.certificate,
                    client_key=stranger.key,
                )
            )
    assert len(stub.seen) == 1


async def test_https_to_a_plain_server_is_an_error_in_our_words(stub: Stub) -> None:
    with pytest.raises(Unreachable, match=r"TLS handshake|cannot be connected to"):
        await fetch(Access(server=stub.url.replace("http:", "https:"), insecure=True))


async def test_certificates_that_are_none_are_refused(authority: Authority) -> None:
    mine, other = authority.issue("a"), authority.issue("b")
    with pytest.raises(UsageError, match="no PEM certificate"):
        await fetch(Access(server="https://127.0.0.1:1", ca_data=b"nonsense"))
    with pytest.raises(UsageError, match="certificate and key do not fit"):
        await fetch(
            Access(
                server="https://127.0.0.1:1",
                ca_data=authority.pem,
                client_certificate=mine.certificate,
                client_key=other.key,
            )
        )


async def test_the_key_leaves_no_file_behind(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    modes: list[int] = []
    load = ssl.SSLContext.load_cert_chain

    def spy(context: ssl.SSLContext, name: str, password: object = None) -> None:
        modes.append(Path(name).stat().st_mode & 0o777)
        load(context, name, password=password)  # type: ignore[arg-type] # passed on

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    me = authority.issue("me")
    with pytest.raises(Unreachable):
        await fetch(
            Access(
                server="https://127.0.0.1:1",
                ca_data=authority.pem,
                client_certificate=me.certificate,
                client_key=me.key,
            )
        )
    assert modes == [0o600]
    assert list(tmp_path.iterdir()) == []


async def test_a_name_that_does_not_resolve(clock: JumpClock) -> None:
    with pytest.raises(Unreachable, match="name that does not resolve"):
        await fetch(Access(server="http://no-such-host.invalid:1"))


async def test_the_bearer_token_is_sent(stub: Stub) -> None:
    stub.on("GET", ONE, reply(pod("a")))
    await fetch(Access(server=stub.url, token_source=StaticToken("secret")))
    assert stub.seen[0].headers["Authorization"] == "Bearer secret"


async def test_a_refused_static_token_is_an_error_at_once(stub: Stub) -> None:
    stub.on("GET", ONE, failing(401))
    with pytest.raises(ApiError) as caught:
        await fetch(Access(server=stub.url, token_source=StaticToken("secret")))
    assert caught.value.code == 401
    assert len(stub.seen) == 1


async def test_a_token_file_is_read_again_after_a_minute(stub: Stub, clock: JumpClock, tmp_path: Path) -> None:
    stub.on("GET", ONE, reply(pod("a")))
    file = tmp_path / "token"
    file.write_text("one\n")
    access = Access(server=stub.url, token_source=TokenFile(file))
    async with Client.connect(access, clock=clock) as client:
        await client.get(PODS, "a", namespace="ns")
        file.write_text("two")
        await client.get(PODS, "a", namespace="ns")
        await clock.sleep(60)
        await client.get(PODS, "a", namespace="ns")
    assert [seen.headers["Authorization"] for seen in stub.seen] == ["Bearer one", "Bearer one", "Bearer two"]


async def test_many_refused_requests_renew_the_token_once(stub: Stub, clock: JumpClock, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def check(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] == "Bearer new":
            return await reply(pod("a"))(request)
        file.write_text("new")
        return await failing(401)(request)

    stub.on("GET", ONE, check)
    access = Access(server=stub.url, token_source=TokenFile(file))
    transport = HttpTransport(access, clock=clock)
    client = Client(transport, clock=clock)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(client.get(PODS, "a", namespace="ns"))
    finally:
        await client.close()
    assert transport._generation == 2
    assert len(stub.seen) <= 16


async def test_a_refused_renewed_token_is_not_tried_for_ever(stub: Stub, clock: JumpClock, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("bad")
    stub.on("GET", ONE, failing(401))
    with pytest.raises(ApiError):
        await fetch(Access(server=stub.url, token_source=TokenFile(tmp_path / "token")))
    assert len(stub.seen) == 2


async def test_a_refused_stream_is_opened_again_with_a_renewed_token(
    stub: Stub, clock: JumpClock, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def refuse(request: web.Request) -> web.StreamResponse:
        file.write_text("new")
        return await failing(401)(request)

    stub.on("GET", "/log", refuse, reply(b"lines"))
    access = Access(server=stub.url, token_source=TokenFile(file))
    async with Client.connect(access, clock=clock) as client, client.stream("/log", timeout_s=5) as stream:
        assert stream.status == 200
        assert b"".join([chunk async for chunk in stream.chunks]) == b"lines"
    assert [seen.headers["Authorization"] for seen in stub.seen] == ["Bearer old", "Bearer new"]


async def test_a_missing_or_empty_token_file_is_named(stub: Stub, tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(UsageError, match=f"token file {file} cannot be read: No such file"):
        await fetch(Access(server=stub.url, token_source=TokenFile(file)))
    file.write_text("\n")
    with pytest.raises(UsageError, match=f"token file {file} is empty"):
        await fetch(Access(server=stub.url, token_source=TokenFile(file)))


async def test_no_more_requests_are_in_flight_than_connections(stub: Stub, clock: JumpClock) -> None:
    running, most = 0, 0
    go_on = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            go_on.set()
        await go_on.wait()
        await asyncio.sleep(0)
        running -= 1
        return await reply(pod("a"))(request)

    stub.on("GET", ONE, slow)
    async with (
        Client.connect(Access(server=stub.url), connections=3, clock=clock) as client,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(12):
            group.create_task(client.get(PODS, "a", namespace="ns"))
    assert most == 3


@pytest.mark.parametrize("exact_below_s", [10.0, 0.0])
async def test_a_server_that_does_not_answer_in_time(
    client: Client, stub: Stub, monkeypatch: pytest.MonkeyPatch, exact_below_s: float
) -> None:
    monkeypatch.setattr("kubedyno.client.http.EXACT_BELOW_S", exact_below_s)
    monkeypatch.setattr("kubedyno.client.deadlines.TICK_S", 0.01)

    async def hang(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    stub.on("GET", "/hang", hang)
    with pytest.raises(Unreachable, match=r"did not answer within 0.05 s") as caught:
        await client.request_raw("GET", "/hang", timeout_s=0.05)
    assert caught.value.sent


async def test_cookies_are_not_kept_and_redirects_not_followed(client: Client, stub: Stub) -> None:
    stub.on("GET", "/a", reply({}, headers={"Set-Cookie": "x=y"}), reply({}, code=302, headers={"Location": "/b"}))
    await client.request_raw("GET", "/a")
    answer = await client.request_raw("GET", "/a")
    assert answer.status == 302
    assert [seen.path for seen in stub.seen] == ["/a", "/a"]
    assert "Cookie" not in stub.seen[1].headers


async def test_a_server_url_with_a_path_keeps_it(stub: Stub) -> None:
    stub.on("GET", f"/k8s/clusters/c1{ONE}", reply(pod("a")))
    await fetch(Access(server=f"{stub.url}/k8s/clusters/c1"))


async def test_secrets_do_not_show_in_reprs() -> None:
    access = Access(server="https://x", token_source=StaticToken("secret"), client_key=b"secret")
    assert "secret" not in repr(access)
    assert "secret" not in repr(access.token_source)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("File descriptor 14 is used by transport <TCPTransport>", Unreachable),
        ("Session is closed", RuntimeError),
    ],
)
async def test_a_socket_that_the_event_loop_has_not_let_go_of_is_no_connection(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, message: str, expected: type[Exception]
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise RuntimeError(message)

    transport = HttpTransport(Access(server=stub.url))
    try:
        monkeypatch.setattr("aiohttp.ClientSession.request", refuse)
        with pytest.raises(expected, match=message) as caught:
            await transport.request("GET", "/version")
        assert getattr(caught.value, "sent", False) is False
        with pytest.raises(expected, match=message):
            async with transport.stream("GET", "/version"):
                pass
    finally:
        monkeypatch.undo()
        await transport.close()
