"""`run hello` on real schedulers, and the folder that it leaves."""

import msgspec
import polars as pl
import pytest

from kubedyno.measure.columns import OBJECTS, SERIES
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict

from .conftest import User, processes_below

pytestmark = pytest.mark.local


@pytest.mark.parametrize("scheduler", ["kube-scheduler", "kai"])
def test_hello_is_measured_checked_and_kept(user: User, scheduler: str) -> None:
    done = user.run("run", "hello", "--engine", "local", "--scheduler", scheduler, "--nodes", "3")
    assert f"engine local, scheduler {scheduler}, profile scale" in done.stdout.splitlines()[0]
    assert "hello: passed in " in done.stdout
    assert processes_below(user.home) == []

    (folder,) = (user.home / "runs").iterdir()
    run = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord)
    assert (run.verdict, run.exit_code, run.id) == (Verdict.PASSED, 0, folder.name)
    assert run.programs["kube-apiserver"].version == "v1.36.3"
    trial_folder = folder / run.trials[0].folder
    trial = msgspec.json.decode((trial_folder / "trial.json").read_bytes(), type=TrialRecord)
    assert trial.parameters == {"nodes": 3, "patience_s": 120.0}
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


def test_a_scenario_that_cannot_be_scheduled_fails_and_says_why(user: User) -> None:
    """A scheduler that is told to leave our pods alone."""
    config = user.home / "config.yaml"
    config.write_text("profiles: [{schedulerName: somebody-else}]\n")
    options = ("--engine", "local", "--nodes", "1", "--scheduler-config", str(config))
    done = user.run("run", "hello", "-p", "patience_s=3", *options, code=1)
    assert "4 of 4 pods were not scheduled within 3 s; no condition says why" in done.stdout
    assert "hello: failed" in done.stdout
