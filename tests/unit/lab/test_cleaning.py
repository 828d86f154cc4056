"""A lab that was there before is left as it was found."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.resources import CONFIG_MAPS, NAMESPACES, NODES, PRIORITY_CLASSES
from kubedyno.lab import installing
from kubedyno.lab.cleaning import Cleaner
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import pools
from kubedyno.sim.pools import applying
from kubedyno.sim.simulating import Instruments, Simulation, simulate

pytestmark = pytest.mark.unit

MINE = {RUN_LABEL: "r1"}


def priority(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "labels": labels},
        "value": 1,
    }


def in_a_lab(story: Callable[[Client, Cleaner], Awaitable[None]]) -> None:
    """Tell a story in virtual time, with controllers and simulated nodes."""

    async def main() -> None:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=0), clock=clock, cost_s=0.001), clock=clock)
        async with tasks.owning() as group:
            running = [
                group.create_task(run_controllers(client, clock=clock, seed=0, settings=ControllerSettings())),
                group.create_task(simulate(client, Simulation(lease_s=0), Instruments(), clock=clock)),
            ]
            await story(client, Cleaner(client, "r1", clock, gone_within_s=5.0))
            for task in running:
                task.cancel()

    tasks.run(main, virtual=True)


async def names(client: Client, resource: Any) -> set[str]:
    return {obj["metadata"]["name"] for obj in (await client.list_all(resource)).items}


def test_exactly_what_the_run_made_is_removed() -> None:
    async def story(client: Client, cleaner: Cleaner) -> None:
        await applying.apply(client, [pools.base("others", 1)])
        await client.create(PRIORITY_CLASSES, priority("theirs"))
        await client.create(PRIORITY_CLASSES, priority("older", **{RUN_LABEL: "r0"}))
        await installing.ensure_namespace(client, "theirs")
        before = await names(client, NAMESPACES), await names(client, PRIORITY_CLASSES)

        await installing.ensure_namespace(client, "mine", labels=MINE)
        await cleaner.refuse_others_pool("gpu")
        await applying.apply(client, [pools.base("gpu", 2)])
        document = priority("mine", **MINE)
        await cleaner.refuse_others(document)
        await client.create(PRIORITY_CLASSES, document)
        await cleaner.refuse_others(document)
        assert await names(client, NODES) == {"others-0", "gpu-0", "gpu-1"}

        await cleaner.clean()
        assert (await names(client, NAMESPACES), await names(client, PRIORITY_CLASSES)) == before
        assert await names(client, NODES) == {"others-0"}

    in_a_lab(story)


def test_what_is_missing_is_the_runs_and_what_is_there_stays_as_it_is() -> None:
    async def story(client: Client, cleaner: Cleaner) -> None:
        theirs = await client.create(PRIORITY_CLASSES, priority("train"))
        await cleaner.create_missing([priority("train"), priority("build")])
        made = await client.get(PRIORITY_CLASSES, "build")
        assert made["metadata"]["labels"] == MINE
        await cleaner.clean()
        assert "build" not in await names(client, PRIORITY_CLASSES)
        assert await client.get(PRIORITY_CLASSES, "train") == theirs

    in_a_lab(story)


def test_it_knows_its_own_nodes_by_name_and_a_pool_that_was_never_made_is_no_trouble() -> None:
    async def story(client: Client, cleaner: Cleaner) -> None:
        await cleaner.refuse_others_pool("gpu", size=2)
        assert [name for name in ("gpu-0", "gpu-1", "gpu-2", "gpu") if cleaner.has_node(name)] == ["gpu-0", "gpu-1"]
        await cleaner.clean()

    in_a_lab(story)


def test_what_others_have_is_not_taken_over() -> None:
    async def story(client: Client, cleaner: Cleaner) -> None:
        await applying.apply(client, [pools.base("gpu", 1)])
        await client.create(PRIORITY_CLASSES, priority("theirs"))
        with pytest.raises(UsageError, match="the lab has a pool gpu of its own: take another lab, or"):
            await cleaner.refuse_others_pool("gpu")
        with pytest.raises(UsageError, match="the lab has a PriorityClass theirs that the run did not make"):
            await cleaner.refuse_others(priority("theirs"))
        await cleaner.clean()
        assert await names(client, NODES) == {"gpu-0"}
        assert "theirs" in await names(client, PRIORITY_CLASSES)

    in_a_lab(story)


def test_what_does_not_go_away_is_told() -> None:
    async def story(client: Client, cleaner: Cleaner) -> None:
        await installing.ensure_namespace(client, "mine", labels=MINE)
        stuck = {"metadata": {"name": "stuck", "namespace": "mine", "finalizers": ["example.com/never"]}}
        await client.create(CONFIG_MAPS, stuck)
        await cleaner.create_missing([priority("mine")])
        await cleaner.refuse_others_pool("gpu")
        await applying.apply(client, [pools.base("gpu", 1)])
        with pytest.raises(EngineError) as caught:
            await cleaner.clean()
        assert str(caught.value) == (
            "namespaces of the run did not go away within 5 s: mine; "
            "see `kubectl get namespaces -l kubedyno/run=r1 -o yaml`"
        )
        # All the rest is gone nevertheless.
        assert "mine" not in await names(client, PRIORITY_CLASSES)
        assert await names(client, NODES) == set()

    in_a_lab(story)
