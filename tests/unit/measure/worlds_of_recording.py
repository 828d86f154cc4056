"""A server in virtual time whose streams can be broken, for whoever records."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from kubedyno.client.errors import Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.transport import Response, Stream
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, SERVICE_ACCOUNTS
from kubedyno.kube.status import failure
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

NAMESPACE = "default"


class Breakable(InProcess):
    """A connection that breaks when it is told to."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.refused: dict[tuple[str, str], int] = {}
        """Status codes by method and the last part of the path."""
        self.is_away = False
        self.way_s = 0.0
        """How long news is under way."""
        self._breaks: set[asyncio.Event] = set()
        self._is_cut = False

    def end_streams(self, *, cut: bool = False) -> None:
        """End all streams now: in order, or in the middle of something."""
        self._is_cut = cut
        for broken in self._breaks:
            broken.set()

    async def request(self, method: str, path: str, **more: Any) -> Response:
        if self.is_away:
            raise Unreachable(server="test", cause="refused the connection", remedy="start it")
        code = self._refusal(method, path)
        if code is not None:
            return Response(code, {}, codec.encode(failure(code, "no")))
        return await super().request(method, path, **more)

    @asynccontextmanager
    async def _open(self, method: str, path: str, **more: Any) -> AsyncIterator[Stream]:
        if self.is_away:
            raise Unreachable(server="test", cause="refused the connection", remedy="start it")
        broken = asyncio.Event()
        self._breaks.add(broken)
        try:
            async with super().stream(method, path, **more) as stream:
                yield Stream(stream.status, stream.headers, self._until(stream.chunks, broken))
        finally:
            self._breaks.discard(broken)

    def stream(self, method: str, path: str, **more: Any) -> Any:
        return self._open(method, path, **more)

    async def _until(self, chunks: AsyncIterator[bytes], broken: asyncio.Event) -> AsyncIterator[bytes]:
        source = aiter(chunks)
        ending = asyncio.ensure_future(broken.wait())
        reading: asyncio.Future[bytes] | None = None
        try:
            while True:
                reading = asyncio.ensure_future(anext(source))
                await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    if self._is_cut:
                        raise Unreachable(server="test", cause="broke the connection", remedy="try again", sent=True)
                    return
                try:
                    chunk = reading.result()
                except StopAsyncIteration:
                    return
                if self.way_s:
                    await asyncio.sleep(self.way_s)
                yield chunk
        finally:
            ending.cancel()
            if reading is not None and not reading.done():
                reading.cancel()
                await asyncio.wait({reading})

    def _refusal(self, method: str, path: str) -> int | None:
        for (refused, part), code in self.refused.items():
            if method == refused and f"/{part}" in path:
                return code
        return None


class World:
    """A server, a client of its own for the recorder, and another one for whoever acts."""

    def __init__(self, clock: LoopClock, *, keep_events: int = 50_000) -> None:
        self.clock = clock
        api = new_api(clock=clock, seed=1, keep_events=keep_events)
        self.wire = Breakable(api, clock=clock)
        self.client = Client(self.wire, clock=clock)
        self.actor = Client(InProcess(api, clock=clock), clock=clock)

    async def pod(self, name: str, *, workload: str = "w") -> Object:
        """Create a pod."""
        return await self.actor.create(
            PODS,
            {
                "metadata": {"name": name, "labels": {"kubedyno/workload": workload}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
            namespace=NAMESPACE,
        )

    async def bind(self, name: str, node: str = "n") -> None:
        """Bind it."""
        await self.actor.create(
            PODS,
            {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}},
            namespace=NAMESPACE,
            name=name,
            subresource="binding",
        )

    async def delete(self, name: str) -> None:
        """Delete it at once."""
        await self.actor.delete(PODS, name, namespace=NAMESPACE, grace_s=0)


def play(scenario: Callable[[World], Awaitable[Any]], **options: Any) -> Any:
    """Run a scenario in a new world, in virtual time."""

    async def main() -> Any:
        clock = LoopClock(asyncio.get_running_loop())
        async with asyncio.timeout(3600):
            world = World(clock, **options)
            await world.actor.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, namespace=NAMESPACE)
            return await scenario(world)

    return tasks.run(main, virtual=True)
