"""The load of a whole cluster on an API server in this process, in virtual time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.yard import Yard, failing, lost, run_in_yard

from kubedyno.kit import randomness
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CRDS, LEASES, NAMESPACES, NODE_RESOURCE_TOPOLOGIES, PODS, SERVICE_ACCOUNTS
from kubedyno.schedulers import SCHEDULERS
from kubedyno.workload.asking import AGENTS, NO_ANSWER
from kubedyno.workload.mixing import Mix
from kubedyno.workload.mixing import Yard as Place

pytestmark = pytest.mark.unit

NRTS = NODE_RESOURCE_TOPOLOGIES[0]
NAMESPACE = "load"
REPORT: Object = {
    "apiVersion": NRTS.api_version,
    "kind": NRTS.kind,
    "metadata": {"name": "n"},
    "topologyPolicies": ["SingleNUMANodeContainerLevel"],
    "zones": [
        {
            "name": "node-0",
            "type": "Node",
            "resources": [{"name": "cpu", "capacity": "8", "allocatable": "8", "available": "8"}],
        }
    ],
}


@contextlib.asynccontextmanager
async def mixing(world: Yard, *, report: Object | None = REPORT, cost_s: float = 0.0) -> AsyncIterator[Any]:
    """A prepared load of two clients on three nodes, with the connection of the first."""
    for definition in SCHEDULERS.get("reference").definitions():
        await world.client.create(CRDS, definition)
    await world.sleep(2)  # until the kind is served
    await world.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    await world.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": NAMESPACE}})
    for name in ("a", "b", "c"):
        await world.node(name)
    (first, connection), (second, _) = world.connect(cost_s=cost_s), world.connect(cost_s=cost_s)
    place = Place(namespace=NAMESPACE, nodes=("a", "b", "c"), report=report, labels={"kubedyno/load": "x"})
    mix = Mix([first, second], place, clock=world.clock, rng=randomness.stream(1, "mix"))
    await mix.prepare()
    yield mix, connection
    await mix.clear()


async def left(world: Yard) -> list[str]:
    """What is there of the load."""
    found = []
    for resource, namespace in ((PODS, NAMESPACE), (LEASES, NAMESPACE), (NRTS, None)):
        found += [one["metadata"]["name"] for one in (await world.client.list_all(resource, namespace=namespace)).items]
    return found


def test_all_parties_ask_at_the_rate_and_nothing_is_left() -> None:
    async def story(world: Yard) -> None:
        async with mixing(world, cost_s=0.002) as (mix, _):
            mixed = await mix.run(200.0, 5.0)
            assert (mixed.planned, mixed.sent, mixed.errors, mixed.first_error) == (1000, 1000, {}, "")
            assert mixed.achieved == pytest.approx(200.0)
            assert {party for party, _ in mixed.samples} == set(AGENTS)
            assert mixed.by_verb().keys() == {"GET", "LIST", "PUT", "POST", "PATCH", "DELETE", "WATCH"}
            assert min(mixed.samples["kubelet", "PUT"]) >= 0.002
            assert len(mixed.samples["kubelet", "PUT"]) > len(mixed.samples["exporter", "PATCH"]) > 100
            assert mixed.watched_bytes > 0
            assert await mix.probe() == pytest.approx(0.002, abs=0.001)
            assert (await mix.run(50.0, 1.0)).errors == {}
        assert await left(world) == []

    run_in_yard(story)


def test_without_reports_no_exporter_asks() -> None:
    async def story(world: Yard) -> None:
        async with mixing(world, report=None) as (mix, _):
            mixed = await mix.run(100.0, 3.0)
            assert "exporter" not in {party for party, _ in mixed.samples}
            assert (await world.client.list_all(NRTS)).items == []

    run_in_yard(story)


def test_what_the_server_answers_is_counted_by_code_and_tried_once() -> None:
    async def story(world: Yard) -> None:
        async with mixing(world) as (mix, connection):

            def fate(method: str, path: str) -> Any:
                return {"PUT": failing(503), "PATCH": lost()}.get(method)

            connection.fate = fate
            mixed = await mix.run(100.0, 4.0)
            connection.fate = None
            assert set(mixed.errors) == {"503", NO_ANSWER}
            assert mixed.sent == 400
            assert mixed.first_error
            assert ": 503 no" in mixed.first_error or "broke the connection" in mixed.first_error
            # A kubelet whose renewal failed reads its lease, and goes on.
            assert (await mix.run(100.0, 2.0)).errors == {}

    run_in_yard(story)


def test_a_server_that_is_away_has_no_probe() -> None:
    async def story(world: Yard) -> None:
        async with mixing(world) as (mix, _):
            answers = [lost(), lost(), failing(500), failing(500)]
            connections = [client["kubelet"].transport for client in mix._asker._clients]
            for connection in connections:
                connection.fate = lambda *_: answers.pop()
            assert [await mix.probe() for _ in range(4)] == [None] * 4
            for connection in connections:
                connection.fate = None

    run_in_yard(story)


def test_a_load_that_is_interrupted_leaves_no_task_behind() -> None:
    async def story(world: Yard) -> None:
        async with mixing(world, cost_s=0.01) as (mix, _):
            before = len(asyncio.all_tasks())
            running = asyncio.create_task(mix.run(100.0, 60.0))
            await world.sleep(2.0)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            assert len(asyncio.all_tasks()) == before
        assert await left(world) == []

    run_in_yard(story)
