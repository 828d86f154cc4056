"""A world in virtual time: an embedded API server, nodes and pods, and stages that are played on them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.client.transport import Response, Stream
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS, SERVICE_ACCOUNTS, Resource
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim.stages.cluster import play_cluster_stages
from kubedyno.sim.stages.playing import play_stages
from kubedyno.sim.stages.reading import read_files
from kubedyno.sim.stages.stage import Stage

WITHIN_S = 7200.0
SEED = 7
Fate = Callable[[str, str], "Response | Exception | None"]


class Faulty(InProcess):
    """A server that may answer something else: `fate` is asked before (`None`: go on) each request."""

    fate: Fate | None = None
    sent: list[tuple[str, str]]

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.sent = []

    async def request(self, method: str, path: str, **more: Any) -> Response:
        self.sent.append((method, path))
        answer = self.fate(method, path) if self.fate else None
        if isinstance(answer, Exception):
            raise answer
        return answer or await super().request(method, path, **more)

    @contextlib.asynccontextmanager
    async def _stream(self, request: Any) -> AsyncIterator[Stream]:
        async with super()._stream(request) as stream:
            yield Stream(stream.status, stream.headers, self._cut(stream.chunks))

    async def _cut(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """A watch ends when the server is away."""
        async for chunk in chunks:
            answer = self.fate("WATCH", "") if self.fate else None
            if isinstance(answer, Exception):
                raise answer
            yield chunk


class World:
    """What a test does and sees."""

    def __init__(self, client: Client, clock: LoopClock, transport: Faulty, folder: Path) -> None:
        self.client = client
        self.clock = clock
        self.transport = transport
        self.said: list[str] = []
        self._folder = folder
        self._began_ns = clock.wall_ns()

    def passed_s(self) -> float:
        return (self.clock.wall_ns() - self._began_ns) / 1e9

    def stages(self, text: str) -> tuple[Stage, ...]:
        path = self._folder / "stages.yaml"
        path.write_text(text)
        return read_files([path])

    @contextlib.asynccontextmanager
    async def playing(self, stages: Sequence[Stage] | str | None, **more: Any) -> AsyncIterator[None]:
        """Play stages (None: those of the cluster) during the block."""
        given = {"clock": self.clock, "seed": SEED, "say": self.said.append, **more}
        async with tasks.owning() as group:
            if stages is None:
                playing = play_cluster_stages(self.client.known_as("kwok"), **given)
            else:
                known = self.stages(stages) if isinstance(stages, str) else stages
                playing = play_stages(self.client.known_as("kwok"), stages=known, **given)
            task = group.create_task(playing)
            yield
            task.cancel()

    async def node(self, name: str = "n", **spec: Any) -> Object:
        return await self.client.create(NODES, {"metadata": {"name": name}, "spec": {"podCIDR": "10.1.0.0/24", **spec}})

    async def pod(
        self, name: str = "p", *, node: str | None = "n", metadata: Object | None = None, **spec: Any
    ) -> Object:
        bound = {"nodeName": node} if node else {}
        return await self.client.create(
            PODS,
            {
                "metadata": {"name": name, "namespace": "default", **(metadata or {})},
                "spec": {"containers": [{"name": "c", "image": "i"}], **bound, **spec},
            },
        )

    async def get(self, name: str = "p", resource: Resource = PODS) -> Object:
        return await self.client.get(resource, name, namespace="default" if resource.namespaced else None)

    async def label(self, name: str = "p", resource: Resource = PODS, **labels: str) -> Object:
        return await self.client.patch(
            resource,
            name,
            {"metadata": {"labels": labels}},
            kind="merge",
            namespace="default" if resource.namespaced else None,
        )

    async def until(self, predicate: Callable[[Object], object], name: str = "p", resource: Resource = PODS) -> Object:
        """The object once it is so."""
        key = ("default" if resource.namespaced else "", name)
        async with Informer(self.client, resource) as informer:
            await informer.wait_until(
                lambda found: (obj := found.get(key)) is not None and bool(predicate(obj)),
                timeout_s=WITHIN_S,
                what=f"{resource.kind} {name}",
            )
            return dict(informer.get(key) or {})

    async def gone(self, name: str = "p", resource: Resource = PODS) -> None:
        key = ("default" if resource.namespaced else "", name)
        async with Informer(self.client, resource) as informer:
            await informer.wait_until(lambda found: found.get(key) is None, timeout_s=WITHIN_S, what=f"{name} to go")

    async def settle(self, for_s: float = 1.0) -> None:
        await self.clock.sleep(for_s)


Play = Callable[[Callable[[World], Awaitable[None]]], None]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Run a story in a world of its own."""

    def run(story: Callable[[World], Awaitable[None]]) -> None:
        async def main() -> None:
            clock = LoopClock(asyncio.get_running_loop())
            transport = Faulty(new_api(clock=clock, seed=SEED), clock=clock, cost_s=0.001)
            client = Client(transport, clock=clock)
            account = {"metadata": {"name": "default", "namespace": "default"}}
            await client.create(SERVICE_ACCOUNTS, account)
            await story(World(client, clock, transport, tmp_path))

        tasks.run(main, virtual=True)

    return run
