"""Load for an API server of another process, and watchers in a third one: none of them shares an interpreter."""

import asyncio
import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from client_create import NAMESPACE, pod_bodies

from kubedyno.client import kubeconfig
from kubedyno.client.errors import Unreachable
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kube import codec
from kubedyno.kube.codec import LineSplitter
from kubedyno.kube.resources import PODS

_HEARD_WITHIN_S = 600.0
_STREAM_S = 600
_BOOKMARK = b'{"type":"BOOKMARK"'


def pods(prefix: str, *, alike: bool) -> Iterator[bytes]:
    """Pods as `client_create` has them, without end: names and labels differ, and the spec too unless `alike`.

    The pods of a job or a deployment are alike; pods that somebody makes one by one, each with its own command, are
    not. A server may remember what it made of a spec, so both are measured, and those that are not alike have the
    prefix in their command: with numbers alone they would be the pods of an earlier round, and remembered.
    """
    template = pod_bodies(1, prefix=prefix)[0]
    name = f"{prefix}-000000".encode()
    for number in itertools.count():
        body = template.replace(name, b"%s-%06d" % (prefix.encode(), number))
        body = body.replace(b'"index":"0"', b'"index":"%d"' % number)
        yield body if alike else body.replace(b'"--rank","0"', b'"--rank","%s-%d"' % (prefix.encode(), number))


def lasting(bodies: Iterable[bytes], seconds: float) -> Iterator[bytes]:
    """The bodies, until the time is over."""
    end_s = time.perf_counter() + seconds
    for body in bodies:
        if time.perf_counter() >= end_s:
            return
        yield body


def run(main: Callable[[], Any]) -> Any:
    """Run a coroutine function to its end, as the commands do."""
    return tasks.run(main)


async def connected(client: Client, connections: int) -> None:
    """Return when so many connections are open: the handshakes are not what is measured."""
    await asyncio.gather(*(client.request_raw("GET", "/version") for _ in range(connections)))


async def flood(client: Client, bodies: Iterable[bytes], *, concurrency: int, namespace: str = NAMESPACE) -> float:
    """Create the pods with so many workers; creates per second."""
    pending, created = iter(bodies), 0

    async def work() -> None:
        nonlocal created
        for body in pending:
            await client.create(PODS, body, namespace=namespace)
            created += 1

    begun_s = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    return created / (time.perf_counter() - begun_s)


async def paced(client: Client, bodies: Sequence[bytes], *, rate: float) -> list[float]:
    """Create the pods at a fixed rate whatever the server does; seconds from each one's due time to its answer."""
    begun_s = time.perf_counter()

    async def create(number: int, body: bytes) -> float:
        due_s = begun_s + number / rate
        await asyncio.sleep(due_s - time.perf_counter())
        await client.create(PODS, body, namespace=NAMESPACE)
        return time.perf_counter() - due_s

    return await asyncio.gather(*(create(number, body) for number, body in enumerate(bodies)))


class Heard:
    """What another process tells."""

    def __init__(self, connection: "Connection[Any, Any]", pid: int) -> None:
        self.pid = pid
        self._connection = connection

    def next(self) -> Any:
        """What it says next; a process that stays silent or ends is an error."""
        if not self._connection.poll(_HEARD_WITHIN_S):
            raise TimeoutError(f"the other process said nothing for {_HEARD_WITHIN_S:g} s")
        return self._connection.recv()


@contextmanager
def beside(work: Callable[..., Any], *args: Any) -> Iterator[Heard]:
    """Run the coroutine function `work(tell, *args)` in a process of its own; it ends with the block."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def main() -> None:
        here.close()
        run(lambda: work(there.send, *args))

    process = context.Process(target=main, daemon=True)
    process.start()
    there.close()
    try:
        yield Heard(here, process.pid or 0)
    finally:
        process.kill()
        process.join()
        here.close()


async def count_events(tell: Callable[[Any], None], path: Path, watchers: int, events: int) -> None:
    """Watch the pods on so many connections; tells `ready`, then the time when each has seen so many events."""
    async with Client.connect(kubeconfig.load(path)) as client:
        page = await client.list(PODS, namespace=NAMESPACE, limit=1)
        version = page["metadata"]["resourceVersion"]
        opened = asyncio.Barrier(watchers + 1)
        async with asyncio.TaskGroup() as group:
            for _ in range(watchers):
                group.create_task(_count(client, version, events, opened))
            await opened.wait()
            tell("ready")
    tell(time.perf_counter())


async def _count(client: Client, version: str, events: int, opened: asyncio.Barrier) -> None:
    """Count to `events`. The real server cuts watchers that fall behind: they go on where they were."""
    seen, streams = 0, 0
    while seen < events:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_STREAM_S),
        }
        splitter, last = LineSplitter(), b""
        async with client.stream(PODS.path(namespace=NAMESPACE), query=query, timeout_s=_STREAM_S) as stream:
            if stream.status != 200:  # noqa: PLR2004 - HTTP
                raise RuntimeError(f"a watch was answered {stream.status}")
            streams += 1
            if streams == 1:
                await opened.wait()
            try:
                async for chunk in stream.chunks:
                    lines = splitter.feed(chunk)
                    seen += sum(not line.startswith(_BOOKMARK) for line in lines)
                    last = lines[-1] if lines else last
                    if seen >= events:
                        return
            except Unreachable:
                pass  # as good as an end in order
        if last:
            version = codec.decode(codec.decode_frame(last).object)["metadata"]["resourceVersion"]
