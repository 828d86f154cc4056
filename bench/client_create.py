"""What our client costs per create, against the bare aiohttp loop with the same bodies and the same pool.

Both sides run in this process by turns, the server in another one, so that the CPU time of this process is the
client's.
"""

import asyncio
import multiprocessing
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import aiohttp
import uvloop
from aiohttp import web
from result import Result, against_noise, against_ratio

from kubedyno.client import kubeconfig
from kubedyno.client.access import Access
from kubedyno.client.credentials import source_of, tls_context
from kubedyno.client.rest import Client
from kubedyno.kit.clock import RealClock
from kubedyno.kube import codec
from kubedyno.kube.resources import PODS
from kubedyno.lab import installing
from labs import control_plane

CONCURRENCY = 16
CREATES = 4000
REPEATS = 7
LOCAL_CREATES = 500
LOCAL_REPEATS = 10
CPU_TARGET = 1.5
"""CPU per create: at most so many times the bare loop's."""
RATE_TARGET = 0.8
"""Creates per second: at least this part of the bare loop's."""

NAMESPACE = "kubedyno-bench"


def pod_bodies(count: int, *, prefix: str) -> list[bytes]:
    """Pods of about 2.7 KB, as a training job makes them."""
    bodies = []
    for number in range(count):
        name = f"{prefix}-{number:06d}"
        environment = [{"name": f"VARIABLE_{entry:02d}", "value": f"value-of-{entry:02d}" * 3} for entry in range(20)]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": {"app": "bench", "job-name": prefix, "index": str(number)},
                "annotations": {"kubedyno/purpose": "x" * 724},
            },
            "spec": {
                "schedulerName": "nobody",
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {
                        "name": "worker",
                        "image": "registry.example/training/worker:1.2.3",
                        "command": ["python", "-m", "train", "--rank", str(number)],
                        "env": environment,
                        "resources": {
                            "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                            "limits": {"memory": "64Gi", "nvidia.com/gpu": "1"},
                        },
                    }
                ],
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            },
        }
        bodies.append(codec.encode(pod))
    return bodies


def _serve_stub(listener: socket.socket) -> None:
    """Answer every POST with the body it came with, as an API server does at its very fastest."""

    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read(), status=201, content_type="application/json")

    app = web.Application()
    app.router.add_post("/{tail:.*}", echo)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        web.run_app(app, sock=listener, print=None, access_log=None, handle_signals=False, loop=runner.get_loop())


@contextmanager
def stub_server() -> Iterator[str]:
    """A stub in another process; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = multiprocessing.get_context("fork").Process(target=_serve_stub, args=(listener,), daemon=True)
        process.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            process.kill()
            process.join()


async def _flood(bodies: list[bytes], create: Callable[[bytes], Awaitable[object]]) -> tuple[float, float]:
    """Send the bodies with `CONCURRENCY` workers; (CPU seconds, seconds) per create."""
    pending = iter(bodies)

    async def work() -> None:
        for body in pending:
            await create(body)

    cpu_s, wall_s = time.process_time(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENCY):
            group.create_task(work())
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    return cpu_s / len(bodies), wall_s / len(bodies)


@asynccontextmanager
async def _bare(access: Access) -> AsyncIterator[Callable[[bytes], Awaitable[object]]]:
    """The loop that somebody would write by hand: post, check the status, read the body."""
    credential = await source_of(access, RealClock()).fetch()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if credential.token:
        headers["Authorization"] = f"Bearer {credential.token}"
    context = tls_context(access, credential)
    connector = aiohttp.TCPConnector(limit=CONCURRENCY, ssl=context if context is not None else False)
    url = f"{access.server}/api/v1/namespaces/{NAMESPACE}/pods"
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def create(body: bytes) -> object:
            async with session.post(url, data=body) as response:
                if response.status >= 300:  # noqa: PLR2004 - HTTP
                    raise RuntimeError(f"{response.status}: {await response.text()}")
                return await response.read()

        yield create


@asynccontextmanager
async def _ours(access: Access) -> AsyncIterator[Callable[[bytes], Awaitable[object]]]:
    async with Client.connect(access, connections=CONCURRENCY) as client:

        async def create(body: bytes) -> object:
            return await client.create(PODS, body, namespace=NAMESPACE)

        yield create


async def _compare(access: Access, *, creates: int, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """(CPU seconds, seconds) per create of both sides, by turns; the first round warms up and is dropped."""
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": []}
    async with _ours(access) as ours, _bare(access) as bare:
        for repeat in range(repeats + 1):
            # Who goes first changes, so that neither side always meets the colder server.
            sides = [("ours", ours), ("peer", bare)]
            for side, create in sides if repeat % 2 else reversed(sides):
                bodies = pod_bodies(creates, prefix=f"{side}-{time.monotonic_ns():x}")
                figures = await _flood(bodies, create)
                if repeat:
                    found[side].append(figures)
    return found


async def _on_lab(access: Access) -> dict[str, list[tuple[float, float]]]:
    """As `_compare`, in a namespace of the lab, which is thrown away afterwards."""
    async with Client.connect(access) as client:
        await installing.ensure_namespace(client, NAMESPACE)
    return await _compare(access, creates=LOCAL_CREATES, repeats=LOCAL_REPEATS)


def stub() -> list[Result]:
    """CPU and rate against a stub server, where the client is the limit."""
    with stub_server() as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(_compare(Access(server=url), creates=CREATES, repeats=REPEATS))
    return [
        _cpu("client-stub-cpu", found),
        against_ratio(
            "client-stub-rate",
            [1 / wall_s for _, wall_s in found["ours"]],
            [1 / wall_s for _, wall_s in found["peer"]],
            unit="creates/s",
            limit=RATE_TARGET,
            better="higher",
        ),
    ]


def local() -> list[Result]:
    """CPU and rate against a real API server on a lab of its own, where the server is the limit."""
    with control_plane() as kubeconfig_path, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        access = kubeconfig.load(kubeconfig_path)
        found = runner.run(_on_lab(access))
    return [
        _cpu("client-local-cpu", found),
        against_noise(
            "client-local-rate",
            [1 / wall_s for _, wall_s in found["ours"]],
            [1 / wall_s for _, wall_s in found["peer"]],
            unit="creates/s",
        ),
    ]


def _cpu(name: str, found: dict[str, list[tuple[float, float]]]) -> Result:
    return against_ratio(
        name,
        [cpu_s * 1e6 for cpu_s, _ in found["ours"]],
        [cpu_s * 1e6 for cpu_s, _ in found["peer"]],
        unit="µs CPU/create",
        limit=CPU_TARGET,
        better="lower",
    )
