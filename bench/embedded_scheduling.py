"""Real kube-scheduler on the embedded engine, against the same scheduler on the real control plane."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embedded_load import beside, connected, flood, run
from result import Result, against_ratio

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.client.watching import Changed, Watch
from kubedyno.kube import codec
from kubedyno.kube.resources import PODS
from kubedyno.lab import installing
from labs import Lab, Side, both_engines, by_turns

NODES = 100
PODS_COUNT = 1000
CONCURRENCY = 16
REPEATS = 3
RATE_TARGET, RATE_GOAL = 1.5, 2.0
CPU_TARGET, CPU_GOAL = 1 / 3, 1 / 5

NAMESPACE = "kubedyno-bench-scheduling"
_LOOK_EVERY_S = 0.1


def schedule() -> list[Result]:
    """1,000 pods on 100 nodes by real kube-scheduler: pods per second, and CPU of the servers per pod."""
    rates: dict[Side, list[float]] = {"ours": [], "peer": []}
    cpu_ms: dict[Side, list[float]] = {"ours": [], "peer": []}
    with both_engines("--scheduler", "kube-scheduler", "--nodes", str(NODES)) as labs:
        for repeat in range(REPEATS + 1):
            for side in by_turns(repeat):
                rate, cpu_s = _round(labs[side])
                if repeat:  # the first one warms up
                    rates[side].append(rate)
                    cpu_ms[side].append(cpu_s * 1000)
    return [
        against_ratio(
            "embedded-schedule-rate",
            rates["ours"],
            rates["peer"],
            unit="pods bound/s",
            limit=RATE_TARGET,
            goal=RATE_GOAL,
            better="higher",
        ),
        against_ratio(
            "embedded-schedule-cpu",
            cpu_ms["ours"],
            cpu_ms["peer"],
            unit="ms CPU/pod",
            limit=CPU_TARGET,
            goal=CPU_GOAL,
            better="lower",
        ),
    ]


def _round(lab: Lab) -> tuple[float, float]:
    """(Pods per second from the first create to the last bound, server CPU seconds per pod until all run)."""
    run(lambda: _emptied(lab.kubeconfig))
    with beside(follow, lab.kubeconfig, PODS_COUNT) as watcher:
        watcher.next()
        cpu_s = lab.server_cpu_s()
        begun_s: float = run(lambda: _load(lab.kubeconfig))
        bound_s: float = watcher.next()
        watcher.next()
        cpu_s = lab.server_cpu_s() - cpu_s
    return PODS_COUNT / (bound_s - begun_s), cpu_s / PODS_COUNT


async def _load(path: Path) -> float:
    """Create the pods; when that began."""
    bodies = [_pod(f"pod-{number:04d}") for number in range(PODS_COUNT)]
    async with Client.connect(kubeconfig.load(path), connections=CONCURRENCY) as client:
        await connected(client, CONCURRENCY)
        begun_s = time.perf_counter()
        await flood(client, bodies, concurrency=CONCURRENCY, namespace=NAMESPACE)
        return begun_s


def _pod(name: str) -> bytes:
    """Ten of them take a third of a node."""
    return codec.encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "bench"}},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {"name": "worker", "image": "registry.example/worker:1", "resources": {"requests": {"cpu": "1"}}}
                ],
            },
        }
    )


async def _emptied(path: Path) -> None:
    """The namespace without pods."""
    async with Client.connect(kubeconfig.load(path)) as client:
        await installing.ensure_namespace(client, NAMESPACE)
        while (await client.list(PODS, namespace=NAMESPACE, limit=1))["items"]:
            await client.delete_collection(PODS, namespace=NAMESPACE, grace_s=0)
            await asyncio.sleep(_LOOK_EVERY_S)


async def follow(tell: Callable[[Any], None], path: Path, count: int) -> None:
    """Tells `ready`, then the time when so many pods were bound, then when they ran."""
    bound: set[str] = set()
    running: set[str] = set()
    async with Client.connect(kubeconfig.load(path)) as client:
        async for event in Watch(client, PODS, namespace=NAMESPACE).events():
            if not isinstance(event, Changed):
                tell("ready")
                continue
            pod = event.object
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") and name not in bound:
                bound.add(name)
                if len(bound) == count:
                    tell(time.perf_counter())
            if pod["status"].get("phase") == "Running":
                running.add(name)
                if len(running) == count:
                    tell(time.perf_counter())
                    return
