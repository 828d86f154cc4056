"""A scripted API server on loopback, a clock that jumps, and certificates: what the tests of the client share."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubedyno.kube import codec, status

Responder = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Seen(msgspec.Struct):
    """One request as the server got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def object(self) -> dict[str, Any]:
        return codec.decode(self.body)


class JumpClock:
    """A clock whose sleepers wake at once; it remembers how long they wanted to sleep."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []
        self.now_ns = 1_700_000_000 * 10**9
        self.on_sleep: Callable[[], Awaitable[None]] | None = None

    def wall_ns(self) -> int:
        return self.now_ns

    def monotonic_ns(self) -> int:
        return self.now_ns

    async def sleep(self, delay_s: float) -> None:
        self.slept_s.append(delay_s)
        self.now_ns += round(delay_s * 1e9)
        if self.on_sleep is not None:
            await self.on_sleep()
        await asyncio.sleep(0)


def reply(body: object = None, *, code: int = 200, headers: Mapping[str, str] | None = None) -> Responder:
    """Answer with an object, or with bytes as they are."""
    data = body if isinstance(body, bytes) else msgspec.json.encode(body if body is not None else {})

    async def respond(_: web.Request) -> web.StreamResponse:
        return web.Response(body=data, status=code, headers=headers, content_type="application/json")

    return respond


def failing(
    code: int, message: str = "no", *, reason: str | None = None, headers: Mapping[str, str] | None = None
) -> Responder:
    """Answer with a Status."""
    return reply(codec.encode(status.failure(code, message, reason=reason)), code=code, headers=headers)


async def reset(request: web.Request) -> web.StreamResponse:
    """Read the request, then drop the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


class Wire:
    """A watch stream under the hand of the test: `send` pieces, then `end` or `cut` it."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._cut = False
        self.opened = asyncio.Event()

    def send(self, *frames: tuple[str, dict[str, Any]]) -> None:
        for kind, obj in frames:
            self.send_bytes(msgspec.json.encode({"type": kind, "object": obj}) + b"\n")

    def send_bytes(self, piece: bytes) -> None:
        self._pieces.put_nowait(piece)

    def end(self) -> None:
        self._pieces.put_nowait(None)

    def cut(self) -> None:
        self._cut = True
        self._pieces.put_nowait(None)

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        self.opened.set()
        while (piece := await self._pieces.get()) is not None:
            await answer.write(piece)
        if self._cut:
            assert request.transport is not None
            request.transport.abort()
        return answer


class Stub:
    """Answers by a script: for each method and path a sequence of responders, of which the last one stays.

    A watch (`watch=true` in the query) is scripted as method WATCH.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.url = ""
        self._script: dict[tuple[str, str], list[Responder]] = {}

    def on(self, method: str, path: str, *responders: Responder) -> None:
        self._script.setdefault((method, path), []).extend(responders)

    def seen_as(self, method: str) -> list[Seen]:
        return [request for request in self.seen if request.method == method]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        method = "WATCH" if request.query.get("watch") else request.method
        path = request.rel_url.raw_path
        self.seen.append(Seen(method, path, dict(request.query), request.headers.copy(), await request.read()))
        responders = self._script.get((method, path))
        if not responders:
            return await failing(404, f"{method} {path} is not scripted")(request)
        responder = responders.pop(0) if len(responders) > 1 else responders[0]
        return await responder(request)


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[Stub]:
    """A stub on a free loopback port."""
    stub = Stub()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", stub.answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        stub.url = f"{'https' if context else 'http'}://127.0.0.1:{port}"
        yield stub
    finally:
        await runner.cleanup()


class Identity(msgspec.Struct):
    """A certificate and its key as PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.certificate)
        key.write_bytes(self.key)
        return certificate, key


class Authority:
    """A certificate authority for tests."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._signed(self._name, self._key, ca=True)
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return Identity(
            self._signed(subject, key, ca=False).public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

    def _signed(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.Certificate:
        start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
        names = [x509.DNSName("api.test"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + dt.timedelta(days=36500))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def server_context(authority: Authority, folder: Path, *, clients: Authority | None = None) -> ssl.SSLContext:
    """The TLS side of a stub; with `clients` it demands a certificate of that authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.issue("server").write(folder, "server"))
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.pem.decode())
    return context


def pod(name: str, *, namespace: str = "ns", version: int = 1, uid: str = "", phase: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "resourceVersion": str(version),
            "uid": uid or f"uid-{name}",
        },
        "status": {"phase": phase},
    }


def pod_list(*pods: dict[str, Any], version: int, token: str = "") -> dict[str, Any]:
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(version), **({"continue": token} if token else {})},
        "items": list(pods),
    }
