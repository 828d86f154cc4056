"""Activities: parts of a lab that run in its own process as clients of its API, beside components that are processes.

The embedded engine's controllers are one, so are the builtin kubelet and the reference scheduler.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import Clock
from kubedyno.plane.supervision import Supervisor


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What an activity works with."""

    client: Client
    """It writes in the name of the activity's program."""
    clock: Clock
    seed: int
    supervisor: Supervisor | None = None
    """For activities that are made of processes."""


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """Something that runs until it is cancelled."""

    name: str
    role: str
    """As a component's."""
    run: Callable[[Ground], Coroutine[Any, Any, None]]
    program: str = "kubedyno"
    """Whom `managedFields` name as the owner of what it writes."""
    decides: bool = False
    """Whether a paused scheduler is one without it."""
    settable: bool = False
    """Whether `--set` with its name was understood when it was made."""
    ports: Mapping[str, int] = {}
    """Loopback ports that it listens on, by purpose."""
    audit: Callable[[], Mapping[str, float]] | None = None
    """How well it keeps up, by name; None: it does not say."""
    instruments: object = None
    """What can be seen of it while it runs, for whoever knows what it is."""
    programs: tuple[str, ...] = ()
    """Names in the catalogue of programs that it starts."""


class Activities:
    """The running activities of one lab."""

    def __init__(
        self, client: Client, *, clock: Clock, seed: int, group: asyncio.TaskGroup, supervisor: Supervisor | None = None
    ) -> None:
        self._client = client
        self._clock = clock
        self._seed = seed
        self._supervisor = supervisor
        self._group = group
        self._known: dict[str, Activity] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def running(self) -> Mapping[str, Activity]:
        """The running activities by name."""
        return {name: self._known[name] for name, task in self._tasks.items() if not task.done()}

    def start(self, activities: Iterable[Activity]) -> None:
        """Start activities; one that fails ends the block that owns them all."""
        for activity in activities:
            self._known[activity.name] = activity
            ground = Ground(
                client=self._client.known_as(activity.program),
                clock=self._clock,
                seed=self._seed,
                supervisor=self._supervisor,
            )
            self._tasks[activity.name] = self._group.create_task(activity.run(ground), name=activity.name)

    async def stop(self, names: Iterable[str]) -> None:
        """Cancel activities and wait until they have cleaned up."""
        ending = [task for name in names if not (task := self._tasks[name]).done()]
        for task in ending:
            if not task.cancelling():  # a second cancellation would cut its cleaning up short
                task.cancel()
        if ending:
            await asyncio.wait(ending)

    def restart(self, names: Iterable[str]) -> None:
        """Start stopped activities anew."""
        self.start([self._known[name] for name in names])


@contextlib.asynccontextmanager
async def hosting(
    client: Client, *, clock: Clock, seed: int, supervisor: Supervisor | None = None
) -> AsyncIterator[Activities]:
    """Activities for the duration of the block; `supervisor` has the processes that they start."""
    async with tasks.owning() as group:
        activities = Activities(client, clock=clock, seed=seed, group=group, supervisor=supervisor)
        try:
            yield activities
        finally:
            await activities.stop(list(activities.running))
