"""What all controllers stand on: shared informers, the recorder of events, and the loop that works off a queue."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Protocol, TypeVar

from kubedyno.client.errors import ApiError, Malformed, Unreachable
from kubedyno.client.informer import IndexFunction, Informer
from kubedyno.client.rest import Client
from kubedyno.controllers import claimfacts, podfacts
from kubedyno.controllers.events import EventType, Recorder
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.serving import Served
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.controllers.slimming import SHAPES, slimmed
from kubedyno.controllers.volumes import matching
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.logs import Log
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PERSISTENT_VOLUMES, PODS, Resource

K = TypeVar("K", bound=Hashable)

_log = Log("controllers")

BY_CONTROLLER = "controller"
BY_ORPHANAGE = "orphan"
BY_NODE = "node"
BY_CLAIM = "claim"
BY_NAMESPACE = "namespace"
BY_VOLUME_CLAIM = "volume claim"

_PARALLEL_WRITES = 64

_INDEXES: dict[str, IndexFunction] = {
    BY_CONTROLLER: podfacts.controller_uid,
    BY_ORPHANAGE: podfacts.orphanages,
    BY_NAMESPACE: podfacts.namespace,
}

_OWN_INDEXES: dict[Resource, dict[str, IndexFunction]] = {
    PODS: {
        BY_NODE: podfacts.node_name,
        BY_CLAIM: claimfacts.used,
        BY_VOLUME_CLAIM: podfacts.volume_claims,
    },
    PERSISTENT_VOLUMES: {BY_VOLUME_CLAIM: matching.claims_of},
}
"""Beyond those of all kinds."""


class Engine:
    """Shared by the controllers of one run.

    `served` are the resources that the server had at the start. Controllers are made before `follow`: what they
    subscribe to then shows them the first list as well.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        seed: int,
        settings: ControllerSettings,
        group: asyncio.TaskGroup,
        served: Sequence[Served] = (),
    ) -> None:
        self.client = client
        self.clock = clock
        self.seed = seed
        self.settings = settings
        self.group = group
        self.served = list(served)
        self.recorder = Recorder(client, clock)
        self._informers: dict[tuple[Resource, str | None], Informer] = {}

    def informer(self, resource: Resource, *, label_selector: str | None = None) -> Informer:
        """The informer of the objects of a resource, one for all who ask alike; its objects are slim."""
        found = self._informers.get((resource, label_selector))
        if found is None:
            indexes = {**_INDEXES, **_OWN_INDEXES.get(resource, {})}
            rng = randomness.stream(self.seed, f"controllers watch {resource.full_name}")
            shape = SHAPES.get(resource)
            found = Informer(
                self.client, resource, label_selector=label_selector, indexes=indexes, rng=rng, shape=shape
            )
            if shape is None:
                found.subscribe(slimmed)
            self._informers[resource, label_selector] = found
        return found

    async def follow(self, stack: AsyncExitStack) -> None:
        """Start all informers; each is complete afterwards."""
        for informer in self._informers.values():
            await stack.enter_async_context(informer)

    def queue(self, *, first_s: float = 0.005, most_s: float = 1000.0) -> WorkQueue[K]:
        """A queue on this run's clock."""
        return WorkQueue(self.clock, self.group.create_task, first_s=first_s, most_s=most_s)

    def now_ns(self) -> int:
        """Wall time in nanoseconds."""
        return self.clock.wall_ns()

    def event(self, component: str, obj: Object, type_: EventType, reason: str, message: str) -> None:
        """Record an event about `obj`, without waiting."""
        self.recorder.record(component, obj, type_, reason, message)

    def work(self, name: str, queue: WorkQueue[K], handle: Callable[[K], Awaitable[None]], *, workers: int = 1) -> None:
        """Start workers that hand each key to `handle`; a refusal of the server is tried again later."""
        for number in range(workers):
            self.group.create_task(_work(name, queue, handle), name=f"{name} {number}")

    def every(self, period_s: float, act: Callable[[], Awaitable[None]], name: str) -> None:
        """Start a task that acts now and every `period_s`; a refusal of the server waits for the next time."""
        self.group.create_task(self._every(period_s, act, name), name=name)

    async def _every(self, period_s: float, act: Callable[[], Awaitable[None]], name: str) -> None:
        while True:
            try:
                await act()
            except (ApiError, Unreachable, Malformed) as error:
                _log.debug("a period of a controller failed", controller=name, error=error)
            await self.clock.sleep(period_s)


class Controller(Protocol):
    """One controller: its constructor subscribes to informers, `start` lets it work."""

    def start(self) -> None:
        """Start its tasks; the informers are complete."""
        ...


async def operate(
    makes: Iterable[Callable[[Engine], Controller]],
    client: Client,
    *,
    clock: Clock,
    seed: int,
    settings: ControllerSettings,
    served: Sequence[Served] = (),
) -> None:
    """Run controllers on one engine as clients of `client`'s server, until cancelled or a failure for good.

    All waiting is on `clock`, all chance from `seed`: on a virtual clock a run repeats exactly.
    """
    async with tasks.owning() as group, AsyncExitStack() as stack:
        engine = Engine(client, clock=clock, seed=seed, settings=settings, group=group, served=served)
        controllers = [make(engine) for make in makes]
        await engine.follow(stack)
        group.create_task(engine.recorder.run(), name="events")
        for controller in controllers:
            controller.start()
        await asyncio.Event().wait()


async def _work(name: str, queue: WorkQueue[K], handle: Callable[[K], Awaitable[None]]) -> None:
    while True:
        key = await queue.get()
        try:
            await handle(key)
        except (ApiError, Unreachable, Malformed) as error:
            _log.debug("a controller failed and tries again", controller=name, key=key, error=error)
            queue.retry(key)
        else:
            queue.forget(key)
        finally:
            queue.done(key)


async def all_of(writes: Iterable[Callable[[], Awaitable[object]]]) -> list[ApiError | Unreachable | None]:
    """Do writes side by side, so many at a time; the failure of each, in their order."""
    waiting = list(writes)
    if not waiting:
        return []
    failures: list[ApiError | Unreachable | None] = [None] * len(waiting)
    positions = iter(range(len(waiting)))

    async def worker() -> None:
        for position in positions:
            try:
                await waiting[position]()
            except (ApiError, Unreachable) as error:
                failures[position] = error

    if len(waiting) == 1:
        await worker()
        return failures
    async with asyncio.TaskGroup() as group:
        for _ in range(min(_PARALLEL_WRITES, len(waiting))):
            group.create_task(worker())
    return failures
