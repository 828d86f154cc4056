"""What the recorder can take, and what it costs: alone before a stub, and beside a run on both engines."""

import asyncio
import os
import resource
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psutil
from aiohttp import web
from client_create import pod_bodies
from embedded_load import beside, flood, run
from result import Result, against_value

from kubedyno.client import kubeconfig
from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S, RealClock
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS
from kubedyno.lab import installing, planning
from kubedyno.lab.programs import provide
from kubedyno.lab.spec import LabSpec, check
from kubedyno.lab.starting import started
from kubedyno.measure import shapes
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.following import Following, following
from kubedyno.measure.lags import Lags
from kubedyno.measure.recorder import Recorder
from kubedyno.measure.spool import Spool
from kubedyno.model.lifecycles import Followed
from kubedyno.plane.ports import free_ports
from kubedyno.schedulers import shows
from kubedyno.schedulers.dialects import DIALECTS
from labs import Lab, lab

RATE = 5000
SECONDS = 8
REPEATS = 3
LAG_LIMIT_MS = 50
CORE_LIMIT = 1.0

MANY_PODS = 200_000
MEMORY_LIMIT_MIB = 1024

RUN_PODS = 2000
NODES = 100
CONCURRENCY = 16
EMBEDDED_LIMIT_PERCENT, LOCAL_LIMIT_PERCENT = 20, 5
NAMESPACE = "kubedyno-bench-recording"

_KIND = Followed(PODS, "pod", shows.pod)
_STEP_S = 0.005
_SENT = "kubedyno/sent"
_ENDS_S = 30.0


def recorder() -> list[Result]:
    """The recorder at 5,000 changes a second, with 200,000 pods, and as a part of what runs cost."""
    lags_ms, cores = [], []
    for _ in range(REPEATS):
        lag_ms, core = _keep_up()
        lags_ms.append(lag_ms)
        cores.append(core)
    with beside(_remember) as remembering:
        memory_mib = remembering.next()
    return [
        against_value("recorder-lag", lags_ms, unit="ms (p99)", limit=LAG_LIMIT_MS),
        against_value("recorder-core", cores, unit="cores", limit=CORE_LIMIT),
        against_value("recorder-memory", [memory_mib], unit="MiB", limit=MEMORY_LIMIT_MIB),
        against_value("recorder-embedded", _embedded_shares(), unit="% of the CPU", limit=EMBEDDED_LIMIT_PERCENT),
        against_value("recorder-local", _local_shares(), unit="% of the CPU", limit=LOCAL_LIMIT_PERCENT),
    ]


def _keep_up() -> tuple[float, float]:
    """(99th percentile of the lag in ms, cores used) while a stub publishes at the rate."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with beside(_publish, listener) as publisher:
        publisher.next()
        listener.close()
        with beside(_listen, url) as listening:
            found: tuple[float, float] = listening.next()
    return found


async def _publish(tell: Callable[[Any], None], listener: socket.socket) -> None:
    """An API server that knows one thing: pods that are created, bound and run, at a fixed rate."""
    _pin(1)
    stub = _Stub()
    app = web.Application()
    app.router.add_get("/api/v1/pods", stub.pods)
    app.router.add_route("*", "/api/v1/namespaces/default/configmaps{tail:.*}", stub.probe)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    tell("ready")
    await asyncio.sleep(3600)


class _Stub:
    def __init__(self) -> None:
        self._version = 10
        self._probes: asyncio.Queue[Object] = asyncio.Queue()

    async def pods(self, request: web.Request) -> web.StreamResponse:
        if not request.query.get("watch"):
            return web.json_response({"metadata": {"resourceVersion": "10"}, "items": []})
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        begun_s, sent = time.perf_counter(), 0
        lines = _lines()
        while sent < RATE * SECONDS:
            await asyncio.sleep(_STEP_S)
            due = int((time.perf_counter() - begun_s) * RATE) - sent
            stamp = b"%d" % time.time_ns()
            chunk = b"".join(self._numbered(next(lines), stamp) for _ in range(due))
            sent += due
            with suppress(ConnectionError):
                await answer.write(chunk)
        await asyncio.sleep(_ENDS_S)
        return answer

    def _numbered(self, line: bytes, stamp: bytes) -> bytes:
        self._version += 1
        return line.replace(b"@version@", b"%d" % self._version).replace(b"@sent@", stamp)

    async def probe(self, request: web.Request) -> web.StreamResponse:
        self._version += 1
        probe: Object = {"metadata": {"name": "probe", "resourceVersion": str(self._version)}}
        if request.method == "PATCH":
            probe |= codec.decode(await request.read())
            self._probes.put_nowait(probe)
        if request.method != "GET":
            return web.json_response(probe)
        if not request.query.get("watch"):
            return web.json_response({"metadata": {"resourceVersion": "10"}, "items": []})
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        with suppress(ConnectionError):  # the recorder is done
            while True:
                changed = {"type": "MODIFIED", "object": await self._probes.get()}
                await answer.write(codec.encode(changed) + b"\n")
        return answer


def _lines() -> Iterator[bytes]:
    """Changes of pods as a real server sends them, about 4 KB each: three for every pod, without end."""
    states = [("ADDED", _pod("Pending", None)), ("MODIFIED", _pod("Pending", "n")), ("MODIFIED", _pod("Running", "n"))]
    templates = [codec.encode({"type": kind, "object": pod}) + b"\n" for kind, pod in states]
    number = 0
    while True:
        number += 1
        for template in templates:
            yield template.replace(b"@number@", b"%08d" % number)


def _pod(phase: str, node: str | None) -> Object:
    pod = codec.decode(pod_bodies(1, prefix="bench")[0])
    now = "2026-01-02T03:04:05Z"
    pod["metadata"] |= {
        "name": "pod-@number@",
        "uid": "@number@-0000-4000-8000-000000000000",
        "resourceVersion": "@version@",
        "creationTimestamp": now,
        "labels": {"kubedyno/workload": "job-@number@"},
        "annotations": {_SENT: "@sent@"},
        "ownerReferences": [{"kind": "Job", "name": "job-@number@", "uid": "job-@number@", "controller": True}],
        "managedFields": [{"manager": "m", "fieldsV1": {f"f:field-{field}": {"f:x": {}} for field in range(60)}}],
    }
    pod["status"] = {"phase": phase}
    if node:
        pod["spec"]["nodeName"] = node
        names = ("PodScheduled", "Initialized", "ContainersReady", "Ready") if phase == "Running" else ("PodScheduled",)
        pod["status"]["conditions"] = [{"type": name, "status": "True", "lastTransitionTime": now} for name in names]
    return pod


async def _listen(tell: Callable[[Any], None], url: str) -> None:
    """Record what the stub publishes; tells the lag and the CPU."""
    _pin(0)
    lags_ns: list[int] = []
    missing, is_all = RATE * SECONDS, asyncio.Event()

    def show(obj: Object) -> Any:
        nonlocal missing
        missing -= 1
        if not missing:
            is_all.set()
        sent_ns[obj["metadata"]["uid"]] = int(obj["metadata"]["annotations"][_SENT])
        return shows.pod(obj)

    def take(row: ObjectRow) -> None:
        lags_ns.append(row.arrival_ns - sent_ns[row.uid])

    sent_ns: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder, Spool(Path(folder)) as spool:
        async with Client.connect(Access(server=url)) as client:
            begun_s, cpu_s = time.perf_counter(), time.process_time()
            kind = Followed(PODS, "pod", show)
            async with following(client, (kind,), spool=spool, sinks=(take,)) as made:
                await is_all.wait()
                share = (time.process_time() - cpu_s) / (time.perf_counter() - begun_s)
                await made.settled()
    lags_ns.sort()
    tell((lags_ns[int(0.99 * len(lags_ns))] / NS_PER_S * 1000, share))


async def _remember(tell: Callable[[Any], None]) -> None:
    """Record so many pods through three changes each, and tell how much memory that took, with all there is to it."""
    shape = shapes.shape_of(PODS)
    lags = Lags()
    with tempfile.TemporaryDirectory() as folder, Spool(Path(folder)) as spool:
        made = Recorder(sinks=(spool.take,), lags=lags)
        track = made.track(_KIND)
        track.listed("1", 1)
        arrival_ns = RealClock().wall_ns()
        for version, line in zip(range(10, 10 + 3 * MANY_PODS), _lines(), strict=False):
            arrival_ns += NS_PER_S // RATE
            frame = shape.frame(line.replace(b"@version@", b"%d" % version))
            track.change(frame.type, frame.object, arrival_ns)  # type: ignore[arg-type] # as the lines say
            if version % (RATE // 10) == 0:
                lags.note_answer(arrival_ns, arrival_ns + 1, version)
                made.settle(arrival_ns)
    tell(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _embedded_shares() -> list[float]:
    """By how many percent of the CPU a run on the embedded engine is dearer with a recorder in its process."""
    shares = []
    for repeat in range(REPEATS):
        cpu_s: dict[bool, float] = {}
        for recorded in (True, False) if repeat % 2 else (False, True):
            with beside(_run_embedded, recorded) as running:
                cpu_s[recorded] = running.next()
        shares.append((cpu_s[True] - cpu_s[False]) / cpu_s[True] * 100)
    return shares


async def _run_embedded(tell: Callable[[Any], None], recorded: bool) -> None:
    """Bring so many pods to run, all in this process; tells the CPU seconds."""
    spec = check(LabSpec(name="bench", engine="embedded", scheduler="reference", nodes=NODES))
    with tempfile.TemporaryDirectory() as folder:
        plan = planning.plan(spec, folder=Path(folder), draw_port=free_ports())
        provided = await provide(plan, cache=cache_dir(), env=os.environ, progress=Quiet())
        async with started(plan, provided=provided, clock=RealClock(), progress=Quiet()) as made:
            await installing.ensure_namespace(made.client, NAMESPACE)
            context = _recording(made.client, Path(folder) / "records") if recorded else nullcontext()
            async with context:
                cpu_s = time.process_time()
                await _load(made.client)
                tell(time.process_time() - cpu_s)


@asynccontextmanager
async def _recording(client: Client, records: Path) -> AsyncIterator[Following]:
    with Spool(records) as spool:
        async with following(client, DIALECTS.get("kube").lifecycle.kinds, spool=spool) as made:
            yield made


def _local_shares() -> list[float]:
    """How many percent of the CPU of a run on the local engine the recorder's process uses."""
    shares = []
    with lab("--engine", "local", "--scheduler", "kube-scheduler", "--nodes", str(NODES)) as made:
        for repeat in range(REPEATS):
            # The lab's own process does nothing but to watch over the others, and to record.
            cpu_s = _cpu_s(made)
            run(lambda: _load_over_http(made.kubeconfig))
            after_s = _cpu_s(made)
            used = {pid: after_s[pid] - cpu_s[pid] for pid in cpu_s}
            if repeat or REPEATS == 1:
                shares.append(used[made.status.owner_pid] / sum(used.values()) * 100)
    return shares


def _cpu_s(made: Lab) -> dict[int, float]:
    pids = {made.status.owner_pid, *(component.pid for component in made.status.components)}
    return {pid: sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids}


async def _load_over_http(path: Path) -> None:
    async with Client.connect(kubeconfig.load(path), connections=CONCURRENCY) as client:
        await installing.ensure_namespace(client, NAMESPACE)
        await _load(client)
        await client.delete_collection(PODS, namespace=NAMESPACE, grace_s=0)


async def _load(client: Client) -> None:
    """Create the pods, and return when all of them run."""
    bodies = [
        codec.encode(
            {
                "metadata": {"name": f"pod-{number}", "labels": {"kubedyno/workload": f"pod-{number}"}},
                "spec": {
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}],
                },
            }
        )
        for number in range(RUN_PODS)
    ]
    await flood(client, bodies, concurrency=CONCURRENCY, namespace=NAMESPACE)
    while True:
        page = await client.list(PODS, namespace=NAMESPACE, field_selector="status.phase!=Running", limit=1)
        if not page["items"]:
            return
        await asyncio.sleep(0.1)


def _pin(core: int) -> None:
    """Use one core only, so that what is measured is one core's worth."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[core % len(cores)]})
