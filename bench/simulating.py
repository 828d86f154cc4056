"""The builtin kubelet against real KWOK, by turns on one real control plane: nodes, pods, deletion, leases."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
from embedded_load import Heard, beside, connected, flood, run
from result import Result, against_ratio, against_value

from kubedyno.client import kubeconfig
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.client.watching import Changed, Listed, Watch
from kubedyno.kit.clock import RealClock, parse_rfc3339_ns, rfc3339
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube import codec, meta
from kubedyno.kube.resources import LEASES, NODES, PODS
from kubedyno.lab import installing
from kubedyno.plane import provisioning
from kubedyno.plane.ports import LOOPBACK, free_ports
from kubedyno.sim.pools import applying, nodes
from kubedyno.sim.pools.pool import Pool, base
from kubedyno.sim.stages.sets import default_stages
from labs import Lab, Side, by_turns, lab

NODE_COUNT = 5000
POD_COUNT = 2000
CREATORS = 32
LEASE_S = 40
HOLD_S = 120.0
SETTLED_S = 15.0
REPEATS = 2

NAMESPACE = "kubedyno-bench-simulating"
_POOL = "bench"
_AGAIN_S = 0.2


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """What one side did in one round."""

    ready_s: float
    run_s: float
    run_p99_s: float
    run_cpu_ms: float
    delete_s: float
    delete_p99_s: float
    delete_cpu_ms: float
    late_leases: int
    lease_cpu_s: float
    """CPU of API server, etcd and controllers in a minute of heartbeats and nothing else."""
    memory_kib: float
    """Resident memory of the simulator per node, beyond what it has without nodes."""


def simulate() -> list[Result]:
    """5,000 nodes, 2,000 pods, deletion and leases, against KWOK."""
    rounds: dict[Side, list[Round]] = {"ours": [], "peer": []}
    kwok = run(_kwok)
    with lab("--engine", "local", "--scheduler", "none", "--kubelet", "none", "--heartbeats", f"{LEASE_S}s") as made:
        for repeat in range(REPEATS):
            for side in by_turns(repeat):
                rounds[side].append(_round(made, side, kwok))
    return [
        *(
            _compared(f"simulate-{name}", rounds, field, unit)
            for name, field, unit in (
                ("nodes-ready", "ready_s", "s"),
                ("pods-running", "run_s", "s"),
                ("pods-running-p99", "run_p99_s", "s"),
                ("pods-running-cpu", "run_cpu_ms", "ms CPU/pod"),
                ("pods-deleted", "delete_s", "s"),
                ("pods-deleted-p99", "delete_p99_s", "s"),
                ("pods-deleted-cpu", "delete_cpu_ms", "ms CPU/pod"),
                ("lease-cpu", "lease_cpu_s", "s CPU/minute"),
            )
        ),
        against_value(
            "simulate-late-leases",
            [float(one.late_leases) for one in rounds["ours"]],
            [float(one.late_leases) for one in rounds["peer"]],
            unit="leases",
            limit=1,
        ),
        against_value(
            "simulate-idle-node",
            [one.memory_kib for one in rounds["ours"]],
            [one.memory_kib for one in rounds["peer"]],
            unit="KiB",
            limit=8,
        ),
    ]


def _compared(name: str, rounds: dict[Side, list[Round]], field: str, unit: str) -> Result:
    ours, peer = ([float(getattr(one, field)) for one in rounds[side]] for side in ("ours", "peer"))
    return against_ratio(name, ours, peer, unit=unit, limit=1.0, better="lower")


async def _kwok() -> Path:
    found = await provisioning.provide(["kwok"], bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    return found["kwok"].path


def _pause(seconds: float) -> None:
    run(lambda: asyncio.sleep(seconds))


def _round(made: Lab, side: Side, kwok: Path) -> Round:
    path = made.kubeconfig
    run(lambda: _emptied(path))
    with _playing(path, side, kwok) as player:
        idle = player.memory_info().rss
        ready_s = _make_nodes(path, side)
        _pause(SETTLED_S)
        memory_kib = (player.memory_info().rss - idle) / NODE_COUNT / 1024
        with beside(_follow_leases, path) as leases:
            leases.next()
            begun_s = time.monotonic()
            cpu_s = made.server_cpu_s()
            _pause(60)
            cpu_s = made.server_cpu_s() - cpu_s
            run_s, run_p99_s, run_cpu_ms = _run_pods(path, player)
            delete_s, delete_p99_s, delete_cpu_ms = _delete_pods(path, player)
            _pause(max(0.0, begun_s + HOLD_S - time.monotonic()))
            late, _ = _renewals(leases)
    return Round(
        ready_s=ready_s,
        run_s=run_s,
        run_p99_s=run_p99_s,
        run_cpu_ms=run_cpu_ms,
        delete_s=delete_s,
        delete_p99_s=delete_p99_s,
        delete_cpu_ms=delete_cpu_ms,
        late_leases=late,
        lease_cpu_s=cpu_s,
        memory_kib=memory_kib,
    )


@contextlib.contextmanager
def _playing(path: Path, side: Side, kwok: Path) -> Iterator[psutil.Process]:
    """The simulator as a process of its own, for the duration of the block."""
    port = free_ports()()
    if side == "ours":
        command = [sys.executable, "-m", "kubedyno", "simulate", f"--kubeconfig={path}", f"--port={port}"]
        command += [f"--lease-seconds={LEASE_S}"]
    else:
        command = [str(kwok), f"--kubeconfig={path}", "--manage-all-nodes=true", f"--node-ip={LOOPBACK}"]
        command += [f"--node-lease-duration-seconds={LEASE_S}", f"--server-address={LOOPBACK}:{port}"]
        command += [f"--config={file}" for file in default_stages()]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _pause(5)
        if child.poll() is not None:
            raise RuntimeError(f"{command[0]} ended with {child.returncode}")
        yield psutil.Process(child.pid)
    finally:
        child.terminate()
        child.wait()


def _make_nodes(path: Path, side: Side) -> float:
    """Seconds from the first create until all nodes are Ready: as our pools make them, or a bare loop."""
    pool = base(_POOL, NODE_COUNT)
    with beside(_follow_ready, path, NODE_COUNT) as watcher:
        watcher.next()
        begun_s: float = run(lambda: _apply(path, pool) if side == "ours" else _create(path, pool))
        ready_s: float = watcher.next()
    return ready_s - begun_s


async def _apply(path: Path, pool: Pool) -> float:
    async with Client.connect(kubeconfig.load(path)) as client:
        begun_s = time.perf_counter()
        await applying.apply(client, [pool])
        return begun_s


async def _create(path: Path, pool: Pool) -> float:
    """The same nodes without what their kubelet says: KWOK does."""
    bodies = []
    for node in nodes.nodes(pool, now=rfc3339(RealClock().wall_ns())):
        node["status"] = {key: node["status"][key] for key in ("capacity", "allocatable", "nodeInfo")}
        bodies.append(codec.encode(node))
    pending = iter(bodies)
    async with Client.connect(kubeconfig.load(path)) as client:
        await connected(client, CREATORS)

        async def work() -> None:
            for body in pending:
                await client.create(NODES, body)

        begun_s = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(CREATORS):
                group.create_task(work())
        return begun_s


async def _follow_ready(tell: Callable[[Any], None], path: Path, count: int) -> None:
    """Tells `ready`, then the time when so many nodes were Ready."""
    ready: set[str] = set()
    async with Client.connect(kubeconfig.load(path)) as client:
        async for event in Watch(client, NODES).events():
            if isinstance(event, Listed):
                tell("ready")
                continue
            if meta.is_condition_true(event.object, "Ready"):
                ready.add(event.object["metadata"]["name"])
                if len(ready) == count:
                    tell(time.perf_counter())


def _cpu_s(player: psutil.Process) -> float:
    return sum(player.cpu_times()[:2])


Timed = tuple[float, float, float]


def _timed(
    path: Path, player: psutil.Process, follow: Callable[..., Any], act: Callable[[Path], Coroutine[Any, Any, float]]
) -> Timed:
    """Seconds until all that `act` asks for was seen by `follow`, 99th percentile of the pods, CPU ms per pod."""
    with beside(follow, path, POD_COUNT) as watcher:
        watcher.next()
        cpu_s = _cpu_s(player)
        begun_s: float = run(lambda: act(path))
        ended_s, latencies = watcher.next()
        cpu_s = _cpu_s(player) - cpu_s
    return ended_s - begun_s, _p99(latencies), cpu_s * 1000 / POD_COUNT


def _run_pods(path: Path, player: psutil.Process) -> Timed:
    """From the first create to the last Running; the pods' own times are from bound to Running."""
    return _timed(path, player, _follow_running, _load)


def _p99(values: list[float]) -> float:
    return sorted(values)[round(0.99 * (len(values) - 1))]


async def _load(path: Path) -> float:
    bodies = [_pod(number) for number in range(POD_COUNT)]
    async with Client.connect(kubeconfig.load(path), connections=CREATORS) as client:
        await connected(client, CREATORS)
        begun_s = time.perf_counter()
        await flood(client, bodies, concurrency=CREATORS, namespace=NAMESPACE)
        return begun_s


def _pod(number: int) -> bytes:
    """Bound as soon as it is there."""
    container = {
        "name": "worker",
        "image": "registry.example/worker:1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "1"}},
    }
    return codec.encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number:05d}", "namespace": NAMESPACE, "labels": {"app": "bench"}},
            "spec": {"nodeName": f"{_POOL}-{number % NODE_COUNT}", "containers": [container]},
        }
    )


async def _follow_running(tell: Callable[[Any], None], path: Path, count: int) -> None:
    """Tells `ready`, then when so many pods ran, with the seconds that each took since it was there."""
    bound: dict[str, float] = {}
    latencies: dict[str, float] = {}
    async with Client.connect(kubeconfig.load(path)) as client:
        async for event in Watch(client, PODS, namespace=NAMESPACE).events():
            if not isinstance(event, Changed):
                tell("ready")
                continue
            now_s, name = event.monotonic_ns / 1e9, event.object["metadata"]["name"]
            bound.setdefault(name, now_s)
            if event.object["status"].get("phase") == "Running" and name not in latencies:
                latencies[name] = now_s - bound[name]
                if len(latencies) == count:
                    tell((time.perf_counter(), list(latencies.values())))


def _delete_pods(path: Path, player: psutil.Process) -> Timed:
    """From the request until the last pod is gone; the pods' own times are from asked to gone."""
    return _timed(path, player, _follow_gone, _ask_to_go)


async def _ask_to_go(path: Path) -> float:
    async with Client.connect(kubeconfig.load(path)) as client:
        begun_s = time.perf_counter()
        while True:
            try:
                await client.delete_collection(PODS, namespace=NAMESPACE)
            except (ApiError, Unreachable) as error:
                if may_pass(error):
                    continue  # the server gives a walk over a collection one minute
                raise
            return begun_s


async def _follow_gone(tell: Callable[[Any], None], path: Path, count: int) -> None:
    asked: dict[str, float] = {}
    latencies: list[float] = []
    async with Client.connect(kubeconfig.load(path)) as client:
        async for event in Watch(client, PODS, namespace=NAMESPACE).events():
            if not isinstance(event, Changed):
                tell("ready")
                continue
            now_s, name = event.monotonic_ns / 1e9, event.object["metadata"]["name"]
            if event.object["metadata"].get("deletionTimestamp"):
                asked.setdefault(name, now_s)
            if event.type == "DELETED":
                latencies.append(now_s - asked.get(name, now_s))
                if len(latencies) == count:
                    tell((time.perf_counter(), latencies))


def _renewals(leases: Heard) -> tuple[int, int]:
    """How many renewals came later than the lease lasts, and how many there were."""
    os.kill(leases.pid, signal.SIGUSR1)
    late, count = leases.next()
    return late, count


async def _follow_leases(tell: Callable[[Any], None], path: Path) -> None:
    """Tells `ready`; when it gets SIGUSR1, how many renewals came later than the lease lasts, and how many came."""
    renewed: dict[str, int] = {}
    late = count = 0
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: tell((late, count)))
    async with Client.connect(kubeconfig.load(path)) as client:
        async for event in Watch(client, LEASES, namespace="kube-node-lease").events():
            if isinstance(event, Listed):
                tell("ready")
                continue
            at_ns = parse_rfc3339_ns(event.object["spec"]["renewTime"])
            before_ns = renewed.get(event.object["metadata"]["name"], at_ns)
            late += at_ns - before_ns > LEASE_S * 1_000_000_000
            count += 1
            renewed[event.object["metadata"]["name"]] = at_ns


async def _emptied(path: Path) -> None:
    """No pods and no nodes."""
    async with Client.connect(kubeconfig.load(path)) as client:
        await installing.ensure_namespace(client, NAMESPACE)
        while (await client.list(PODS, namespace=NAMESPACE, limit=1))["items"]:
            await client.delete_collection(PODS, namespace=NAMESPACE, grace_s=0)
            await asyncio.sleep(_AGAIN_S)
        await applying.delete(client, [_POOL]) if _POOL in await applying.defined(client) else None
        while (await client.list(NODES, limit=1))["items"]:
            await client.delete_collection(NODES)
            await asyncio.sleep(_AGAIN_S)
        while (await client.list(LEASES, namespace="kube-node-lease", limit=1))["items"]:
            await client.delete_collection(LEASES, namespace="kube-node-lease")
            await asyncio.sleep(_AGAIN_S)
