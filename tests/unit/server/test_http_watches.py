"""Watches in masses, dropped, half closed, and never read: what they hold is given back, and others go on."""

import asyncio
import contextlib
import os
import socket

import msgspec
import psutil
import pytest
from attacking import CONFIG_MAPS, WITHIN_S, Served, a_server, ask, config_map, request, settled

from kubedyno.server.http import Patience

pytestmark = pytest.mark.unit

WATCH = f"{CONFIG_MAPS}?watch=1&resourceVersion=0"
MANY = 2000
MIB = 1024 * 1024


async def opened(served: Served, target: str = WATCH) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A watch whose head has come."""
    reader, writer = await served.connect()
    writer.write(request("GET", target, keep=True))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK")
    return reader, writer


def drop(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    writer.close()


async def shown_watches(served: Served) -> str:
    body = (await served.ask("GET", "/metrics")).body.decode()
    found = [line for line in body.splitlines() if line.startswith("apiserver_longrunning_requests{")]
    return found[0].rpartition(" ")[2]


def never_reading(served: Served, target: str) -> socket.socket:
    """A client that asks and then takes nothing, with as little room as the kernel gives."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((served.address.host, served.address.port))
    client.sendall(request("GET", target, keep=True))
    return client


async def connections(served: Served, *, at_least: int = 0, at_most: int = 100) -> None:
    """Wait until the server has so many of them."""

    def count() -> int:
        found = psutil.Process(os.getpid()).net_connections("tcp")
        return sum(one.laddr.port == served.address.port and one.status == "ESTABLISHED" for one in found)

    async with asyncio.timeout(WITHIN_S):
        while not at_least <= count() <= at_most:  # noqa: ASYNC110 - the kernel tells nobody
            await asyncio.sleep(0.05)


async def test_thousands_of_watches_are_opened_and_dropped(served: Served) -> None:
    tasks, waiting = len(asyncio.all_tasks()), served.api.state.changes
    for batch in range(MANY // 200):
        watches = await asyncio.gather(*(opened(served) for _ in range(200)))
        await settled(served.api, 200)
        if batch == 0:
            assert await shown_watches(served) == "200"
        for number, (_, writer) in enumerate(watches):
            if number % 2:
                writer.transport.abort()
            writer.close()
        await settled(served.api)
    assert await shown_watches(served) == "0"
    await asyncio.sleep(0.1)
    assert len(asyncio.all_tasks()) <= tasks + 1
    assert not any(waiting._waiting.values())
    assert len(psutil.Process(os.getpid()).net_connections("tcp")) < 50


async def test_many_watches_see_the_same_at_once(served: Served) -> None:
    watches = await asyncio.gather(*(opened(served) for _ in range(300)))
    ask(served.api, "POST", CONFIG_MAPS, config_map("seen"))
    frames = await asyncio.gather(*(reader.readuntil(b"}\n\r\n") for reader, _ in watches))
    assert len({frame for frame in frames if b'"name":"seen"' in frame}) == 1
    for _, writer in watches:
        writer.close()
    await settled(served.api)


async def test_a_watch_whose_client_closes_its_half_ends(served: Served) -> None:
    reader, writer = await opened(served)
    writer.write_eof()
    await settled(served.api)
    assert await reader.read() in {b"", b"0\r\n\r\n"}
    writer.close()


async def test_a_reader_that_takes_nothing_is_cut_off_and_others_are_not() -> None:
    async with a_server(patience=Patience(stuck_s=0.5), keep_events=200) as served:
        stuck = never_reading(served, WATCH)
        reader, writer = await opened(served)
        await settled(served.api, 2)
        seen, written, total = 0, 0, 0

        async def read() -> None:
            nonlocal seen
            while True:
                seen += (await reader.readuntil(b"\n\r\n")).count(b'{"type":"')
                kept_up.set()

        kept_up = asyncio.Event()
        reading = asyncio.create_task(read())
        before = psutil.Process().memory_info().rss
        while total < 50 * MIB:
            data = "x" * 250_000
            body = config_map(f"c{total // 250_000 % 20}", data=data)
            written += ask(served.api, "DELETE", f"{CONFIG_MAPS}/c{total // 250_000 % 20}").status == 200
            assert ask(served.api, "POST", CONFIG_MAPS, body).status == 201
            written += 1
            total += 2 * len(data)
            while seen < written - 20:  # who reads, however slowly, must not fall behind what the log keeps
                kept_up.clear()
                await kept_up.wait()
        grown = psutil.Process().memory_info().rss - before
        await settled(served.api, 1)
        await connections(served, at_most=1)  # the socket is closed a turn of the loop after the watch has ended
        assert grown < 250 * MIB
        assert seen > 0
        with contextlib.suppress(ConnectionError):
            while stuck.recv(65536):
                pass
        stuck.close()
        reading.cancel()
        writer.close()
        await settled(served.api)
        assert await served.is_well()


async def test_a_reader_that_takes_nothing_of_a_large_list_is_cut_off() -> None:
    async with a_server(patience=Patience(stuck_s=0.3)) as served:
        for number in range(40):
            ask(served.api, "POST", CONFIG_MAPS, config_map(f"c{number}", data="x" * 500_000))
        clients = [never_reading(served, CONFIG_MAPS) for _ in range(3)]
        await connections(served, at_least=3)
        assert (await served.ask("GET", CONFIG_MAPS)).body.endswith(b"]}")
        await connections(served, at_most=0)
        for client in clients:
            client.close()
        assert await served.is_well()


async def test_a_watch_that_falls_behind_the_log_ends() -> None:
    async with a_server(keep_events=50) as served:
        reader, writer = await opened(served)
        ask(served.api, "POST", CONFIG_MAPS, config_map("first"))
        assert b'"name":"first"' in await reader.readuntil(b"\n\r\n")
        for number in range(60):
            ask(served.api, "POST", CONFIG_MAPS, config_map(f"c{number}"))
        assert await reader.readuntil(b"0\r\n\r\n") == b"0\r\n\r\n"
        writer.close()
        current = served.api.state.store.revision
        reply = await served.ask("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1")
        frame = msgspec.json.decode(reply.body.split(b"\r\n")[1])
        assert (frame["type"], frame["object"]["code"], frame["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert frame["object"]["message"] == f"too old resource version: 1 ({current})"
        assert await served.is_well()


async def test_a_watch_ends_with_the_server() -> None:
    async with a_server() as served:
        reader, writer = await opened(served)
        await settled(served.api, 1)
    assert not await reader.read()
    writer.close()
    await settled(served.api)


async def test_closing_while_frames_are_written_harms_nobody(served: Served) -> None:
    watches = [await opened(served) for _ in range(20)]
    for number in range(50):
        ask(served.api, "POST", CONFIG_MAPS, config_map(f"c{number}", data="x" * 10_000))
        if number % 5 == 0:
            drop(watches.pop()[1])
        await asyncio.sleep(0)
    for _, writer in watches:
        drop(writer)
    await settled(served.api)
    assert len(ask(served.api, "GET", CONFIG_MAPS).body) > 50 * 10_000
