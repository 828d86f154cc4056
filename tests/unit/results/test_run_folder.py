import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kubedyno.kit.errors import EngineError
from kubedyno.measure.columns import ClaimRow, Lived, ObjectRow, SeriesRow
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict
from kubedyno.results.folder import RunFolder, finish_abandoned, held

pytestmark = pytest.mark.unit

Trial = Callable[..., TrialRecord]

ROW = ObjectRow("u", "Pod", "pod", "ns", "p", None, "w", None, "created", None, 1, 1, 1, 1)


def read(path: Path) -> RunRecord:
    return msgspec.json.decode((path / "run.json").read_bytes(), type=RunRecord)


def begun(out: Path, run: RunRecord, *trials: TrialRecord) -> RunFolder:
    folder = RunFolder(out, run.id)
    folder.begin(run)
    for trial in trials:
        folder.trial(trial, objects=[[ROW]], series=[[SeriesRow(1, "cpu_s", "etcd", 1.0)]], logs=None)
    return folder


def files(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


def test_a_run_is_partial_until_it_ends(tmp_path: Path, run: RunRecord, trial: Trial) -> None:
    out = tmp_path / "not" / "there"
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "etcd.log").write_text("a line\n")
    folder = RunFolder(out, run.id)
    folder.begin(run)
    partial, final = out / f"{run.id}.partial", out / run.id
    assert files(partial) == {"journal.jsonl"}
    claim = ClaimRow("u", "ns", "c", None, None, None, None, 0, 1, None, None, None)
    summaries = {"Timer.json": "{}", "CPU.pprof": b"\x1f"}
    folder.trial(
        trial(scenario="group/hello"),
        objects=[[ROW]],
        series=[],
        lived=Lived(claims=(claim,)),
        summaries=summaries,
        logs=logs,
    )
    folder.trial(trial(verdict=Verdict.FAILED, message="crowded"), objects=[], series=[], logs=tmp_path / "none")
    assert not final.exists()
    ended = msgspec.structs.replace(run, ended_at="later", verdict=Verdict.FAILED, exit_code=1)
    assert folder.end(ended) == final
    assert not partial.exists()
    assert files(final) == {
        "run.json",
        "report.json",
        "kwok_scale_test.json",
        "junit.xml",
        "summary.md",
        "trials/1-group-hello/trial.json",
        "trials/1-group-hello/objects.parquet",
        "trials/1-group-hello/series.parquet",
        "trials/1-group-hello/times.csv",
        "trials/1-group-hello/claims.parquet",
        "trials/1-group-hello/summaries/Timer.json",
        "trials/1-group-hello/summaries/CPU.pprof",
        "trials/1-group-hello/logs/etcd.log",
        "trials/2-hello/trial.json",
        "trials/2-hello/objects.parquet",
        "trials/2-hello/series.parquet",
        "trials/2-hello/times.csv",
    }
    assert (final / "trials/1-group-hello/summaries/CPU.pprof").read_bytes() == b"\x1f"
    whole = read(final)
    assert (whole.verdict, whole.exit_code, whole.ended_at) == (Verdict.FAILED, 1, "later")
    assert [(one.folder, one.verdict, one.message) for one in whole.trials] == [
        ("trials/1-group-hello", "passed", ""),
        ("trials/2-hello", "failed", "crowded"),
    ]
    kept = msgspec.json.decode((final / "trials/2-hello/trial.json").read_bytes(), type=TrialRecord)
    assert kept == trial(verdict=Verdict.FAILED, message="crowded")
    assert len(msgspec.json.decode((final / "report.json").read_bytes())[0]["SpecReports"]) == 2


def test_an_abandoned_run_is_finished_as_crashed_with_the_trials_that_were_done(
    tmp_path: Path, run: RunRecord, trial: Trial
) -> None:
    begun(tmp_path, run, trial(), trial(verdict=Verdict.FAILED))
    journal = tmp_path / f"{run.id}.partial" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"event": "trial", "summ')  # the crash cut the last line
    half = tmp_path / f"{run.id}.partial" / "trials" / "3-hello"
    half.mkdir()
    (half / "times.csv").write_text("half")
    final = tmp_path / run.id
    assert finish_abandoned(tmp_path) == [final]
    crashed = read(final)
    assert (crashed.verdict, crashed.exit_code, crashed.ended_at) == (Verdict.CRASHED, None, None)
    assert [one.folder for one in crashed.trials] == ["trials/1-hello", "trials/2-hello"]
    assert {"report.json", "junit.xml"} <= files(final)
    assert [file.name for file in tmp_path.iterdir()] == [run.id]
    assert finish_abandoned(tmp_path) == []


def test_a_run_that_crashed_before_its_first_line_is_put_away(tmp_path: Path, run: RunRecord) -> None:
    (tmp_path / f"{run.id}.partial").mkdir()
    assert finish_abandoned(tmp_path) == [tmp_path / run.id]
    assert list((tmp_path / run.id).iterdir()) == []


def test_nothing_to_finish(tmp_path: Path, run: RunRecord, trial: Trial) -> None:
    assert finish_abandoned(tmp_path / "nowhere") == []
    begun(tmp_path, run, trial()).end(run)
    assert finish_abandoned(tmp_path) == []
    assert (tmp_path / run.id).is_dir()


HOLDER = """
import pathlib, sys
from kubedyno.results.folder import held
with held(pathlib.Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


async def test_a_live_run_is_left_alone_until_its_process_is_killed(
    tmp_path: Path, run: RunRecord, trial: Trial
) -> None:
    begun(tmp_path, run, trial())
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, tmp_path, run.id, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"held\n"
    assert finish_abandoned(tmp_path) == []
    assert (tmp_path / f"{run.id}.partial").is_dir()
    owner.kill()
    await owner.wait()
    assert finish_abandoned(tmp_path) == [tmp_path / run.id]


def test_a_run_that_ends_leaves_no_lock(tmp_path: Path, run: RunRecord, trial: Trial) -> None:
    with held(tmp_path, run.id):
        folder = begun(tmp_path, run, trial())
        assert finish_abandoned(tmp_path) == []
        folder.end(run)
    assert [file.name for file in tmp_path.iterdir()] == [run.id]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, run: RunRecord) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file"
    with pytest.raises(EngineError) as caught:
        RunFolder(out, run.id).begin(run)
    sentence = f"the run folder {out / run.id}.partial cannot be made: Not a directory; choose another with --out"
    assert str(caught.value) == sentence


@pytest.mark.parametrize("below", [".", "below"])
def test_an_out_that_is_a_file_is_told_before_anything_runs(tmp_path: Path, run: RunRecord, below: str) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / below
    with pytest.raises(EngineError) as caught, held(out, run.id):
        pass
    assert str(caught.value).startswith(f"the run folder {out / run.id}.partial cannot be made: ")
    assert str(caught.value).endswith("; choose another with --out")
