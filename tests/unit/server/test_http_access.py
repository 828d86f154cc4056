"""Who is served, and where."""

import ssl
from pathlib import Path

import aiohttp
import pytest
from attacking import PODS, TOKEN, Served, api_with_account

from kubedyno.kit.clock import RealClock
from kubedyno.plane import pki
from kubedyno.plane.identities import Identity
from kubedyno.server.http import serving

pytestmark = pytest.mark.unit

SERVER = Identity(name="server", user="server", server=True)
UNAUTHORIZED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Unauthorized",
    "reason": "Unauthorized",
    "code": 401,
}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Authorization: Bearer wrong",
        f"Authorization: Bearer {TOKEN}x",
        f"Authorization: Bearer {TOKEN[:-1]}",
        "Authorization: Bearer",
        "Authorization: Bearer ",
        f"Authorization: Basic {TOKEN}",
        f"Authorization: {TOKEN}",
        "Authorization: Bearer \udcff\udcfe",
        f"X-Authorization: Bearer {TOKEN}",
    ],
    ids=ascii,
)
@pytest.mark.parametrize("target", [PODS, "/", "/version", "/metrics", "/healthzzz", "/nope"])
async def test_without_the_token_nothing_is_told(served: Served, header: str, target: str) -> None:
    reply = await served.ask("GET", target, b"", *([header] if header else []), token=None)
    assert reply.status == UNAUTHORIZED


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_with_the_token_all_is_told(served: Served, scheme: str) -> None:
    reply = await served.ask("GET", PODS, b"", f"Authorization: {scheme} {TOKEN}", token=None)
    assert reply.code == 200


async def test_a_write_without_the_token_is_not_done(served: Served) -> None:
    before = served.api.state.store.revision
    reply = await served.ask("DELETE", "/api/v1/namespaces/default", token=None)
    assert (reply.code, served.api.state.store.revision) == (401, before)


@pytest.mark.parametrize("target", ["/healthz", "/livez", "/readyz", "/readyz/ping", "/healthz?verbose"])
async def test_probes_need_no_token(served: Served, target: str) -> None:
    assert (await served.ask("GET", target, token=None)).code == 200


async def test_it_listens_on_loopback_unless_asked(served: Served) -> None:
    assert served.address.host == "127.0.0.1"
    async with serving(api_with_account(), token=TOKEN, tls=None, host="0.0.0.0") as address:
        assert address.host == "0.0.0.0"


async def test_it_speaks_tls(tmp_path: Path) -> None:
    made = pki.create(tmp_path / "pki", (SERVER,), clock=RealClock())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.cert(SERVER.name), made.key(SERVER.name))
    async with (
        serving(api_with_account(), token=TOKEN, tls=context) as address,
        aiohttp.ClientSession() as session,
    ):
        assert address.url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(made.ca))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with session.get(f"{address.url}{PODS}", headers=headers, ssl=trusting) as answer:
            assert answer.status == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(f"{address.url}{PODS}", headers=headers)
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(f"http://127.0.0.1:{address.port}/healthz")
        async with session.get(f"{address.url}/healthz", ssl=trusting) as answer:
            assert await answer.text() == "ok"
