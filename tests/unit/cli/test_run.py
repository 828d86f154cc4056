"""`kubedyno run` as a user meets it, on the embedded engine in virtual time: what is printed, kept, and returned."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from tests.commands import run_kubedyno

from kubedyno import cli
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict
from kubedyno.report import trial_pictures
from kubedyno.schedulers import SCHEDULERS

pytestmark = pytest.mark.unit

MINE = '''
from typing import Annotated
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.lab.shapes import training

@scenario("my/fill", tags=("mine", "fill"))
async def fill(lab: Lab, *, nodes: Annotated[int, Range(1, 9)] = 1, jobs: int = 3) -> None:
    """Fill it."""
    await lab.nodes("gpu", count=nodes)
    made = await lab.submit(training(), count=jobs)
    lab.measure("time to fill", since=made.submitted, until=await lab.scheduled(made, stalled_after_s=4))
    lab.expect("every pod has a node", len(lab.placement(made)) == jobs, f"{len(lab.placement(made))} of {jobs}")

@scenario("my/fractions", needs=("numa",), tags=("mine",))
async def fractions(lab: Lab) -> None:
    """Needs what nobody has."""
'''


class Run:
    """What one call of the command left."""

    def __init__(self, code: int, out: str, err: str, folder: Path | None) -> None:
        self.code, self.out, self.err, self.folder = code, out, err, folder

    @property
    def record(self) -> RunRecord:
        assert self.folder is not None
        return msgspec.json.decode((self.folder / "run.json").read_bytes(), type=RunRecord)

    @property
    def trials(self) -> list[TrialRecord]:
        assert self.folder is not None
        return [
            msgspec.json.decode((self.folder / one.folder / "trial.json").read_bytes(), type=TrialRecord)
            for one in self.record.trials
        ]


Command = Callable[..., Run]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NODE_COUNT", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)

    def call(*args: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["kubedyno", "run", "--time", "virtual", *args])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        folders = sorted((tmp_path / "runs").iterdir()) if (tmp_path / "runs").is_dir() else []
        left = tmp_path / "state" / "kubedyno" / "runs"
        assert not left.is_dir() or list(left.iterdir()) == []
        return Run(int(ended.value.code or 0), printed.out, printed.err, folders[-1] if folders else None)

    return call


def test_a_person_is_told_what_came_out_and_where_it_is(run: Command) -> None:
    done = run("mine.py::fill", "--nodes", "2")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].endswith(": engine embedded, scheduler reference, profile scale, virtual time")
    assert lines[2].startswith("my/fill: passed in ")
    assert "nodes=2, jobs=3" in lines[3]
    assert any(line.strip().startswith("time to fill") for line in lines)
    assert "  ✓ every pod has a node: 3 of 3" in lines
    assert done.folder is not None
    assert lines[-2] == (
        f"passed; page runs/{done.folder.name}/index.html, plot runs/{done.folder.name}/trials/1-my-fill/general.png"
    )
    assert lines[-1] == f"everything is in runs/{done.folder.name}"
    assert (done.folder / "index.html").stat().st_size > 0


@pytest.fixture
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take a second each."""
    monkeypatch.setattr(trial_pictures, "write", lambda _: ())


undrawn = pytest.mark.usefixtures("_without_pictures")


@undrawn
def test_several_values_and_repeats_are_several_trials(run: Command) -> None:
    done = run("mine.py::fill", "-p", "nodes=1,2", "-p", "jobs=2", "--repeat", "2", "--seed", "5")
    assert done.code == 0, done.out
    assert [(one.parameters["nodes"], one.repeat, one.seed) for one in done.trials] == [
        (1, 1, 5),
        (1, 2, 6),
        (2, 1, 5),
        (2, 2, 6),
    ]
    assert done.out.splitlines()[0].endswith(", 4 trials")
    assert "my/fill  on reference, nodes=2, repeat 2  passed" in done.out
    assert "passed: 4 passed; page " in done.out


@undrawn
def test_a_failed_trial_does_not_spoil_the_next(run: Command) -> None:
    done = run("mine.py::fill", "-p", "jobs=9,1")
    assert done.code == 1
    assert [one.verdict for one in done.trials] == [Verdict.FAILED, Verdict.PASSED]
    assert "1 of 9 pods were not scheduled, and nothing happened to them for 4 s" in done.trials[0].message
    assert (done.record.verdict, done.record.exit_code) == (Verdict.FAILED, 1)
    assert "failed: 1 passed, 1 failed; page " in done.out


@pytest.fixture
def _blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference scheduler cannot do everything."""
    monkeypatch.setattr(type(SCHEDULERS.get("reference")), "lacks", {"numa": "it is blind"})


@pytest.mark.usefixtures("_without_pictures", "_blind")
def test_what_does_not_apply_is_told_and_takes_nothing_from_the_rest(run: Command) -> None:
    done = run("mine.py")
    assert done.code == 0
    assert [one.verdict for one in done.trials] == [Verdict.PASSED, Verdict.NOT_APPLICABLE]
    assert "my/fractions on reference: not applicable: scheduler reference cannot do it: numa: it is blind" in done.out


@undrawn
def test_thresholds_of_a_file_fail_a_trial(run: Command, tmp_path: Path) -> None:
    (tmp_path / "limits.yaml").write_text("'my/*': {time to fill: 0.000001, throughput: {at_least: 1000000}}\n")
    done = run("mine.py::fill", "--thresholds", "limits.yaml")
    assert done.code == 1
    (trial,) = done.trials
    assert [one.source for one in trial.thresholds] == ["limits.yaml", "limits.yaml"]
    assert "  ✗ time to fill is at most 1e-06: it was " in done.out
    (tmp_path / "limits.yaml").write_text("my/fil: {time to fill: 1}\n")
    done = run("mine.py::fill", "--thresholds", "limits.yaml")
    assert (done.code, done.out) == (2, "")
    assert "--thresholds limits.yaml: there is no scenario 'my/fil': did you mean 'my/fill'?" in done.err


@undrawn
def test_json_is_the_record_and_nothing_else(run: Command) -> None:
    done = run("mine.py::fill", "--json")
    assert msgspec.json.decode(done.out, type=RunRecord) == done.record
    assert done.err == ""


@undrawn
def test_tags_are_the_containers_of_the_ginkgo_report(run: Command) -> None:
    done = run("mine.py::fill")
    assert done.folder is not None
    (suite,) = msgspec.json.decode((done.folder / "report.json").read_bytes())
    (spec,) = suite["SpecReports"]
    assert spec["ContainerHierarchyTexts"] == ["mine", "fill"]
    assert spec["State"] == "passed"


@pytest.mark.usefixtures("_without_pictures", "_blind")
def test_a_scheduler_that_can_do_none_of_it_ends_with_2(run: Command) -> None:
    done = run("mine.py::fractions")
    assert done.code == 2
    assert "my/fractions: not applicable: scheduler reference cannot do it: numa: it is blind" in done.out
    assert (done.record.verdict, done.record.exit_code) == (Verdict.NOT_APPLICABLE, 2)
    assert done.folder is not None
    case = ET.parse(done.folder / "junit.xml").getroot()[0]  # noqa: S314 - our own file
    assert [child.tag for child in case] == ["skipped"]


def test_a_scheduler_that_cannot_be_had_is_told_before_anything_starts(tmp_path: Path) -> None:
    kept = {"LANG", "LC_ALL", "PYTHONPATH", "TMPDIR"}
    env = {
        **{name: value for name, value in os.environ.items() if name in kept},
        "PATH": "/nowhere",
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "KUBEDYNO_RELEASES_URL": "off",
        "PIP_NO_INDEX": "1",
    }
    done = run_kubedyno("run", "hello", "--scheduler", "kube-scheduler", env=env, cwd=tmp_path, within_s=100, code=3)
    assert done.stderr.startswith("kubedyno: Go ")
    assert "could not be installed with pip" in done.stderr
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "state" / "kubedyno" / "runs").exists()
