"""Following kinds that the server has, does not have yet, and has no longer."""

import asyncio

import pytest

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import randomness, tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.resources import CRDS, KAI_QUEUES, PRIORITY_CLASSES, Resource
from kubedyno.lab import installing
from kubedyno.model.queues import Queue
from kubedyno.schedulers.dialects.reference import REFERENCE as DIALECT
from kubedyno.schedulers.reference import REFERENCE
from kubedyno.schedulers.reference.watches import LOOK_AGAIN_S, Follower
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

pytestmark = pytest.mark.unit

NEVER = Resource("scheduling.run.ai", "v9", "Queue", "queues", namespaced=False)


def test_a_kind_is_followed_in_the_version_that_is_served_from_when_it_is_on() -> None:
    async def main() -> list[tuple[str, str]]:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=1), clock=clock, cost_s=0.001), clock=clock)
        heard: list[tuple[str, str]] = []
        follower = Follower(
            client,
            (NEVER, KAI_QUEUES),
            lambda change, obj: heard.append((change, obj["metadata"]["name"])),
            rng=randomness.stream(1, "test"),
        )
        async with tasks.owning() as group:
            parts = [
                group.create_task(run_controllers(client, clock=clock, seed=1, settings=ControllerSettings())),
                group.create_task(follower.run()),
            ]
            await follower.looked.wait()
            assert heard == []
            definitions = [one for one in REFERENCE.definitions() if one["spec"]["names"]["kind"] == "Queue"]
            await installing.create_missing(client, definitions)
            await installing.await_crds(client, definitions)
            first, second = DIALECT.queues((Queue(name="a"), Queue(name="b")))
            await client.create(KAI_QUEUES, first)
            await clock.sleep(2 * LOOK_AGAIN_S)
            await client.create(KAI_QUEUES, second)
            await client.patch(KAI_QUEUES, "b", {"spec": {"priority": 7}}, kind="merge")
            await client.delete(KAI_QUEUES, "a")
            await clock.sleep(1)
            await client.delete(CRDS, definitions[0]["metadata"]["name"])
            await clock.sleep(4 * LOOK_AGAIN_S)
            for part in parts:
                part.cancel()
        return heard

    assert tasks.run(main, virtual=True) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "b"),
        ("DELETED", "a"),
        ("DELETED", "b"),
    ]


def test_what_is_there_is_told_before_it_has_looked() -> None:
    async def main() -> list[str]:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=1), clock=clock, cost_s=0.001), clock=clock)
        heard: list[str] = []
        follower = Follower(
            client,
            (PRIORITY_CLASSES,),
            lambda _, obj: heard.append(obj["metadata"]["name"]),
            rng=randomness.stream(1, "test"),
        )
        for obj in REFERENCE.base_objects():
            if obj["kind"] == "PriorityClass":
                await client.create(PRIORITY_CLASSES, obj)
        async with tasks.owning() as group:
            following = group.create_task(follower.run())
            await follower.looked.wait()
            following.cancel()
        return heard

    assert {"train", "build"} <= set(tasks.run(main, virtual=True))
