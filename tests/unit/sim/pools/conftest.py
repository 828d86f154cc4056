"""A cluster in virtual time: the embedded API server with controllers; nobody plays the nodes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.worlds import Unreliable

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

Play = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def in_cluster() -> Callable[..., Any]:
    """`in_cluster(play)` runs a play with a client of a new cluster; `losses` make its connection unreliable."""

    def run(play: Play, *, losses: float = 0.0) -> Any:
        async def main() -> Any:
            clock = LoopClock(asyncio.get_running_loop())
            api = new_api(clock=clock, seed=1)
            settings = ControllerSettings(node_grace_s=1e6)
            async with tasks.owning() as group:
                theirs = Client(InProcess(api, clock=clock), clock=clock)
                controllers = group.create_task(run_controllers(theirs, clock=clock, seed=1, settings=settings))
                outcome = await play(Client(Unreliable(api, clock=clock, losses=losses), clock=clock))
                controllers.cancel()
            return outcome

        return tasks.run(main, virtual=True)

    return run
