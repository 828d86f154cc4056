"""Submitting to a real API server, by requests and by kubectl, through storms and restarts: nothing lost or twice."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.faultproxy import FaultProxy, Way, fault_proxy
from tests.labs import lab_in_process

from kubedyno.client import kubeconfig
from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.kit.clock import RealClock
from kubedyno.kit.progress import Quiet
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS, NAMESPACES, PERSISTENT_VOLUME_CLAIMS, RESOURCE_QUOTAS
from kubedyno.lab import installing, selecting, submitting
from kubedyno.lab.selecting import Selection
from kubedyno.lab.starting import RunningLab
from kubedyno.lab.submitting import Asked
from kubedyno.model.submissions import SubmittedFile
from kubedyno.workload import journal
from kubedyno.workload.settings import Settings

from .conftest import User

pytestmark = [
    pytest.mark.local,
    # A proxy that goes away may leave a connection in the middle of its handshake, which asyncio then forgets to close.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

AWAY_S = 4.0


class Desk:
    """Somebody who submits to a namespace of their own, and looks at what is there."""

    def __init__(self, lab: RunningLab, folder: Path, namespace: str) -> None:
        self.lab = lab
        self.folder = folder
        self.namespace = namespace

    async def submit(self, *, resume: bool = False, settings: Settings | None = None, **given: Any) -> SubmittedFile:
        asked = Asked(
            given=given if resume else {"namespace": self.namespace, **given},
            settings=settings or Settings(),
            selection=Selection(kubeconfig=self.lab.kubeconfig),
            scheduler=None if resume else "job",
        )
        clock = RealClock()
        opening = (
            submitting.resumed(asked, self.folder, clock=clock, progress=Quiet())
            if resume
            else submitting.begun(
                asked, self.folder, submission_id=f"s{secrets.token_hex(3)}", clock=clock, progress=Quiet()
            )
        )
        async with opening as sitting:
            try:
                await sitting.submission.run()
            finally:
                sitting.journal.write_file()
        return journal.read_file(self.folder / journal.SUBMITTED)

    async def all(self, resource: Any = JOBS) -> list[Object]:
        return (await self.lab.client.list_all(resource, namespace=self.namespace)).items

    async def all_there_once(self, file: SubmittedFile, count: int) -> None:
        jobs = await self.all()
        assert sorted(Counter(job["metadata"]["name"] for job in jobs).values()) == [1] * count
        uids = {job["metadata"]["name"]: job["metadata"]["uid"] for job in jobs}
        assert {workload.name: workload.uid for workload in file.workloads} == uids


async def desk_on(lab: RunningLab, folder: Path) -> Desk:
    namespace = f"submit-{secrets.token_hex(3)}"
    await installing.ensure_namespace(lab.client, namespace)
    return Desk(lab, folder, namespace)


@pytest.fixture
async def desk(shared_lab: RunningLab, tmp_path: Path) -> AsyncIterator[Desk]:
    somebody = await desk_on(shared_lab, tmp_path / "out")
    yield somebody
    await shared_lab.client.delete(NAMESPACES, somebody.namespace)


@asynccontextmanager
async def through(proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """All that is submitted goes through the proxy."""

    @asynccontextmanager
    async def selected(*_: Any, **more: Any) -> AsyncIterator[Client]:
        more.pop("env", None)
        async with Client.connect(proxy.access, **more) as client:
            yield client

    with monkeypatch.context() as patched:
        patched.setattr(selecting, "selected", selected)
        yield


def access_of(lab: RunningLab) -> Access:
    return kubeconfig.load(lab.kubeconfig)


async def test_a_rate_is_kept_on_a_real_server(desk: Desk) -> None:
    file = await desk.submit(num_workloads=60, rate_per_s=30.0)
    await desk.all_there_once(file, 60)
    assert file.pace is not None
    assert file.pace.asked_per_s == 30
    recording = msgspec.json.decode((desk.folder / "records" / "1" / "recording.json").read_bytes())
    assert recording["whole"], recording["proof"]


@pytest.mark.parametrize("way", ["429", "500", "409", "reset", "lost answer"])
async def test_a_storm_loses_nothing_and_makes_nothing_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: Way
) -> None:
    async with fault_proxy(access_of(desk.lab), tmp_path) as proxy, through(proxy, monkeypatch):
        proxy.fail(way, share=0.4)
        file = await desk.submit(num_workloads=40, num_processes=10, pvc=True)
        assert proxy.counts[way] > 10
    assert [workload.error for workload in file.workloads] == [None] * 40
    await desk.all_there_once(file, 40)
    assert len(await desk.all(PERSISTENT_VOLUME_CLAIMS)) == 40


async def test_a_server_that_goes_away_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with fault_proxy(access_of(desk.lab), tmp_path) as proxy, through(proxy, monkeypatch):
        submission = asyncio.ensure_future(desk.submit(num_workloads=80, rate_per_s=20.0))
        await asyncio.sleep(1.5)
        await proxy.go_away()
        await asyncio.sleep(AWAY_S)
        await proxy.come_back()
        file = await submission
    await desk.all_there_once(file, 80)
    assert [workload.error for workload in file.workloads] == [None] * 80


async def test_an_interruption_in_an_outage_is_gone_on_with(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with fault_proxy(access_of(desk.lab), tmp_path) as proxy, through(proxy, monkeypatch):
        submission = asyncio.ensure_future(desk.submit(num_workloads=60, num_processes=5, delay_s=0.1))
        await asyncio.sleep(0.8)
        proxy.fail("lost answer", share=1.0)
        await asyncio.sleep(0.5)
        submission.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submission
        before = journal.read_folder(desk.folder)
        assert before.ended_at is None
        proxy.fail(None)
        file = await desk.submit(resume=True)
    await desk.all_there_once(file, 60)
    assert file.ended_at is not None


async def test_a_restart_of_the_server_in_the_middle_is_waited_out(tmp_path: Path) -> None:
    async with lab_in_process(tmp_path / "lab", scheduler="none", kubelet="none") as lab:
        desk = await desk_on(lab, tmp_path / "out")
        submission = asyncio.ensure_future(desk.submit(num_workloads=120, rate_per_s=20.0))
        await asyncio.sleep(1.5)
        lab.supervisor.kill("kube-apiserver")
        await asyncio.sleep(1.0)
        await lab.supervisor.restart(["kube-apiserver"])
        file = await submission
        assert [workload.error for workload in file.workloads] == [None] * 120
        await desk.all_there_once(file, 120)
        assert file.ended_at is not None


async def test_a_quota_refuses_some_and_the_rest_goes_on(desk: Desk) -> None:
    hard = {"count/jobs.batch": "5"}
    quota = {"metadata": {"name": "q", "namespace": desk.namespace}, "spec": {"hard": hard}}
    await desk.lab.client.create(RESOURCE_QUOTAS, quota)
    try:
        async with asyncio.timeout(30):
            while not (await desk.all(RESOURCE_QUOTAS))[0].get("status"):  # noqa: ASYNC110 - the real controller does it
                await asyncio.sleep(0.05)
        file = await desk.submit(num_workloads=12)
    finally:
        await desk.lab.client.delete(RESOURCE_QUOTAS, "q", namespace=desk.namespace)
    errors = [workload.error for workload in file.workloads if workload.error is not None]
    assert len(errors) == 7
    assert all("exceeded quota: q" in error for error in errors)
    assert len(await desk.all()) == 5


@pytest.mark.parametrize("batch", [1, 4])
async def test_kubectl_submits(desk: Desk, kubectl_path: Path, batch: int) -> None:
    settings = Settings(kubectl=str(kubectl_path), kubectl_batch=batch)
    file = await desk.submit(settings=settings, via="kubectl", num_workloads=8, num_processes=4, pvc=True)
    await desk.all_there_once(file, 8)
    assert len(await desk.all(PERSISTENT_VOLUME_CLAIMS)) == 8
    assert all((workload.t_accepted or 0) > workload.t_submit for workload in file.workloads)


async def test_what_kubectl_is_refused_is_on_record(desk: Desk, kubectl_path: Path, tmp_path: Path) -> None:
    template = tmp_path / "job.yaml"
    template.write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: by-kubectl}\n"
        "spec: {parallelism: {{ 1 - index }}, "
        "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
    )
    settings = Settings(kubectl=str(kubectl_path), kubectl_batch=3)
    file = await desk.submit(settings=settings, via="kubectl", num_workloads=3, template=str(template))
    errors = {workload.name[-2:]: workload.error for workload in file.workloads}
    assert errors["-0"] is None
    assert errors["-1"] is None
    assert "must be greater than or equal to 0" in (errors["-2"] or "")
    assert len(await desk.all()) == 2


async def test_kubectl_waits_for_a_server_and_makes_nothing_twice(
    desk: Desk, kubectl_path: Path, tmp_path: Path, script: Callable[[Path, str], Path]
) -> None:
    """A kubectl that every second time loses the answer, and every third time does not reach the server."""
    count = tmp_path / "count"
    fake = script(
        tmp_path / "bin" / "kubectl",
        f"echo x >> {count}\nn=$(wc -l < {count})\n"
        'if [ $((n % 3)) = 0 ]; then echo "The connection to the server here was refused - why?" >&2; exit 1; fi\n'
        f'if [ $((n % 2)) = 0 ]; then {kubectl_path} "$@" > /dev/null; '
        'echo "Unable to connect to the server: EOF" >&2; exit 1; fi\n'
        f'exec {kubectl_path} "$@"',
    )
    settings = Settings(kubectl=str(fake))
    file = await desk.submit(settings=settings, via="kubectl", num_workloads=6, num_processes=1)
    assert [workload.error for workload in file.workloads] == [None] * 6
    await desk.all_there_once(file, 6)


def test_the_seeds_commands_work_to_the_letter(user: User) -> None:
    kubeconfig_file = user.up("--engine", "local", "--nodes", "10")
    user.run("submit", "-t", "training", "-n", "23", "-p", "5", "--delay", "0.2", "-o", "out1")
    user.run("submit", "-t", "distributed", "-n", "3", "--num-workers", "7", "--pvc", "-p", "1", "-o", "out2")
    training, distributed = (journal.read_file(user.home / name / "submitted.json") for name in ("out1", "out2"))
    assert (len(training.workloads), len(distributed.workloads)) == (23, 3)
    assert (training.dialect, distributed.dialect) == ("kube", "kube")
    starts = [round((one.planned_ns - training.workloads[0].planned_ns) / 1e9, 3) for one in training.workloads]
    assert sorted(Counter(starts).values()) == [3, 5, 5, 5, 5]
    jobs = user.kubectl(kubeconfig_file, "get", "jobs", "-l", f"kubedyno/submission={training.id}", "-o", "name")
    assert len(jobs.splitlines()) == 23
    pods = user.kubectl(kubeconfig_file, "get", "pods", "-l", f"kubedyno/submission={distributed.id}", "-o", "name")
    assert len(pods.splitlines()) == 21
    claims = user.kubectl(kubeconfig_file, "get", "pvc", "-o", "name")
    assert len(claims.splitlines()) == 3
