"""The builtin kubelet on the embedded engine, all in one process: nodes until Ready, bound pods until Running."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from embedded_load import run
from result import Result, against_value

from kubedyno.client.rest import Client
from kubedyno.client.watching import Changed, Watch
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.kube import codec, meta
from kubedyno.kube.resources import NODES, PODS
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
        ready = group.create_task(_when(client, NODES, NODE_COUNT, lambda node: meta.is_condition_true(node, "Ready")))
        await asyncio.sleep(0)
        begun_s = time.perf_counter()
        await applying.apply(client, [Pool(name="bench", count=NODE_COUNT, gpus=8)])
        usable_s = time.perf_counter() - begun_s
        ready_s = await ready - begun_s
        kubelets.cancel()
        await _bind(client)
        counting = group.create_task(_count_running(client))
        kubelets = group.create_task(simulate(client.known_as("kubelet"), _SIMULATION, Instruments(), clock=clock))
        run_s = await counting
        for task in (running, kubelets):
            task.cancel()
    return ready_s, usable_s, POD_COUNT / run_s


async def _when(client: Client, resource: Any, count: int, holds: Callable[[Any], bool]) -> float:
    """When so many objects were first seen for which something holds."""
    found: set[str] = set()
    async for event in Watch(client, resource).events():
        if isinstance(event, Changed) and holds(event.object):
            found.add(event.object["metadata"]["name"])
            if len(found) == count:
                return time.perf_counter()
    raise RuntimeError("the watch ended")


async def _bind(client: Client) -> None:
    """Create the pods, bound as soon as they are there; nobody starts them yet."""
    pending = iter(range(POD_COUNT))

    async def create() -> None:
        for number in pending:
            await client.create(PODS, _pod(number), namespace="default")

    async with asyncio.TaskGroup() as group:
        for _ in range(_CREATORS):
            group.create_task(create())


async def _count_running(client: Client) -> float:
    """Seconds from the first pod that ran to the last; what new kubelets read before is not counted.

    Events are not decoded: only their number matters, and it is the same process.
    """
    version = (await client.list(PODS, limit=1))["metadata"]["resourceVersion"]
    query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "600"}
    running, begun_s = 0, 0.0
    async with client.stream(PODS.path(), query=query, timeout_s=_STREAM_S) as stream:
        async for chunk in stream.chunks:
            running += chunk.count(_RUNNING)
            begun_s = begun_s or time.perf_counter()
            if running >= POD_COUNT:
                return time.perf_counter() - begun_s
    raise RuntimeError(f"the watch ended with {running} pods running")


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
