"""A cluster in virtual time: the embedded API server with controllers and, where wanted, simulated kubelets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.simulated import Cluster

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.resources import SERVICE_ACCOUNTS
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim.devices.publishing import publish_devices
from kubedyno.sim.kubelet.fleet import Fleet
from kubedyno.sim.kubelet.playing import play_kubelets

LEASE_S = 40
WITHIN_S = 3600.0


Play = Callable[[Cluster], Awaitable[Any]]


def play_in_cluster(
    play: Play,
    *,
    kubelets: bool,
    settings: ControllerSettings | None = None,
    seed: int = 1,
    fleet: Fleet | None = None,
) -> Any:
    """Run `play` in a new cluster; what it returns. `fleet` is where the kubelets keep what they know."""

    async def main() -> Any:
        clock = LoopClock(asyncio.get_running_loop())
        api = new_api(clock=clock, seed=seed)
        client = Client(InProcess(api, clock=clock), clock=clock)
        cluster = Cluster(client, clock, within_s=WITHIN_S)
        async with tasks.owning() as group:
            background = [
                group.create_task(
                    run_controllers(client, clock=clock, seed=seed, settings=settings or ControllerSettings())
                )
            ]
            if kubelets:
                kubelet = play_kubelets(client, clock=clock, seed=seed, lease_s=LEASE_S, fleet=fleet)
                background.append(group.create_task(kubelet))
                background.append(group.create_task(publish_devices(client, clock=clock, seed=seed)))
            await cluster.until(SERVICE_ACCOUNTS, lambda found: "default" in found)
            outcome = await play(cluster)
            for task in background:
                task.cancel()
        return outcome

    return tasks.run(main, virtual=True)


@pytest.fixture
def in_cluster() -> Callable[[Play], Any]:
    """`in_cluster(play)`: nodes are objects only, nobody plays them."""
    return lambda play: play_in_cluster(play, kubelets=False)


@pytest.fixture
def in_simulation() -> Callable[[Play], Any]:
    """`in_simulation(play)`: simulated kubelets play the nodes."""
    return lambda play: play_in_cluster(play, kubelets=True)


@pytest.fixture
def in_fleet() -> Callable[[Callable[[Cluster, Fleet], Awaitable[Any]]], Any]:
    """`in_fleet(play)`: as above, and `play` also gets what the kubelets know."""

    def run(play: Callable[[Cluster, Fleet], Awaitable[Any]]) -> Any:
        fleet = Fleet()
        return play_in_cluster(lambda cluster: play(cluster, fleet), kubelets=True, fleet=fleet)

    return run
