import asyncio
import hashlib
import io
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from kubedyno.kit.errors import ProgramError
from kubedyno.plane.downloading import DeadNetwork, Downloads, Unavailable
from kubedyno.plane.probing import machine_arch
from kubedyno.plane.programs import PROGRAMS

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform != "linux", reason="releases are taken for Linux only"),
]

ETCD, APISERVER = PROGRAMS["etcd"], PROGRAMS["kube-apiserver"]
CONTENT = b"#!/bin/sh\necho 'Kubernetes v1.36.3'\n"
APISERVER_PATH = f"/release/v1.36.3/bin/linux/{machine_arch()}/kube-apiserver"
ETCD_NAME = f"etcd-v3.6.16-linux-{machine_arch()}"
ETCD_PATH = "/etcd-io/etcd/releases/download/v3.6.16"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Mirror:
    """A server of files by path; a handler instead of bytes answers itself. `asked` are the paths requested."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Handler] = {}
        self.asked: list[str] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        served = self.files.get(request.path)
        if served is None:
            return web.Response(status=404)
        return web.Response(body=served) if isinstance(served, bytes) else await served(request)

    def serve_apiserver(self, *, content: bytes = CONTENT, checksum: str = "") -> None:
        self.files[APISERVER_PATH] = content
        self.files[f"{APISERVER_PATH}.sha256"] = (checksum or hashlib.sha256(CONTENT).hexdigest()).encode()


@pytest.fixture
async def mirror() -> AsyncIterator[Mirror]:
    mirror = Mirror()
    app = web.Application()
    app.router.add_get("/{path:.*}", mirror.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    mirror.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield mirror
    await runner.cleanup()


def downloads(cache: Path, url: str, *, patience_s: float = 0.4) -> Downloads:
    return Downloads(cache=cache, env={"KUBEDYNO_RELEASES_URL": url}, patience_s=patience_s)


async def test_a_good_file_is_put_in_place_executable(cache: Path, mirror: Mirror) -> None:
    mirror.serve_apiserver()
    path = await downloads(cache, f"{mirror.url}/").fetch(APISERVER)
    assert path == cache / "programs" / "kubernetes-v1.36.3-release" / "kube-apiserver"
    assert path.read_bytes() == CONTENT
    assert path.stat().st_mode & 0o777 == 0o755
    assert list((cache / "work").iterdir()) == []


async def test_a_program_in_an_archive_is_unpacked(cache: Path, mirror: Mirror) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in (("README.md", b"read"), ("etcd", CONTENT), ("etcdctl", b"other")):
            member = tarfile.TarInfo(f"{ETCD_NAME}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    mirror.files[f"{ETCD_PATH}/{ETCD_NAME}.tar.gz"] = archive.getvalue()
    right = hashlib.sha256(archive.getvalue()).hexdigest()
    mirror.files[f"{ETCD_PATH}/SHA256SUMS"] = f"{'0' * 64}  other.tar.gz\n{right}  {ETCD_NAME}.tar.gz\n".encode()
    path = await downloads(cache, mirror.url).fetch(ETCD)
    assert path.read_bytes() == CONTENT


async def test_a_wrong_checksum_is_an_error_that_names_both(cache: Path, mirror: Mirror) -> None:
    mirror.serve_apiserver(checksum="a" * 64)
    with pytest.raises(ProgramError, match=f"{hashlib.sha256(CONTENT).hexdigest()}, but {'a' * 64} is published"):
        await downloads(cache, mirror.url).fetch(APISERVER)
    assert not (cache / "programs").exists()


async def test_a_missing_file_leaves_the_others_worth_asking_for(cache: Path, mirror: Mirror) -> None:
    one = downloads(cache, mirror.url)
    with pytest.raises(Unavailable, match="answers 404"):
        await one.fetch(APISERVER)
    assert one.over is None
    assert one.offers(ETCD)


async def test_a_sum_for_another_file_is_none(cache: Path, mirror: Mirror) -> None:
    mirror.serve_apiserver()
    mirror.files[f"{APISERVER_PATH}.sha256"] = f"{'0' * 64}  kubelet\n".encode()
    with pytest.raises(Unavailable, match="no checksum is published"):
        await downloads(cache, mirror.url).fetch(APISERVER)


async def test_a_truncated_body_falls_through(cache: Path, mirror: Mirror) -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(CONTENT) * 2)})
        await response.prepare(request)
        await response.write(CONTENT)
        assert request.transport is not None
        request.transport.close()
        return response

    mirror.serve_apiserver()
    mirror.files[APISERVER_PATH] = half
    with pytest.raises(Unavailable, match="ends early"):
        await downloads(cache, mirror.url).fetch(APISERVER)
    assert not (cache / "programs").exists()


async def test_a_body_that_stops_ends_all_downloads(cache: Path, mirror: Mirror) -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"x")
        await asyncio.sleep(5)
        return response

    mirror.serve_apiserver()
    mirror.files[APISERVER_PATH] = stall
    one = downloads(cache, mirror.url)
    with pytest.raises(DeadNetwork, match="stops answering"):
        await one.fetch(APISERVER)
    assert not one.offers(ETCD)


async def test_a_host_that_accepts_and_says_nothing_is_asked_once(cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        one = downloads(cache, f"http://127.0.0.1:{silent.getsockname()[1]}")
        started = time.monotonic()
        with pytest.raises(DeadNetwork, match="does not answer"):
            await one.fetch(APISERVER)
        for program in (ETCD, APISERVER):
            assert not one.offers(program)
            with pytest.raises(Unavailable, match="does not answer"):
                await one.fetch(program)
        assert time.monotonic() - started < 2


async def test_a_refused_connection_ends_all_downloads(cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    one = downloads(cache, f"http://127.0.0.1:{port}")
    with pytest.raises(DeadNetwork, match="cannot be reached"):
        await one.fetch(APISERVER)
    assert one.over is not None


async def test_a_name_service_that_hangs_costs_our_patience_only(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args: released.wait(30) and [])
    started = time.monotonic()
    with pytest.raises(DeadNetwork, match="does not answer"):
        await downloads(cache, "http://somewhere.invalid").fetch(APISERVER)
    assert time.monotonic() - started < 2
    released.set()


def test_the_process_ends_while_the_name_service_hangs(tmp_path: Path) -> None:
    code = f"""
import asyncio, socket, time
from pathlib import Path
socket.getaddrinfo = lambda *_: time.sleep(60)
from kubedyno.kit.tasks import run
from kubedyno.plane.downloading import Downloads, Unavailable
from kubedyno.plane.programs import PROGRAMS
env = {{"KUBEDYNO_RELEASES_URL": "http://somewhere.invalid"}}
one = Downloads(cache=Path({str(tmp_path)!r}), env=env, patience_s=0.3)
async def main():
    try:
        await one.fetch(PROGRAMS["etcd"])
    except Unavailable as error:
        print(error)
run(main)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert "does not answer" in ended.stdout
    assert ended.stderr == ""


def test_downloading_can_be_switched_off(cache: Path) -> None:
    one = downloads(cache, "off")
    assert not one.offers(ETCD)


def test_what_has_no_checked_release_is_not_asked_for(cache: Path) -> None:
    one = Downloads(cache=cache, env={})
    assert one.offers(ETCD)
    assert not any(one.offers(PROGRAMS[name]) for name in ("kwok", "kai-scheduler", "scheduler-plugins", "kueue"))
