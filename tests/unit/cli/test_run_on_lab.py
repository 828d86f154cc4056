"""Runs on a lab that was there before, and will be afterwards."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.commands import run_kubedyno

from kubedyno.client import kubeconfig as kubeconfigs
from kubedyno.client.rest import Client
from kubedyno.kube.resources import JOBS, KAI_QUEUES, NAMESPACES, NODES
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict

pytestmark = pytest.mark.unit

MINE = '''
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import training

@scenario()
async def careless(lab):
    """Leaves the scheduler killed, and everything behind."""
    await lab.nodes("mine", count=1)
    queue = await lab.queue("mine", quota=4)
    jobs = await lab.submit(training(), count=2, queue=queue)
    await lab.running(jobs)
    async with lab.scheduler.paused():
        pass
    lab.measure("resumed", since=jobs.submitted, until=lab.scheduler.resumed_at)
    await lab.scheduler.kill()

@scenario()
async def greedy(lab):
    """Wants a pool that somebody else has."""
    await lab.nodes("default", count=3)

@scenario(settings={"reference": {"reference.speed": "9"}})
async def particular(lab):
    """Wants a setting."""
'''


class Home:
    """Somebody with a lab of one node."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = {
            **{name: value for name, value in os.environ.items() if name not in {"NODE_COUNT", "KUBECONFIG"}},
            "XDG_STATE_HOME": str(path / "state"),
        }

    def run(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return run_kubedyno(*args, env=self.env, cwd=self.path, within_s=100, code=code)

    def trial(self, out: str) -> TrialRecord:
        (folder,) = (self.path / out).iterdir()
        run = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord)
        return msgspec.json.decode((folder / run.trials[0].folder / "trial.json").read_bytes(), type=TrialRecord)

    async def things(self) -> dict[str, set[str]]:
        """What there is in the lab."""
        access = kubeconfigs.load(self.path / "state" / "kubedyno" / "labs" / "stays" / "kubeconfigs" / "admin.yaml")
        async with Client.connect(access) as client:
            return {
                kind.plural: {obj["metadata"]["name"] for obj in (await client.list_all(kind)).items}
                for kind in (NAMESPACES, NODES, JOBS, KAI_QUEUES)
            }


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    made.run("up", "--name", "stays", "--nodes", "1")
    yield made
    made.run("down", "--name", "stays")


async def test_a_lab_is_left_as_it_was_found(home: Home) -> None:
    before = await home.things()
    done = home.run("run", "mine.py::careless", "--name", "stays", "--out", "careless")
    assert done.stdout.splitlines()[0].endswith(": engine embedded, scheduler reference, profile scale, on lab stays")
    trial = home.trial("careless")
    assert (trial.verdict, trial.message, trial.engine) == (Verdict.PASSED, "", "embedded")
    assert await home.things() == before
    # The scheduler that was left killed works again.
    home.run("run", "hello", "--name", "stays", "--out", "again", "--nodes", "2")
    assert home.trial("again").verdict == Verdict.PASSED


async def test_a_cluster_that_is_no_lab_of_ours_is_left_as_it_was_found(home: Home) -> None:
    """A copy of the kubeconfig: nobody knows that it is a lab."""
    labs = home.path / "state" / "kubedyno" / "labs"
    theirs = home.path / "theirs.yaml"
    theirs.write_text((labs / "stays" / "kubeconfigs" / "admin.yaml").read_text())
    before = await home.things()
    on = ("--kubeconfig", str(theirs), "--nodes", "2")
    done = home.run("run", "hello", "kai/fill", *on, "--scheduler", "reference", "--out", "theirs")
    assert done.stdout.splitlines()[0].endswith(f", 2 trials, on cluster of {theirs}")
    trial = home.trial("theirs")
    assert (trial.verdict, trial.message, trial.engine) == (Verdict.PASSED, "", "cluster")
    assert "the scheduler of this cluster is not ours to pause" in done.stdout
    assert await home.things() == before

    done = home.run("run", "hello", *on, "--scheduler", "kueue", "--out", "none", code=2)
    assert f"scheduler kueue is not installed on the cluster of {theirs}: ResourceFlavor of kueue" in done.stdout
    assert await home.things() == before


async def test_what_others_have_there_is_not_touched(home: Home) -> None:
    before = await home.things()
    done = home.run("run", "mine.py::greedy", "mine.py::particular", "--name", "stays", "--out", "refused", code=3)
    assert home.trial("refused").message.startswith("the lab has a pool default of its own: take another lab, or ")
    assert "not applicable: it needs reference.speed=9, and lab stays has " in done.stdout
    assert await home.things() == before

    done = home.run("run", "hello", "--name", "stays", "--scheduler", "kai", code=2)
    assert done.stderr == "kubedyno: --scheduler kai: lab stays runs reference\n"
