"""Backends with certificates of a lab's own CA, and a prober that answers as the test says."""

import asyncio
import contextlib
import hashlib
import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.plane import balancing, pki
from kubedyno.plane.balancing import Balancing, balance
from kubedyno.plane.controlplane import Balancer
from kubedyno.plane.health import Answer, Prober
from kubedyno.plane.identities import Identity, Pki
from kubedyno.plane.ports import LOOPBACK, free_ports

pytestmark = pytest.mark.unit

Until = Callable[[Callable[[], object]], Awaitable[None]]

draw = free_ports()


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    identities = (Identity(name="server", user="server", server=True),)
    return pki.create(tmp_path_factory.mktemp("balancing") / "pki", identities, clock=RealClock())


@pytest.fixture(autouse=True)
def _probing_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancing, "_PROBE_EVERY_S", 0.02)


class Backend:
    """An API server, more or less: /readyz, /who, /echo, and a watch that never ends."""

    def __init__(self, material: Pki) -> None:
        self.port = draw()
        self.ready = True
        self.watching = 0
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(material.cert("server"), material.key("server"))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/who", self._who)
        app.router.add_get("/watch", self._watch)
        app.router.add_post("/echo", self._echo)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, LOOPBACK, self.port, ssl_context=self._context).start()
        try:
            yield
        finally:
            await runner.cleanup()

    async def _readyz(self, _: web.Request) -> web.Response:
        return web.Response(status=200 if self.ready else 500, text="ok")

    async def _who(self, _: web.Request) -> web.Response:
        return web.Response(text=str(self.port))

    async def _echo(self, request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"begun")
        self.watching += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.watching -= 1
        return response


class World:
    """Three backends behind a balancer, and a client that opens a connection for each request."""

    def __init__(self, backends: list[Backend], balancing: Balancing, session: aiohttp.ClientSession, url: str) -> None:
        self.backends = backends
        self.ports = tuple(backend.port for backend in backends)
        self.balancing = balancing
        self.session = session
        self.url = url

    async def who(self) -> int:
        async with self.session.get(f"{self.url}/who") as response:
            return int(await response.text())

    async def who_all(self, count: int = 9) -> list[int]:
        return [await self.who() for _ in range(count)]


@pytest.fixture
async def world(material: Pki) -> AsyncIterator[World]:
    backends = [Backend(material) for _ in range(3)]
    spec = Balancer(port=draw(), backends=tuple(backend.port for backend in backends))
    async with AsyncExitStack() as stack:
        for backend in backends:
            await stack.enter_async_context(backend.serving())
        prober = await stack.enter_async_context(Prober(material))
        balancer = await stack.enter_async_context(balance(spec, prober=prober, clock=RealClock()))
        session = await stack.enter_async_context(
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    force_close=True, ssl=ssl.create_default_context(cafile=str(material.ca))
                ),
                timeout=aiohttp.ClientTimeout(total=20),
            )
        )
        yield World(backends, balancer, session, f"https://{LOOPBACK}:{spec.port}")


async def test_connections_go_round(world: World) -> None:
    answers = await world.who_all(9)
    assert {port: answers.count(port) for port in world.ports} == dict.fromkeys(world.ports, 3)
    assert answers[:3] == answers[3:6] == answers[6:]
    assert world.balancing.healthy == world.ports


async def test_an_unhealthy_backend_is_taken_out_and_comes_back(world: World, until: Until) -> None:
    sick = world.backends[1]
    sick.ready = False
    await until(lambda: sick.port not in world.balancing.healthy)
    assert sorted(set(await world.who_all())) == sorted({world.ports[0], world.ports[2]})
    sick.ready = True
    await until(lambda: sick.port in world.balancing.healthy)
    assert set(await world.who_all()) == set(world.ports)


async def test_an_unhealthy_backend_loses_its_connections_and_no_other_does(world: World, until: Until) -> None:
    async with AsyncExitStack() as stack:
        watches = [await stack.enter_async_context(world.session.get(f"{world.url}/watch")) for _ in world.backends]
        for watch in watches:
            assert await watch.content.readexactly(5) == b"begun"
        assert [backend.watching for backend in world.backends] == [1, 1, 1]
        world.backends[0].ready = False
        ends = [asyncio.ensure_future(watch.content.read()) for watch in watches]
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED, timeout=10)
        (lost,) = done
        with pytest.raises(aiohttp.ClientError):
            lost.result()
        await until(lambda: world.backends[0].watching == 0)
        assert [backend.watching for backend in world.backends] == [0, 1, 1]
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


@pytest.mark.parametrize("size", [0, 1, 32 * 1024 * 1024])
async def test_bodies_of_any_size_pass_both_ways(world: World, size: int) -> None:
    body = (hashlib.sha256(b"kubedyno").digest() * (size // 32 + 1))[:size]
    async with world.session.post(f"{world.url}/echo", data=io.BytesIO(body)) as response:
        echoed = await response.read()
    assert (len(echoed), hashlib.sha256(echoed).digest()) == (size, hashlib.sha256(body).digest())


@asynccontextmanager
async def balanced(
    material: Pki,
    handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]] | None,
    *,
    gone: int = 0,
) -> AsyncIterator[tuple[Balancing, int]]:
    """A balancer before one plain TCP server, or before none, and `gone` more that are not there; it probes nobody."""

    class NoProber(Prober):
        async def ask(self, probe: object) -> Answer:
            del probe
            return await asyncio.get_running_loop().create_future()

    async with AsyncExitStack() as stack:
        port = draw()
        if handler is not None:
            await stack.enter_async_context(await asyncio.start_server(handler, LOOPBACK, port))
        spec = Balancer(port=draw(), backends=(*(draw() for _ in range(gone)), port))
        balancer = await stack.enter_async_context(balance(spec, prober=NoProber(material), clock=RealClock()))
        yield balancer, spec.port


async def test_what_the_client_says_before_the_backend_is_there_is_not_lost(
    material: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(5))
        writer.close()

    loop = asyncio.get_running_loop()
    connect, said = loop.create_connection, asyncio.Event()

    async def connect_late(*args: object, **kwargs: object) -> object:
        await said.wait()
        return await connect(*args, **kwargs)  # type: ignore[arg-type]

    async with balanced(material, echo) as (_, port):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        monkeypatch.setattr(loop, "create_connection", connect_late)
        writer.write(b"early")
        await writer.drain()
        await asyncio.sleep(0.01)
        said.set()
        assert await reader.read() == b"early"
        writer.close()


def test_what_the_backend_says_first_is_not_lost(material: Pki) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"welcome")
        writer.close()

    async def greeting(port: int) -> bytes:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        try:
            return await reader.read()
        finally:
            writer.close()

    async def main() -> set[bytes]:
        async with balanced(material, greet) as (_, port):
            return set(await asyncio.gather(*(greeting(port) for _ in range(100))))

    assert tasks.run(main) == {b"welcome"}


async def test_a_client_that_does_not_read_holds_the_backend_back(material: Pki) -> None:
    sent = 0

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
                sent += 65536

    async with balanced(material, flood) as (_, port):
        reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=1024)
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.1)
        # Only what fits into the buffers of kernel and transports was taken.
        assert sent < 64 * 1024 * 1024
        for _ in range(200):
            await reader.readexactly(65536)
        assert sent > before
        writer.transport.abort()


async def test_without_any_backend_the_connection_is_closed(material: Pki, until: Until) -> None:
    async with balanced(material, None) as (balancer, port):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        assert await reader.read() == b""
        writer.close()
        # A refused connection is as good as a failed probe.
        assert balancer.healthy == ()
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        assert await reader.read() == b""
        writer.close()


async def test_a_backend_that_is_gone_costs_no_request(material: Pki) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"welcome")
        writer.close()

    async with balanced(material, greet, gone=2) as (balancer, port):
        for _ in range(3):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            assert await reader.read() == b"welcome"
            writer.close()
        assert len(balancer.healthy) == 1


def test_the_end_of_the_block_drops_connections_even_of_a_client_that_does_not_read(material: Pki) -> None:
    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()

    async def main() -> str:
        async with asyncio.timeout(10):
            async with balanced(material, flood) as (_, port):
                reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=1024)
                await reader.readexactly(10)
                await asyncio.sleep(0.1)
            with pytest.raises(OSError, match="refused"):
                await asyncio.open_connection(LOOPBACK, port)
            writer.transport.abort()
            return "ended"

    assert tasks.run(main) == "ended"
