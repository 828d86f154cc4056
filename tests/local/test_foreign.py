"""Runs on a cluster that is there already, by its kubeconfig: a lab of the test process, which `run` does not know."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.labs import lab_in_process

from kubedyno.client.errors import ApiError
from kubedyno.kit.clock import RealClock
from kubedyno.kit.progress import Quiet
from kubedyno.kube.resources import KAI_QUEUES, NODES, PRIORITY_CLASSES
from kubedyno.lab import installing, running, visiting
from kubedyno.lab.grounds import others_ground
from kubedyno.lab.matrix import Trial
from kubedyno.lab.selecting import Selection
from kubedyno.lab.spec import LabSpec
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict
from kubedyno.model.queues import Queue
from kubedyno.scenarios import SCENARIOS
from kubedyno.schedulers.dialects.queued import ROOT_QUEUE, queue
from kubedyno.sim import pools
from kubedyno.sim.pools import applying
from kubedyno.testing.trying import Tried

from .conftest import User, interrupt_when, wait_for

pytestmark = pytest.mark.local

MINE = '''
import asyncio, pathlib
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed, training
from kubedyno.schedulers.dialects.kai import KAI

@scenario()
async def lasting(lab: Lab) -> None:
    """Is there until somebody ends it."""
    await lab.nodes("mine", count=2)
    jobs = await lab.submit(training(), count=3, queue=await lab.queue("mine"))
    await lab.running(jobs)
    (pathlib.Path(__file__).parent / "here").touch()
    await asyncio.sleep(1000)

@scenario()
async def misspelt(lab: Lab) -> None:
    """A dialect with a field that no kind has."""
    await lab.nodes("mine", count=2)
    written = KAI.objects

    def doctored(workload):
        group, *pods = written(workload)
        return [{**group, "spec": {**group["spec"], "minMembers": 2}}, *pods]

    KAI.objects = doctored
    await lab.submit(distributed(workers=2, gpus=1), queue=await lab.queue("mine"))
'''


@pytest.fixture(scope="module")
async def theirs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """KAI, a node of somebody's, nobody who plays kubelets, and of what workloads name only a part."""
    async with lab_in_process(tmp_path_factory.mktemp("theirs") / "lab", scheduler="kai", kubelet="none") as lab:
        await applying.apply(lab.client, [pools.base("theirs", 1)])
        await lab.client.delete(PRIORITY_CLASSES, "train")
        yield lab


def things(user: User, lab: RunningLab) -> set[str]:
    """All objects that there are but events, with their uids."""
    kubeconfig = str(lab.kubeconfig)
    kinds = user.kubectl(kubeconfig, "api-resources", "--verbs=list", "-o", "name").split()
    asked = ",".join(kind for kind in kinds if not kind.startswith(("events", "componentstatuses")))
    told = '{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.uid}{"\\n"}{end}'
    return set(user.kubectl(kubeconfig, "get", asked, "-A", "-o", f"jsonpath={told}").splitlines())


def trial_of(user: User) -> TrialRecord:
    (folder,) = (user.home / "runs").iterdir()
    (summary,) = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord).trials
    return msgspec.json.decode((folder / summary.folder / "trial.json").read_bytes(), type=TrialRecord)


async def visited(lab: RunningLab, scenario: str, scheduler: str, folder: Path, **parameters: Any) -> TrialRecord:
    """Run a scenario there, in this process."""
    chosen = SCENARIOS.get(scenario)
    trial = Trial(
        scenario=chosen,
        parameters=chosen.with_defaults({name: str(value) for name, value in parameters.items()}),
        spec=LabSpec(name="cluster", engine="cluster", scheduler=scheduler),
        run_id="visit",
    )
    clock = RealClock()
    ground = others_ground(trial, selection=Selection(kubeconfig=lab.kubeconfig), clock=clock)
    return await running.run_trial(trial, ground=ground, folder=folder, sink=Tried(), clock=clock, progress=Quiet())


def on(lab: RunningLab, scheduler: str) -> tuple[str, ...]:
    return ("--kubeconfig", str(lab.kubeconfig), "--scheduler", scheduler)


async def test_a_cluster_is_left_exactly_as_it_was_found(user: User, theirs: RunningLab) -> None:
    before = things(user, theirs)
    done = await asyncio.to_thread(user.run, "run", "kai/fill-live", "--nodes", "2", *on(theirs, "kai"))
    assert f"engine cluster, scheduler kai, profile scale, on cluster of {theirs.kubeconfig}" in done.stdout
    trial = trial_of(user)
    assert (trial.verdict, trial.message, trial.violations) == (Verdict.PASSED, "", ())
    # Leases of nodes are collected some time after them.
    await asyncio.to_thread(wait_for, lambda: things(user, theirs) == before)


async def test_kubelets_are_played_where_nobody_does_and_for_its_own_nodes_only(
    theirs: RunningLab, tmp_path: Path
) -> None:
    before = await theirs.client.get(NODES, "theirs-0")
    record = await visited(theirs, "hello", "kai", tmp_path, nodes=2)
    assert (record.verdict, record.message, record.violations) == (Verdict.PASSED, "", ())
    after = await theirs.client.get(NODES, "theirs-0")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_kubelets_that_are_there_are_left_to_it_and_pods_stay_on_the_nodes_of_the_run(
    shared_lab: RunningLab, tmp_path: Path
) -> None:
    record = await visited(shared_lab, "hello", "kube-scheduler", tmp_path, nodes=2)
    assert (record.verdict, record.message, record.violations) == (Verdict.PASSED, "", ())


async def test_what_needs_a_pause_is_not_applicable_there(user: User, theirs: RunningLab) -> None:
    done = await asyncio.to_thread(user.run, "run", "fill", "--nodes", "2", *on(theirs, "kai"), code=2)
    assert (
        "kai/fill: not applicable: the scheduler of this cluster is not ours to pause: run it on a lab" in done.stdout
    )


@pytest.mark.parametrize(
    ("scheduler", "missing"),
    [
        ("kai", "Queue of scheduling.run.ai/v2"),
        ("reference", "Queue of scheduling.run.ai/v2"),
        ("kueue", "ResourceFlavor of kueue.x-k8s.io/v1beta1"),
    ],
)
async def test_a_scheduler_whose_kinds_are_not_there_is_not_installed(
    scheduler: str, missing: str, shared_lab: RunningLab, tmp_path: Path
) -> None:
    record = await visited(shared_lab, "kai/fill-live", scheduler, tmp_path, nodes=2)
    assert record.verdict == Verdict.NOT_APPLICABLE
    where = f"cluster of {shared_lab.kubeconfig}"
    assert record.message == f"scheduler {scheduler} is not installed on the {where}: {missing} is not served there"


async def test_a_scheduler_that_looks_at_nothing_is_told_of_and_nothing_is_left(
    shared_lab: RunningLab, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visiting, "LOOKED_WITHIN_S", 2.0)
    before = things(user, shared_lab)
    record = await visited(shared_lab, "kai/fill-live", "plugins", tmp_path, nodes=2)
    assert record.verdict == Verdict.NOT_APPLICABLE
    assert record.message == (
        f"scheduler plugins is not installed on the cluster of {shared_lab.kubeconfig}, or does not work: "
        "within 2 s nobody looked at a pod with schedulerName scheduler-plugins"
    )
    await asyncio.to_thread(wait_for, lambda: things(user, shared_lab) <= before)


async def test_gangs_cannot_be_had_where_nothing_makes_them(shared_lab: RunningLab, tmp_path: Path) -> None:
    record = await visited(shared_lab, "hello", "plugins", tmp_path, nodes=2)
    assert (record.verdict, record.message) == (
        Verdict.NOT_APPLICABLE,
        "scheduler plugins cannot do it here: gangs: PodGroup of scheduling.x-k8s.io/v1alpha1 is not served here",
    )


async def test_ctrl_c_leaves_nothing_behind(user: User, theirs: RunningLab) -> None:
    (user.home / "mine.py").write_text(MINE)
    before = things(user, theirs)
    run = user.start("run", "mine.py::lasting", *on(theirs, "kai"))
    _, errors = await asyncio.to_thread(interrupt_when, run, (user.home / "here").exists)
    assert run.returncode == 130
    assert "what was measured until then is in " in errors
    await asyncio.to_thread(wait_for, lambda: things(user, theirs) == before)


async def test_what_others_have_is_not_touched(theirs: RunningLab, tmp_path: Path) -> None:
    made = await theirs.client.create(KAI_QUEUES, queue(Queue(name="team"), parent=ROOT_QUEUE))
    try:
        record = await visited(theirs, "kai/fill-live", "kai", tmp_path, nodes=2)
        assert (record.verdict, record.message) == (
            Verdict.ERROR,
            "the lab has a Queue team that the run did not make: delete it, or take another lab",
        )
        assert await theirs.client.get(KAI_QUEUES, "team") == made
    finally:
        await theirs.client.delete(KAI_QUEUES, "team")


async def test_a_field_that_the_server_does_not_know_is_an_error(user: User, theirs: RunningLab) -> None:
    (user.home / "mine.py").write_text(MINE)
    done = await asyncio.to_thread(user.run, "run", "mine.py::misspelt", *on(theirs, "kai"), code=3)
    assert 'strict decoding error: unknown field "spec.minMembers"' in done.stdout
    wrong = queue(Queue(name="wrong"), parent=ROOT_QUEUE)
    wrong["spec"]["weights"] = 1
    with pytest.raises(ApiError, match=r"\.spec\.weights: field not declared in schema"):
        await installing.apply(theirs.client, wrong)
