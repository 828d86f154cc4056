"""Sampling on a real API server: with a recording beside it and without, through a restart, evictions and deletions."""

import asyncio
import secrets
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.faultproxy import fault_proxy

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, RealClock, parse_rfc3339_ns
from kubedyno.kit.progress import Quiet
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS, NAMESPACES, PODS
from kubedyno.lab import gathering, installing, submitting
from kubedyno.lab.gathering import Gathered
from kubedyno.lab.sampling import Sampler
from kubedyno.lab.selecting import Selection
from kubedyno.lab.starting import RunningLab
from kubedyno.lab.submitting import Asked
from kubedyno.measure.following import Following
from kubedyno.measure.live import Live
from kubedyno.measure.sampling import summary
from kubedyno.model.samples import SampledFile, WorkloadSample
from kubedyno.schedulers import dialects
from kubedyno.workload.settings import Settings

from .conftest import User

pytestmark = [
    pytest.mark.local,
    # A proxy that goes away may leave a connection in the middle of its handshake, which asyncio then forgets to close.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

AWAY_S = 4.0
WAY = ("submitted", "job", "accepted", "first_pod", "last_bound", "last_running")


class Bench:
    """Somebody who submits to a namespace of their own and samples it."""

    def __init__(self, lab: RunningLab, folder: Path, namespace: str) -> None:
        self.lab = lab
        self.folder = folder
        self.namespace = namespace
        self.earlier: SampledFile | None = None

    async def submit(self, **given: Any) -> None:
        asked = Asked(
            given={"namespace": self.namespace, **given},
            settings=Settings(),
            selection=Selection(kubeconfig=self.lab.kubeconfig),
            scheduler="job",
        )
        async with submitting.begun(
            asked, self.folder, submission_id=f"s{secrets.token_hex(3)}", clock=RealClock(), progress=Quiet()
        ) as sitting:
            try:
                await sitting.submission.run()
            finally:
                sitting.journal.write_file()

    def sampler(self) -> Sampler:
        return Sampler(self.folder, selection=Selection(kubeconfig=self.lab.kubeconfig), clock=RealClock())

    async def sample(self) -> SampledFile:
        sampler = self.sampler()
        self.earlier = sampler.sample(await sampler.look(), self.earlier)
        return self.earlier

    async def until(self, condition: Callable[[WorkloadSample], bool]) -> SampledFile:
        """Sample again and again until it holds for all workloads."""
        async with asyncio.timeout(60):
            while True:
                sampled = await self.sample()
                if all(condition(workload) for workload in sampled.workloads):
                    return sampled
                await asyncio.sleep(0.5)

    async def pods(self) -> list[Object]:
        return (await self.lab.client.list_all(PODS, namespace=self.namespace)).items


@pytest.fixture
async def bench(shared_lab: RunningLab, tmp_path: Path) -> AsyncIterator[Bench]:
    namespace = f"sample-{secrets.token_hex(3)}"
    await installing.ensure_namespace(shared_lab.client, namespace)
    yield Bench(shared_lab, tmp_path / "out", namespace)
    await shared_lab.client.delete(NAMESPACES, namespace)


def _runs(workload: WorkloadSample) -> bool:
    return "last_running" in workload.steps


def _agree(sampled: SampledFile, pods: list[Object]) -> None:
    """Every pod's own stamps allow the times that were sampled of it."""
    workloads = {workload.name: workload for workload in sampled.workloads}
    assert len(pods) == len(workloads)
    for pod in pods:
        steps = workloads[meta.labels(pod)["kubedyno/workload"]].steps
        stamps = {
            "first_pod": pod["metadata"]["creationTimestamp"],
            "last_bound": (meta.condition(pod, "PodScheduled") or {})["lastTransitionTime"],
        }
        for name, stamp in stamps.items():
            begin_ns = parse_rfc3339_ns(stamp)
            assert steps[name].lower_ns <= begin_ns + NS_PER_S, (name, pod["metadata"]["name"])
            assert steps[name].upper_ns >= begin_ns, (name, pod["metadata"]["name"])


async def test_a_recorded_submission_is_exact_and_its_order_is_right(bench: Bench) -> None:
    await bench.submit(num_workloads=20, num_processes=5)
    sampled = await bench.until(_runs)
    assert sampled.general == WAY
    assert [workload.errors for workload in sampled.workloads] == [()] * 20
    assert {workload.pods for workload in sampled.workloads} == {1}
    for workload in sampled.workloads:
        made = workload.steps["job"]
        assert made.source == "watch"
        assert made.upper_ns - made.lower_ns < NS_PER_S
        assert workload.steps["submitted"].at_ns <= made.at_ns <= workload.steps["accepted"].at_ns
    _agree(sampled, await bench.pods())
    figures = summary(sampled)
    assert figures.whole, figures.proof
    assert figures.lag is not None


async def test_without_a_recording_stamps_have_bounds_of_a_second_and_nothing_is_lost(bench: Bench) -> None:
    await bench.submit(num_workloads=5)
    shutil.rmtree(bench.folder / "records")
    sampled = await bench.until(_runs)
    assert {workload.steps["last_bound"].source for workload in sampled.workloads} == {"server"}
    assert all(
        workload.steps["last_bound"].upper_ns - workload.steps["last_bound"].lower_ns <= NS_PER_S
        for workload in sampled.workloads
    )
    _agree(sampled, await bench.pods())
    assert [workload.errors for workload in sampled.workloads] == [()] * 5
    for workload in sampled.workloads:
        await bench.lab.client.delete(JOBS, workload.name, namespace=bench.namespace, propagation="Background")
    gone = await bench.until(lambda workload: "deleted" in workload.steps)
    assert [workload.pods for workload in gone.workloads] == [1] * 5
    for before, after in zip(sampled.workloads, gone.workloads, strict=True):
        assert before.steps.items() <= after.steps.items()


async def test_a_distributed_workload_is_measured_whole_and_followed_to_its_end(bench: Bench) -> None:
    await bench.submit(num_workloads=3, workload_type="distributed", num_workers=4, num_processes=1)
    told: list[int] = []

    async def show(live: Live, _: Following) -> None:
        while True:
            told.append(live.figures(RealClock().wall_ns()).done)
            await asyncio.sleep(0.1)

    sampler = bench.sampler()
    sampled = sampler.sample(await sampler.follow(show), None)
    assert [(workload.pods, workload.gang, workload.errors) for workload in sampled.workloads] == [(4, 4, ())] * 3
    for workload in sampled.workloads:
        steps = workload.steps
        assert steps["first_bound"].at_ns <= steps["gang_bound"].at_ns == steps["last_bound"].at_ns
        assert steps["first_running"].at_ns <= steps["last_running"].at_ns
    assert told
    assert sampled.recordings[-1].whole, sampled.recordings[-1].proof


async def test_an_eviction_is_seen_with_who_did_it_and_the_binding_after_it(bench: Bench) -> None:
    await bench.submit(num_workloads=2)
    await bench.until(_runs)
    before = await bench.pods()
    victim = next(pod for pod in before if pod["status"].get("phase") == "Running")
    had = Counter(meta.labels(pod)["kubedyno/workload"] for pod in before)
    name = victim["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": bench.namespace}}
    kinds = dialects.find("job").lifecycle.kinds

    def is_back(workload: WorkloadSample) -> bool:
        return workload.name != meta.labels(victim)["kubedyno/workload"] or "rescheduled" in workload.steps

    client = bench.lab.client
    async with gathering.followed(client, kinds, Gathered(), bench.folder, namespace=bench.namespace) as recording:
        await client.create(PODS, eviction, namespace=bench.namespace, name=name, subresource="eviction")
        sampled = await bench.until(is_back)
        assert (await recording.prove()).whole
    evicted, other = sorted(sampled.workloads, key=lambda workload: -workload.evictions)
    assert (evicted.name, evicted.evictions) == (meta.labels(victim)["kubedyno/workload"], 1)
    assert evicted.evicted_by == ("eviction API",)
    assert evicted.steps["evicted"].lower_ns <= evicted.steps["rescheduled"].upper_ns
    assert (evicted.pods, other.pods, other.evictions) == (had[evicted.name] + 1, had[other.name], 0)


async def test_a_restart_of_the_server_is_waited_out(bench: Bench, tmp_path: Path) -> None:
    await bench.submit(num_workloads=5)
    await bench.until(_runs)
    kinds = dialects.find("job").lifecycle.kinds
    access = kubeconfig.load(bench.lab.kubeconfig)
    async with fault_proxy(access, tmp_path) as proxy, Client.connect(proxy.access) as client:
        await proxy.go_away()

        async def come_back() -> None:
            await asyncio.sleep(AWAY_S)
            await proxy.come_back()

        gathered = Gathered()
        async with tasks.owning() as group:
            group.create_task(come_back())
            news = await gathering.ask_cluster(client, kinds, (bench.namespace,), gathered)
    assert gathered.notes == []
    assert {row.name for row in news if row.role == "pod"} == {pod["metadata"]["name"] for pod in await bench.pods()}


def test_a_lab_records_what_is_sampled_later(user: User) -> None:
    """The commands of a scale test, on a lab of real programs that records by itself."""
    user.up("--engine", "local", "--nodes", "4")
    user.run("submit", "-t", "training", "-n", "6", "-p", "2", "--delay", "0.2", "-o", "out1")
    user.run("sample", "-t", "training", "-o", "out1", "--follow")
    told = msgspec.json.decode(user.run("sample", "-t", "training", "-o", "out1", "--json").stdout)
    assert (told["workloads"], told["erroneous"], told["samples"]) == (6, 0, 2)
    assert {step["workloads"] for step in told["steps"]} == {6}
    assert told["whole"], told["proof"]
    sampled = msgspec.json.decode((user.home / "out1" / "sampled.json").read_bytes(), type=SampledFile)
    bound = [workload.steps["last_bound"] for workload in sampled.workloads]
    assert {instant.source for instant in bound} == {"watch"}
    user.run("down")
    again = user.run("sample", "-o", "out1")
    assert "this sample is from recordings only" in again.stderr
    after = msgspec.json.decode((user.home / "out1" / "sampled.json").read_bytes(), type=SampledFile)
    assert after.workloads == sampled.workloads
