"""A world in virtual time: the embedded API server with our controllers, and a client to play with it."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest
from tests import worlds
from tests.worlds import Unreliable

from kubedyno.client.informer import Change, Informer
from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, SERVICE_ACCOUNTS, Resource
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess


class World(worlds.World):
    """What a test does and sees."""

    async def create(self, obj: Object, *, namespace: str = "default") -> Object:
        resource = await self.client.resource_of(obj)
        return await self.client.create(resource, obj, namespace=namespace if resource.namespaced else None)

    async def listed(self, resource: Resource) -> list[Object]:
        return (await self.client.list_all(resource)).items

    async def report(self, pod: Object, phase: str, **status: Any) -> None:
        """What a kubelet reports of a pod."""
        metadata = pod["metadata"]
        await self.client.patch(
            PODS,
            metadata["name"],
            {"status": {"phase": phase, **status}},
            kind="strategic",
            namespace=metadata["namespace"],
            subresource="status",
        )


Play = Callable[[World], Awaitable[Any]]


Beside = Callable[..., Coroutine[Any, Any, None]]
"""What runs beside the controllers: takes a client, `clock` and `seed`."""


def play_in_world(
    play: Play, settings: ControllerSettings, seed: int, *, losses: float = 0.0, beside: Sequence[Beside] = ()
) -> tuple[Any, str]:
    """Run `play` in a new world; what it returns, and a digest of all changes of pods on the way."""

    async def main() -> tuple[Any, str]:
        clock = LoopClock(asyncio.get_running_loop())
        api = new_api(clock=clock, seed=seed)
        world = World(Client(InProcess(api, clock=clock), clock=clock), clock)
        theirs = Client(Unreliable(api, clock=clock, losses=losses, seed=seed), clock=clock)
        seen = hashlib.sha256()

        def note(change: Change) -> None:
            version = change.object["metadata"]["resourceVersion"]
            seen.update(f"{change.type} {change.key} {version} {change.wall_ns}\n".encode())

        async with tasks.owning() as group:
            controllers = [
                group.create_task(run_controllers(theirs, clock=clock, seed=seed, settings=settings)),
                *(group.create_task(run(theirs, clock=clock, seed=seed)) for run in beside),
            ]
            pods = Informer(world.client, PODS)
            pods.subscribe(note)
            async with pods:
                await world.until(
                    SERVICE_ACCOUNTS, lambda found: any(entry["metadata"]["namespace"] == "default" for entry in found)
                )
                outcome = await play(world)
            for task in controllers:
                task.cancel()
        return outcome, seen.hexdigest()

    return tasks.run(main, virtual=True)


@pytest.fixture
def world() -> Callable[..., Any]:
    """`world(play)` runs a play and returns its outcome; `losses` make the controllers' connection unreliable.

    `beside` are further clients of the same connection.
    """

    def run(
        play: Play,
        *,
        settings: ControllerSettings | None = None,
        seed: int = 1,
        losses: float = 0.0,
        beside: Sequence[Beside] = (),
    ) -> Any:
        return play_in_world(play, settings or ControllerSettings(), seed, losses=losses, beside=beside)[0]

    return run


@pytest.fixture
def digest() -> Callable[..., str]:
    """`digest(play, seed)` runs a play and returns the digest of what happened."""
    return lambda play, seed, beside=(): play_in_world(play, ControllerSettings(), seed, beside=beside)[1]
