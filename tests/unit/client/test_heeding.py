"""How much of a change a watch reads: all, its metadata, or nothing."""

import asyncio
from contextlib import aclosing

import pytest

from kubedyno.client.rest import Client
from kubedyno.client.watching import Changed, ChangeType, Glance, Heed, Watch
from kubedyno.kit.clock import RealClock
from kubedyno.kube.resources import CONFIG_MAPS
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

pytestmark = pytest.mark.unit


def heed(kind: ChangeType, glance: Glance, raw: bytes) -> Heed:
    if kind == "DELETED":
        return "metadata"
    assert glance.metadata.name.encode() in raw
    return "not" if b"secret" in raw else "whole"


async def test_only_what_is_heeded_is_read_and_the_version_goes_on() -> None:
    clock = RealClock()
    client = Client(InProcess(new_api(clock=clock, seed=1), clock=clock), clock=clock)

    async def write() -> None:
        for name, text in (("a", "open"), ("b", "secret"), ("c", "open")):
            await client.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": {"x": text}}, namespace="default")
        await client.delete(CONFIG_MAPS, "b", namespace="default")
        await client.create(CONFIG_MAPS, {"metadata": {"name": "d"}}, namespace="default")

    watch = Watch(client, CONFIG_MAPS, namespace="default", heeds=heed)
    seen: list[Changed] = []
    async with aclosing(watch.events()) as events, asyncio.TaskGroup() as group:
        await anext(events)
        group.create_task(write())
        while not seen or seen[-1].object["metadata"]["name"] != "d":
            event = await anext(events)
            assert isinstance(event, Changed)
            seen.append(event)
    assert [(one.type, one.object["metadata"]["name"]) for one in seen] == [
        ("ADDED", "a"),
        ("ADDED", "c"),
        ("DELETED", "b"),
        ("ADDED", "d"),
    ]
    assert seen[0].object["data"] == {"x": "open"}
    gone = seen[2].object
    assert sorted(gone) == ["metadata"]
    assert sorted(gone["metadata"]) == ["name", "namespace", "resourceVersion", "uid"]
    assert watch.counts.changes == 5
