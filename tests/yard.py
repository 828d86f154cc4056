"""A yard in virtual time: the embedded API server, nodes and pods, and simulators that play the kubelets there."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from kubedyno.client.errors import Unreachable
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.client.transport import Response
from kubedyno.client.watching import Changed, Watch
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube import codec, meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, NODES, PODS, SERVICE_ACCOUNTS, Resource
from kubedyno.kube.status import failure
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.playing import play_kubelets

WITHIN_S = 3600.0
SEED = 1
NAMESPACE = "default"
CAPACITY = {"cpu": "8", "memory": "16Gi", "pods": "10", "nvidia.com/gpu": "2"}

Fate = Callable[[str, str], "Response | Exception | None"]


class Connection(InProcess):
    """A simulator's way to the server.

    `fate` may answer a request instead of the server, `after` may lose the server's answer. Both are told method and
    path. `writes` are those that reached the server, which takes `delay_s` for each; `most` is how many were under way
    at a time.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.fate: Fate | None = None
        self.after: Fate | None = None
        self.writes: list[tuple[float, str, str]] = []
        self.delay_s = 0.0
        self.most = 0
        self._under_way = 0

    async def request(self, method: str, path: str, **more: Any) -> Response:
        if self.fate is not None and (answer := self.fate(method, path)) is not None:
            return self._given(answer)
        if method != "GET":
            self.writes.append((self._clock.monotonic_ns() / 1e9, method, path))
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            await self._clock.sleep(self.delay_s)
            self._under_way -= 1
        response = await super().request(method, path, **more)
        if self.after is not None and (answer := self.after(method, path)) is not None:
            return self._given(answer)
        return response

    @staticmethod
    def _given(answer: Response | Exception) -> Response:
        if isinstance(answer, Exception):
            raise answer
        return answer


def lost() -> Unreachable:
    """The connection broke before the answer came."""
    return Unreachable(server="test", cause="broke the connection", remedy="try again", sent=True)


def failing(code: int) -> Response:
    """An answer with such a failure."""
    return Response(code, {}, codec.encode(failure(code, "no", reason="InternalError")))


class Simulator:
    """One that plays."""

    def __init__(self, connection: Connection, task: "asyncio.Task[None]", lag: Lag, fleet: Fleet) -> None:
        self.connection = connection
        self.task = task
        self.lag = lag
        self.fleet = fleet


class Yard:
    """What a test does and sees."""

    def __init__(self, clock: LoopClock) -> None:
        self.clock = clock
        self.api = new_api(clock=clock, seed=SEED)
        self.client = Client(InProcess(self.api, clock=clock), clock=clock)
        self._began_ns = clock.wall_ns()

    def passed_s(self) -> float:
        return (self.clock.wall_ns() - self._began_ns) / 1e9

    async def sleep(self, delay_s: float) -> None:
        await self.clock.sleep(delay_s)

    def connect(self, *, cost_s: float = 0.0) -> tuple[Client, Connection]:
        connection = Connection(self.api, clock=self.clock, cost_s=cost_s)
        return Client(connection, clock=self.clock), connection

    @contextlib.asynccontextmanager
    async def playing(self, *, cost_s: float = 0.0, **more: Any) -> AsyncIterator[Simulator]:
        """A new simulator, without any memory, for the duration of the block."""
        client, connection = self.connect(cost_s=cost_s)
        given: dict[str, Any] = {"lease_s": 0, "seed": SEED, "lag": Lag(), "fleet": Fleet(), **more}
        async with tasks.owning() as group:
            task = group.create_task(play_kubelets(client, clock=self.clock, **given))
            yield Simulator(connection, task, given["lag"], given["fleet"])
            task.cancel()

    async def node(self, name: str = "n", *, annotations: dict[str, str] | None = None, **resources: str) -> Object:
        capacity = {**CAPACITY, **{key.replace("gpu", "nvidia.com/gpu"): text for key, text in resources.items()}}
        return await self.client.create(
            NODES,
            {
                "metadata": {"name": name, "annotations": annotations or {}},
                "spec": {"podCIDR": "10.1.0.0/24"},
                "status": {"capacity": capacity, "allocatable": capacity},
            },
        )

    async def pod(
        self, name: str = "p", *, node: str = "n", annotations: dict[str, str] | None = None, **more: Any
    ) -> Object:
        """A bound pod; `gpu`, `cpu` and `memory` are its limits, anything else goes into its spec."""
        limits = {
            "nvidia.com/gpu" if key == "gpu" else key: more.pop(key) for key in ("cpu", "memory", "gpu") if key in more
        }
        container = {"name": "c", "image": "i", "resources": {"limits": limits}}
        metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}, **more.pop("metadata", {})}
        spec = {"nodeName": node, "containers": [container], **more}
        return await self.client.create(PODS, {"metadata": metadata, "spec": spec})

    async def get(self, name: str = "p", resource: Resource = PODS) -> Object:
        return await self.client.get(resource, name, namespace=NAMESPACE if resource.namespaced else None)

    async def delete(self, name: str = "p", resource: Resource = PODS, **more: Any) -> None:
        await self.client.delete(resource, name, namespace=NAMESPACE if resource.namespaced else None, **more)

    async def annotate(self, name: str, resource: Resource = NODES, **annotations: str | None) -> None:
        changed = {f"kubedyno/{key}": text for key, text in annotations.items()}
        await self.client.patch(resource, name, {"metadata": {"annotations": changed}}, kind="merge")

    async def until(self, predicate: Callable[[Object], object], name: str = "p", resource: Resource = PODS) -> Object:
        """The object once it is so."""
        key = (NAMESPACE if resource.namespaced else "", name)
        async with Informer(self.client, resource) as informer:
            await informer.wait_until(
                lambda found: (obj := found.get(key)) is not None and bool(predicate(obj)),
                timeout_s=WITHIN_S,
                what=f"{resource.kind} {name}",
            )
            return dict(informer.get(key) or {})

    async def until_phase(self, phase: str, *names: str) -> None:
        for name in names or ("p",):
            await self.until(lambda pod: pod["status"].get("phase") == phase, name)

    async def until_ready(self, *names: str) -> None:
        for name in names or ("p",):
            await self.until(lambda pod: meta.is_condition_true(pod, "Ready"), name)

    async def gone(self, name: str = "p", resource: Resource = PODS) -> None:
        key = (NAMESPACE if resource.namespaced else "", name)
        async with Informer(self.client, resource) as informer:
            await informer.wait_until(lambda found: found.get(key) is None, timeout_s=WITHIN_S, what=f"{name} to go")

    async def events(self, reason: str) -> list[Object]:
        listing = await self.client.list_all(CORE_EVENTS, namespace=NAMESPACE)
        return [event for event in listing.items if event["reason"] == reason]

    @contextlib.asynccontextmanager
    async def seen(self, resource: Resource = PODS) -> AsyncIterator[list[tuple[float, str, Object]]]:
        """All changes of a kind during the block: when (seconds), type, object."""
        changes: list[tuple[float, str, Object]] = []

        async def note() -> None:
            async for event in Watch(self.client, resource).events():
                if isinstance(event, Changed):
                    changes.append((self.passed_s(), event.type, event.object))  # noqa: PERF401 - there is no end

        async with tasks.owning() as group:
            task = group.create_task(note())
            await self.clock.sleep(0)
            await self.clock.sleep(0)
            yield changes
            await self.clock.sleep(0.001)
            task.cancel()


Story = Callable[[Yard], Awaitable[Any]]


def run_in_yard(story: Story) -> Any:
    """Run a story in a yard of its own; what it returns."""

    async def main() -> Any:
        yard = Yard(LoopClock(asyncio.get_running_loop()))
        await yard.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": NAMESPACE}})
        return await story(yard)

    return tasks.run(main, virtual=True)
