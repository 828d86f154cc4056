"""The embedded engine over HTTPS, against real kube-apiserver and etcd without fsync: same client, same bodies.

No nodes and no scheduler, so kubelets idle; admission, validation and controllers are on in both. The client runs in
this process, the servers in theirs, watchers in a third.
"""

import itertools
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from client_create import NAMESPACE
from embedded_load import beside, connected, count_events, flood, lasting, paced, pods, run
from result import Result, against_ratio

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.lab import installing
from labs import Lab, Side, both_engines, by_turns

CONCURRENCIES = (1, 8, 32)
CREATE_S = 1.0
CREATE_REPEATS = 3
CREATE_TARGET, CREATE_GOAL = 3.0, 5.0

WATCHERS = 10
WATCH_PODS = {True: 1500, False: 600}
"""By whether the pods are alike: others take longer."""
WATCH_CONCURRENCY = 16
WATCH_REPEATS = 3
WATCH_TARGET = 3.0

RATE = 100.0
"""Creates per second: so few that the real server is not at its limit on two cores, where any other would win."""
PACED_S = 5.0
PACED_REPEATS = 3
PACED_CONNECTIONS = 64

_BODIES = {"alike": True, "distinct": False}

Found = dict[Side, list[float]]


def create() -> list[Result]:
    """Pod creates per second over HTTPS, against the real API server."""
    found: dict[str, Found] = {}
    with _labs() as labs:
        # The first round is the servers' first meeting with such pods: it is dropped.
        for repeat in range(CREATE_REPEATS + 1):
            for (words, alike), concurrency in itertools.product(_BODIES.items(), CONCURRENCIES):
                for side in by_turns(repeat):
                    rate = run(lambda: _create(labs[side].kubeconfig, concurrency, alike=alike))  # noqa: B023 - at once
                    if repeat:
                        _note(found, f"embedded-create-{words}-{concurrency}", side, rate)
    return [
        against_ratio(
            name,
            rates["ours"],
            rates["peer"],
            unit="creates/s",
            limit=CREATE_TARGET,
            goal=CREATE_GOAL,
            better="higher",
        )
        for name, rates in found.items()
    ]


async def _create(path: Path, concurrency: int, *, alike: bool) -> float:
    async with Client.connect(kubeconfig.load(path), connections=concurrency) as client:
        await connected(client, concurrency)
        return await flood(client, lasting(pods(_fresh(), alike=alike), CREATE_S), concurrency=concurrency)


def watch() -> list[Result]:
    """Watch events delivered per second to ten watchers while pods are created, against the real API server."""
    found: dict[str, Found] = {}
    with _labs() as labs:
        for repeat in range(WATCH_REPEATS):
            for words, alike in _BODIES.items():
                for side in by_turns(repeat):
                    _note(found, f"embedded-watch-{words}", side, _watch(labs[side].kubeconfig, alike=alike))
    return [
        against_ratio(name, rates["ours"], rates["peer"], unit="events/s", limit=WATCH_TARGET, better="higher")
        for name, rates in found.items()
    ]


def _watch(path: Path, *, alike: bool) -> float:
    count = WATCH_PODS[alike]

    async def load() -> float:
        async with Client.connect(kubeconfig.load(path), connections=WATCH_CONCURRENCY) as client:
            await connected(client, WATCH_CONCURRENCY)
            begun_s = time.perf_counter()
            bodies = itertools.islice(pods(_fresh(), alike=alike), count)
            await flood(client, bodies, concurrency=WATCH_CONCURRENCY)
            return begun_s

    with beside(count_events, path, WATCHERS, count) as watchers:
        watchers.next()
        begun_s: float = run(load)
        ended_s: float = watchers.next()
    return WATCHERS * count / (ended_s - begun_s)


def latency() -> list[Result]:
    """The 99th percentile of create latency at a fixed rate over HTTPS, against the real API server."""
    found: dict[str, Found] = {}
    with _labs() as labs:
        for repeat in range(PACED_REPEATS):
            for words, alike in _BODIES.items():
                for side in by_turns(repeat):
                    p99_s = run(lambda: _p99(labs[side].kubeconfig, alike=alike))  # noqa: B023 - run at once
                    _note(found, f"embedded-latency-{words}", side, p99_s * 1000)
    return [
        against_ratio(name, values["ours"], values["peer"], unit="ms p99", limit=1.0, better="lower")
        for name, values in found.items()
    ]


async def _p99(path: Path, *, alike: bool) -> float:
    bodies = list(itertools.islice(pods(_fresh(), alike=alike), int(RATE * PACED_S)))
    async with Client.connect(kubeconfig.load(path), connections=PACED_CONNECTIONS) as client:
        await connected(client, PACED_CONNECTIONS)
        return statistics.quantiles(await paced(client, bodies, rate=RATE), n=100)[-1]


@contextmanager
def _labs() -> Iterator[dict[Side, Lab]]:
    async def prepare(path: Path) -> None:
        async with Client.connect(kubeconfig.load(path)) as client:
            await installing.ensure_namespace(client, NAMESPACE)

    with both_engines("--scheduler", "none") as labs:
        for lab in labs.values():
            run(lambda: prepare(lab.kubeconfig))  # noqa: B023 - run at once
        yield labs


def _note(found: dict[str, Found], name: str, side: Side, value: float) -> None:
    found.setdefault(name, {"ours": [], "peer": []})[side].append(value)


def _fresh() -> str:
    """A prefix for names that no pod has yet."""
    return f"p{time.monotonic_ns():x}"
