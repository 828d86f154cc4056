"""The builtin kubelet on the embedded engine, all in one process: nodes until Ready, bound pods until Running."""

import asyncio
import time

from embedded_load import run
from result import Result, against_value

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.kube import codec
from kubedyno.kube.resources import NODES, PODS, Resource
from kubedyno.lab import installing
from kubedyno.plane.site import PROFILES
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim.pools import applying
from kubedyno.sim.pools.pool import Pool
from kubedyno.sim.simulating import Instruments, Simulation, simulate

NODE_COUNT = 10_000
POD_COUNT = 50_000
READY_TARGET_S = 5.0
RATE_TARGET, RATE_GOAL = 2000, 5000

_CREATORS = 16
_SIMULATION = Simulation(lease_s=PROFILES["scale"].lease_s)
"""As on a lab that does not say otherwise."""
_STREAM_S = 600.0
_RUNNING = b'"phase":"Running"'
_READY = b'{"type":"ADDED"'  # nodes are born ready


def nodes() -> list[Result]:
    """10,000 nodes until Ready, and 50,000 bound pods until Running, on the embedded engine."""
    ready_s, usable_s, rate = run(_measured)
    return [
        against_value("embedded-nodes-ready", [ready_s], unit="s", limit=READY_TARGET_S),
        against_value("embedded-nodes-usable", [usable_s], unit="s", limit=float("inf")),
        against_value(
            "embedded-pods-running", [rate], unit="pods/s", limit=RATE_TARGET, goal=RATE_GOAL, better="higher"
        ),
    ]


async def _measured() -> tuple[float, float, float]:
    """(Seconds until all nodes are Ready, until a scheduler may use them, pods a second from bound to Running)."""
    clock = RealClock()
    client = Client(InProcess(new_api(clock=clock, seed=0), clock=clock), clock=clock)
    instruments = Instruments()
    async with tasks.owning() as group:
        controllers = run_controllers(
            client.known_as("controllers"), clock=clock, seed=0, settings=ControllerSettings()
        )
        running = group.create_task(controllers)
        kubelets = group.create_task(simulate(client.known_as("kubelet"), _SIMULATION, instruments, clock=clock))
        await installing.await_service_account(client, "default")
        ready = group.create_task(_seen(client, NODES, _READY, NODE_COUNT))
        await asyncio.sleep(0)
        begun_s = time.perf_counter()
        await applying.apply(client, [Pool(name="bench", count=NODE_COUNT, gpus=8)])
        usable_s = time.perf_counter() - begun_s
        ready_s = (await ready)[1] - begun_s
        kubelets.cancel()
        await _bind(client)
        counting = group.create_task(_seen(client, PODS, _RUNNING, POD_COUNT))
        kubelets = group.create_task(simulate(client.known_as("kubelet"), _SIMULATION, Instruments(), clock=clock))
        first_s, last_s = await counting  # what new kubelets read before is not counted
        for task in (running, kubelets):
            task.cancel()
    return ready_s, usable_s, POD_COUNT / (last_s - first_s)


async def _seen(client: Client, resource: Resource, mark: bytes, count: int) -> tuple[float, float]:
    """When the first event with `mark` came, and when so many had.

    Events are not decoded: only their number matters, and it is the same process.
    """
    version = (await client.list(resource, limit=1))["metadata"]["resourceVersion"]
    query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "600"}
    found, begun_s = 0, 0.0
    async with client.stream(resource.path(), query=query, timeout_s=_STREAM_S) as stream:
        async for chunk in stream.chunks:
            found += chunk.count(mark)
            begun_s = begun_s or time.perf_counter()
            if found >= count:
                return begun_s, time.perf_counter()
    raise RuntimeError(f"the watch ended with {found} of {count}")


async def _bind(client: Client) -> None:
    """Create the pods, bound as soon as they are there; nobody starts them yet."""
    pending = iter(range(POD_COUNT))

    async def create() -> None:
        for number in pending:
            await client.create(PODS, _pod(number), namespace="default")

    async with asyncio.TaskGroup() as group:
        for _ in range(_CREATORS):
            group.create_task(create())


def _pod(number: int) -> bytes:
    container = {"name": "worker", "image": "registry.example/worker:1", "resources": {"requests": {"cpu": "1"}}}
    return codec.encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number:05d}", "namespace": "default", "labels": {"app": "bench"}},
            "spec": {"nodeName": f"bench-{number % NODE_COUNT}", "containers": [container]},
        }
    )
