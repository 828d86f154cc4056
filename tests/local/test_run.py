"""`run` on real schedulers: the folder that it leaves, and what is told of schedulers that die, hang or never bind."""

from pathlib import Path

import msgspec
import polars as pl
import psutil
import pytest
from tests.commands import run_kubedyno

from kubedyno.measure.columns import OBJECTS, SERIES
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict

from .conftest import User, processes_below, wait_for

pytestmark = pytest.mark.local

MINE = '''
import asyncio, pathlib
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import distributed, training

HERE = pathlib.Path(__file__).parent

@scenario()
async def troubled(lab: Lab, *, patience_s: float = 5.0) -> None:
    """Jobs while something happens to the scheduler."""
    await lab.nodes("gpu", count=1)
    before = await lab.submit(training(), count=2)
    await lab.scheduled(before)
    (HERE / "here").touch()
    while not (HERE / "go").exists():
        await asyncio.sleep(0.05)
    await lab.scheduled(await lab.submit(training(), count=3), stalled_after_s=patience_s)

@scenario()
async def controlled(lab: Lab) -> None:
    """A scheduler that is paused, restarted and killed, and always goes on."""
    await lab.nodes("gpu", count=2)
    async with lab.scheduler.paused():
        paused = await lab.submit(training(), count=3, name="paused")
        await lab.created(paused)
        lab.expect("nothing is bound by a paused scheduler", not lab.placement(paused))
    lab.measure("after the pause", since=lab.scheduler.resumed_at, until=await lab.scheduled(paused))
    await lab.scheduler.kill()
    killed = await lab.submit(distributed(workers=2, gpus=1), name="killed")
    await asyncio.sleep(1)
    lab.expect("nothing is bound by a dead scheduler", not lab.placement(killed))
    await lab.scheduler.restart()
    lab.measure("after the crash", since=lab.scheduler.resumed_at, until=await lab.running(killed))
    await lab.scheduler.restart()
    frozen = await lab.submit(training(), count=2, name="frozen")
    await lab.running(frozen)
    await lab.delete(frozen)
    lab.expect("what was deleted is no victim", not lab.evicted(frozen))
'''

KUBE = ("--engine", "local", "--scheduler", "kube-scheduler")


def of_scheduler(home: Path) -> psutil.Process:
    """The scheduler's process of the lab below a folder."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ["?"]
        if words[0].endswith("/kube-scheduler") and str(home) in " ".join(words):
            return process
    raise AssertionError("no scheduler")


def trial_of(user: User) -> TrialRecord:
    (folder,) = (user.home / "runs").iterdir()
    (summary,) = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord).trials
    return msgspec.json.decode((folder / summary.folder / "trial.json").read_bytes(), type=TrialRecord)


@pytest.mark.parametrize("scheduler", ["kube-scheduler", "kai"])
def test_hello_is_measured_checked_and_kept(user: User, scheduler: str) -> None:
    done = user.run("run", "hello", "--engine", "local", "--scheduler", scheduler, "--nodes", "3")
    assert f"engine local, scheduler {scheduler}, profile scale" in done.stdout.splitlines()[0]
    assert "hello: passed in " in done.stdout, done.stdout
    assert processes_below(user.home) == []

    (folder,) = (user.home / "runs").iterdir()
    run = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord)
    assert (run.verdict, run.exit_code, run.id) == (Verdict.PASSED, 0, folder.name)
    assert run.programs["kube-apiserver"].version == "v1.36.3"
    trial_folder = folder / run.trials[0].folder
    trial = msgspec.json.decode((trial_folder / "trial.json").read_bytes(), type=TrialRecord)
    assert trial.parameters == {"nodes": 3, "patience_s": 60.0}
    assert [m.name for m in trial.measurements] == [
        "time to schedule single pods",
        "pod scheduling latency",
        "time to schedule a gang",
    ]
    for measurement in trial.measurements:
        assert 0 <= measurement.lower <= measurement.value <= measurement.upper
    assert len(trial.measurements[1].samples) == 12
    assert all(check.passed for check in trial.checks)
    assert any(setting.evidence == "reported" for setting in trial.settings)
    assert not any(setting.contradicted for setting in trial.settings)

    objects = pl.read_parquet(trial_folder / "objects.parquet")
    assert objects.columns == [column.name for column in OBJECTS]
    phases = dict(objects.filter(pl.col("role") == "pod").group_by("phase").len().iter_rows())
    assert (phases["created"], phases["scheduled"], phases["running"]) == (15, 15, 15)
    assert objects.filter(pl.col("lower_ns") > pl.col("upper_ns")).is_empty()
    series = pl.read_parquet(trial_folder / "series.parquet")
    assert series.columns == [column.name for column in SERIES]
    assert {"etcd", "kube-apiserver", "kubedyno"} <= set(series["component"])
    assert len((trial_folder / "times.csv").read_text().splitlines()) == 1 + 12 + 1
    assert (trial_folder / "logs" / "kube-apiserver.log").stat().st_size > 0
    assert (folder / "report.json").exists()
    assert (folder / "junit.xml").exists()


@pytest.mark.timeout(300)
def test_a_family_of_scenarios_runs_on_kai_each_on_a_lab_of_its_own(user: User) -> None:
    family = ("kai/fill", "kai/fill-live", "kai/fill-with-pending")
    options = ("--engine", "local", "--scheduler", "kai", "--nodes", "4")
    done = run_kubedyno("run", "kai/fill*", *options, env=user.env, cwd=user.home, within_s=280)
    table = [line.split() for line in done.stdout.splitlines() if " on kai  " in line]
    assert [(line[0], line[3]) for line in table] == [(name, "passed") for name in family]
    assert "\npassed: 3 passed; page " in done.stdout
    assert processes_below(user.home) == []

    (folder,) = (user.home / "runs").iterdir()
    run = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord)
    assert (run.verdict, run.exit_code) == (Verdict.PASSED, 0)
    assert [summary.scenario for summary in run.trials] == list(family)
    for summary in run.trials:
        trial = msgspec.json.decode((folder / summary.folder / "trial.json").read_bytes(), type=TrialRecord)
        assert (trial.verdict, trial.message, trial.violations) == (Verdict.PASSED, "", ())
        assert trial.checks
        assert all(check.passed for check in trial.checks)
        assert summary.folder in (folder / "index.html").read_text()
        assert (folder / summary.folder / "objects.parquet").stat().st_size > 0
        assert (folder / summary.folder / "logs" / "scheduler.log").stat().st_size > 0
    assert "fill-with-pending" in (folder / "junit.xml").read_text()


def test_a_scenario_that_cannot_be_scheduled_fails_and_says_why(user: User) -> None:
    """A scheduler that is told to leave our pods alone."""
    config = user.home / "config.yaml"
    config.write_text("profiles: [{schedulerName: somebody-else}]\n")
    options = ("--engine", "local", "--nodes", "1", "--scheduler-config", str(config))
    done = user.run("run", "hello", "-p", "patience_s=3", *options, code=1)
    assert "4 of 4 pods were not scheduled, and nothing happened to them for 3 s:\n" in done.stdout
    assert ": no condition and no event: the scheduler has not looked at it\n" in done.stdout
    assert "hello: failed" in done.stdout


@pytest.mark.parametrize("scheduler", ["kube-scheduler", "kai"])
def test_a_scheduler_is_paused_killed_and_restarted(user: User, scheduler: str) -> None:
    (user.home / "mine.py").write_text(MINE)
    user.run("run", "mine.py::controlled", "--engine", "local", "--scheduler", scheduler)
    trial = trial_of(user)
    assert (trial.verdict, trial.message, trial.violations) == (Verdict.PASSED, "", ())
    named = {one.name: one.value for one in trial.measurements}
    assert set(named) == {"after the pause", "after the crash", "scheduler start-up"}
    assert all(value > 0 for value in named.values())


def test_a_scheduler_that_dies_is_an_error_with_its_last_words(user: User) -> None:
    (user.home / "mine.py").write_text(MINE)
    run = user.start("run", "mine.py::troubled", *KUBE)
    wait_for((user.home / "here").exists, while_running=run)
    of_scheduler(user.home).kill()
    out, err = run.communicate(timeout=100)
    assert run.returncode == 3, out + err
    trial = trial_of(user)
    assert trial.verdict == Verdict.ERROR
    assert trial.message.startswith("kube-scheduler was killed by SIGKILL after ")
    assert "\n  | " in trial.message
    assert "troubled: error in " in out
    assert processes_below(user.home) == []


def test_a_scheduler_that_hangs_is_told(user: User) -> None:
    (user.home / "mine.py").write_text(MINE)
    run = user.start("run", "mine.py::troubled", *KUBE)
    wait_for((user.home / "here").exists, while_running=run)
    of_scheduler(user.home).suspend()
    (user.home / "go").touch()
    out, err = run.communicate(timeout=100)
    assert run.returncode == 1, out + err
    message = trial_of(user).message
    assert message.startswith(
        "3 of 3 pods were not scheduled, and nothing happened to them for 5 s; "
        "the process of kube-scheduler hangs: it is stopped by a signal:\n"
    )
    assert message.endswith(": no condition and no event: the scheduler has not looked at it")
    assert processes_below(user.home) == []


def test_a_gang_that_never_fits_is_told_with_what_the_scheduler_says(user: User) -> None:
    (user.home / "mine.py").write_text(
        "from kubedyno.lab.scenario import scenario\n"
        "from kubedyno.lab.shapes import distributed\n"
        "@scenario()\n"
        "async def large(lab):\n"
        "    await lab.nodes('gpu', count=2)\n"
        "    gang = await lab.submit(distributed(workers=3, gpus=8))\n"
        "    await lab.unschedulable(gang)\n"
        "    await lab.scheduled(gang, stalled_after_s=4)\n"
    )
    done = user.run("run", "mine.py", *KUBE, code=1)
    assert "; distributed wants 24 GPUs at once, and all nodes together have 16:" in done.stdout
    assert "3 of 3 pods were not scheduled" in done.stdout
    assert "Insufficient nvidia.com/gpu" in done.stdout
