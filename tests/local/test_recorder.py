"""The recorder on the real server: against its audit log, through its restart, and when we read too slowly."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from tests.labs import lab_in_process

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S, RealClock, parse_rfc3339_ns
from kubedyno.kube.resources import CONFIG_MAPS, PODS
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.following import Following, following
from kubedyno.measure.spool import Spool, read_objects, read_recording
from kubedyno.schedulers.dialects import DIALECTS

pytestmark = pytest.mark.local

NODES = 10
WITHIN_S = 90.0
KINDS = DIALECTS.get("kube").lifecycle.kinds
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """A lab that keeps an audit log, and whose server may be restarted."""
    folder = tmp_path_factory.mktemp("recorder") / "lab"
    async with lab_in_process(folder, scheduler="kube-scheduler", nodes=NODES, audit_log=True) as made:
        yield made


@pytest.fixture
async def namespace(lab: RunningLab) -> str:
    name = f"recorder-{next(_NUMBERS)}"
    await installing.ensure_namespace(lab.client, name)
    return name


@asynccontextmanager
async def recording(lab: RunningLab, spool: Spool) -> AsyncIterator[Following]:
    """The recorder with a client of its own."""
    async with (
        Client.connect(kubeconfig.load(lab.kubeconfig), clock=RealClock()) as client,
        following(client, KINDS, spool=spool) as made,
    ):
        yield made


async def create_pods(client: Client, namespace: str, count: int, *, workload: str, first: int = 0) -> None:
    """Create pods, some at a time."""
    free_hands = asyncio.Semaphore(16)

    async def create(number: int) -> None:
        pod = {
            "metadata": {"name": f"pod-{number}", "labels": {"kubedyno/workload": workload}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}]},
        }
        async with free_hands:
            await client.create(PODS, pod, namespace=namespace)

    async with asyncio.TaskGroup() as group:
        for number in range(first, first + count):
            group.create_task(create(number))


async def reached(made: Following, phase: str, workload: str, count: int) -> None:
    awaited = made.recorder.kept.awaiting(phase, {workload}, count)
    async with asyncio.timeout(WITHIN_S):
        await awaited.reached.wait()


def rows_by_phase(folder: Path, namespace: str) -> dict[tuple[str, str], ObjectRow]:
    """The rows of the pods of a namespace by name and phase; no phase is there twice."""
    found: dict[tuple[str, str], ObjectRow] = {}
    for rows in read_objects(folder):
        for row in rows:
            if row.role == "pod" and row.namespace == namespace:
                assert (row.name, row.phase) not in found
                found[row.name, row.phase] = row
    return found


class _Reference(msgspec.Struct, frozen=True):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _Answer(msgspec.Struct, frozen=True):
    code: int = 0


class _Audited(msgspec.Struct, rename="camel"):
    verb: str
    stage: str
    request_received_timestamp: str
    stage_timestamp: str
    response_status: _Answer = _Answer()
    object_ref: _Reference = _Reference()


def audited(lab: RunningLab, namespace: str) -> Iterator[tuple[str, str, int, int]]:
    """Of the pods of a namespace: name, phase, and from when to when the request took that made it (ns)."""
    decoder = msgspec.json.Decoder(_Audited)
    for path in lab.kubeconfig.parents[1].glob("logs/*-audit.jsonl"):
        for line in path.read_bytes().splitlines():
            entry = decoder.decode(line)
            about = entry.object_ref
            is_ours = about.resource == "pods" and about.namespace == namespace and entry.verb == "create"
            if not is_ours or entry.stage != "ResponseComplete" or entry.response_status.code >= 300:
                continue
            phase = {"": "created", "binding": "scheduled"}.get(about.subresource)
            if phase is not None:
                begun_ns = parse_rfc3339_ns(entry.request_received_timestamp)
                yield about.name, phase, begun_ns, parse_rfc3339_ns(entry.stage_timestamp)


async def test_the_servers_audit_log_agrees_with_the_bounds_of_every_pod(
    lab: RunningLab, namespace: str, tmp_path: Path
) -> None:
    count = 250
    with Spool(tmp_path) as spool:
        async with recording(lab, spool) as made:
            await create_pods(lab.client, namespace, count, workload=namespace)
            await reached(made, "running", namespace, count)
            recorded = await made.prove()
    assert recorded.whole, recorded.proof
    assert recorded.lag is not None
    assert read_recording(spool.folder) == recorded
    rows = rows_by_phase(spool.folder, namespace)
    compared = set()
    disagreeing = []
    for name, phase, begun_ns, ended_ns in audited(lab, namespace):
        row = rows[name, phase]
        compared.add((name, phase))
        assert row.source == "watch"
        assert row.lower_ns is not None
        # The log is cut to microseconds.
        if row.lower_ns > ended_ns + 1000 or row.upper_ns < begun_ns or row.arrival_ns < begun_ns:
            disagreeing.append((name, phase, begun_ns, ended_ns, row))
    assert disagreeing == []
    assert compared == {(f"pod-{number}", phase) for number in range(count) for phase in ("created", "scheduled")}
    assert {name for name, phase in rows if phase == "running"} == {f"pod-{number}" for number in range(count)}
    # The bounds are worth something: they are narrower than the server's own stamps.
    widths = sorted(row.upper_ns - (row.lower_ns or 0) for row in rows.values())
    assert widths[len(widths) // 2] < NS_PER_S
    probes = await lab.client.list_all(CONFIG_MAPS, namespace="default", label_selector="kubedyno/probe")
    assert probes.items == []


async def test_a_restart_of_the_server_is_waited_out_and_loses_no_pod(
    lab: RunningLab, namespace: str, tmp_path: Path
) -> None:
    with Spool(tmp_path) as spool:
        async with recording(lab, spool) as made:
            await create_pods(lab.client, namespace, 60, workload=namespace)
            lab.supervisor.kill("kube-apiserver")
            await lab.supervisor.stop(["kube-apiserver"])
            await lab.supervisor.restart(["kube-apiserver"])
            await create_pods(lab.client, namespace, 60, workload=namespace, first=60)
            await reached(made, "running", namespace, 120)
            recorded = await made.prove()
    rows = rows_by_phase(spool.folder, namespace)
    for phase in ("created", "scheduled", "running"):
        assert {name for name, found in rows if found == phase} == {f"pod-{number}" for number in range(120)}
    for name, phase, begun_ns, ended_ns in audited(lab, namespace):
        row = rows[name, phase]
        assert (row.lower_ns or 0) <= ended_ns + 1000
        assert row.upper_ns >= begun_ns
    pods = next(one for one in recorded.watches if one.resource == "pods")
    assert pods.cuts + pods.relists > 0
    # A new server may not know any more what came after the last version that we saw. Then the recording says so.
    assert recorded.whole is (sum(one.relists for one in recorded.watches) == 0)
    assert recorded.whole or "listed anew" in recorded.proof


async def test_a_reader_that_is_too_slow_misses_nothing(lab: RunningLab, namespace: str, tmp_path: Path) -> None:
    count = 300

    async def create_elsewhere() -> None:
        """From another thread with a loop of its own: this one does not read meanwhile."""

        async def work() -> None:
            async with Client.connect(kubeconfig.load(lab.kubeconfig)) as client:
                await create_pods(client, namespace, count, workload=namespace)

        await asyncio.to_thread(asyncio.run, work())

    with Spool(tmp_path) as spool:
        async with recording(lab, spool) as made:
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(create_elsewhere())
                while not writing.done():
                    await asyncio.sleep(0.05)
                    time.sleep(0.5)  # noqa: ASYNC251, TID251 - the loop is to stand still
            await reached(made, "running", namespace, count)
            recorded = await made.prove()
    assert recorded.whole, recorded.proof
    rows = rows_by_phase(spool.folder, namespace)
    for phase in ("created", "scheduled", "running"):
        assert {name for name, found in rows if found == phase} == {f"pod-{number}" for number in range(count)}
    for name, phase, begun_ns, ended_ns in audited(lab, namespace):
        row = rows[name, phase]
        assert (row.lower_ns or 0) <= ended_ns + 1000
        assert row.upper_ns >= begun_ns
