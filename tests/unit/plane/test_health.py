import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import EngineError
from kubedyno.plane import health, pki, tokens
from kubedyno.plane.component import Probe
from kubedyno.plane.health import Answer, Prober
from kubedyno.plane.identities import Identity, Pki
from kubedyno.plane.ports import LOOPBACK, free_ports

pytestmark = pytest.mark.unit

SERVER = Identity(name="server", user="server", server=True)
ADMIN = Identity(name="admin", user="the-admin")


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return pki.create(tmp_path_factory.mktemp("health") / "pki", (SERVER, ADMIN), clock=RealClock())


async def handle(request: web.Request) -> web.Response:
    transport = request.transport
    assert transport is not None
    if request.path == "/who":
        peer = transport.get_extra_info("peercert") or {}
        names = [value for part in peer.get("subject", ()) for key, value in part if key == "commonName"]
        return web.Response(text=",".join(names) or "nobody")
    if request.path == "/token":
        return web.Response(text=request.headers.get("Authorization", "none"))
    if request.path == "/hang":
        transport.abort()
    if request.path == "/bytes":
        return web.Response(body=b"\xff\x00zip")
    status = int(request.path.strip("/"))
    return web.Response(status=status, text="" if status == 204 else "\nfirst line\nsecond line\n")


async def serving(context: ssl.SSLContext | None) -> AsyncIterator[str]:
    runner = web.AppRunner(web.Application())
    runner.app.router.add_get("/{path:.*}", handle)
    await runner.setup()
    site = web.TCPSite(runner, LOOPBACK, 0, ssl_context=context)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    yield f"{'https' if context else 'http'}://{LOOPBACK}:{port}"
    await runner.cleanup()


@pytest.fixture
async def plain() -> AsyncIterator[str]:
    async for url in serving(None):
        yield url


@pytest.fixture
async def secure(material: Pki) -> AsyncIterator[str]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(material.ca))
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(material.cert("server"), material.key("server"))
    async for url in serving(context):
        yield url


@pytest.fixture
async def strange(tmp_path: Path) -> AsyncIterator[str]:
    """A server whose certificate another CA signed."""
    other = pki.create(tmp_path / "other", (SERVER,), clock=RealClock())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(other.cert("server"), other.key("server"))
    async for url in serving(context):
        yield url


@pytest.fixture
async def prober(material: Pki) -> AsyncIterator[Prober]:
    async with Prober(material) as made:
        yield made


@pytest.mark.parametrize(
    ("path", "contains", "answer"),
    [
        ("/200", "", Answer(healthy=True, said="200 first line")),
        ("/200", "second", Answer(healthy=True, said="200 first line")),
        ("/200", "third", Answer(healthy=False, said="200 first line")),
        ("/503", "", Answer(healthy=False, said="503 first line")),
        ("/204", "", Answer(healthy=False, said="204")),
    ],
)
async def test_status_and_body_decide(prober: Prober, plain: str, path: str, contains: str, answer: Answer) -> None:
    assert await prober.ask(Probe(url=plain + path, contains=contains)) == answer


async def test_nobody_there_is_an_answer_too(prober: Prober) -> None:
    answer = await prober.ask(Probe(url=f"http://{LOOPBACK}:{free_ports()()}/"))
    assert not answer.healthy
    assert "Connect call failed" in answer.said


async def test_a_server_that_hangs_up_is_an_answer_too(prober: Prober, plain: str) -> None:
    answer = await prober.ask(Probe(url=f"{plain}/hang"))
    assert answer == Answer(healthy=False, said="Server disconnected")


async def test_tls_is_checked_against_the_lab(prober: Prober, secure: str, strange: str) -> None:
    assert (await prober.ask(Probe(url=f"{secure}/200"))).healthy
    refused = await prober.ask(Probe(url=f"{strange}/200"))
    assert not refused.healthy
    assert "certificate verify failed" in refused.said
    assert (await prober.ask(Probe(url=f"{strange}/200", self_signed=True))).healthy


async def test_an_identity_shows_its_certificate(prober: Prober, secure: str) -> None:
    assert await prober.fetch(Probe(url=f"{secure}/who")) == b"nobody"
    assert await prober.fetch(Probe(url=f"{secure}/who", identity="admin")) == b"the-admin"
    assert await prober.fetch(Probe(url=f"{secure}/who", identity="admin", self_signed=True)) == b"the-admin"


async def test_fetch_gives_the_bytes(prober: Prober, plain: str) -> None:
    assert await prober.fetch(Probe(url=f"{plain}/bytes")) == b"\xff\x00zip"


async def test_fetch_names_the_url_that_did_not_answer(prober: Prober, plain: str) -> None:
    with pytest.raises(EngineError) as caught:
        await prober.fetch(Probe(url=f"{plain}/403"))
    assert str(caught.value) == f"{plain}/403 answered 403: \nfirst line\nsecond line\n"
    with pytest.raises(EngineError) as caught:
        await prober.fetch(Probe(url=f"{plain}/hang"))
    assert str(caught.value) == f"{plain}/hang could not be read: Server disconnected"


async def test_a_server_that_never_answers_is_given_up(material: Pki, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_ANSWER_WITHIN_S", 0.1)
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        left.set()

    server = await asyncio.start_server(silent, LOOPBACK, 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Prober(material) as prober:
        answer = await prober.ask(Probe(url=f"http://{LOOPBACK}:{port}/"))
        await left.wait()
    assert not answer.healthy
    assert answer.said


async def test_who_is_asked_by_token_gets_that_of_the_identity(material: Pki, prober: Prober, plain: str) -> None:
    shown = tokens.create(material.tokens, (ADMIN,))
    asking = Probe(url=f"{plain}/token", identity="admin", shows_token=True)
    assert await prober.fetch(asking) == f"Bearer {shown['admin']}".encode()
    assert await prober.fetch(Probe(url=f"{plain}/token", identity="admin")) == b"none"
