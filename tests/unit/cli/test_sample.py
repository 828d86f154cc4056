"""`kubedyno sample`, as a user meets it: on an embedded lab, without its cluster, and where the input is wrong."""

import contextlib
import csv
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.commands import argv, own_env, run_kubedyno
from tests.rows import pods, row, submission, workload

from kubedyno.cli.following import line, table, time_text
from kubedyno.measure.live import LiveFigures, PhaseFigures
from kubedyno.measure.spool import Spool
from kubedyno.model.samples import Lag, SampledFile
from kubedyno.model.submissions import SubmittedFile

pytestmark = pytest.mark.unit

WITHIN_S = 110
SAMPLER = Path(__file__).parents[3] / "sampler.py"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return own_env(tmp_path)


@pytest.fixture
def run(tmp_path: Path, env: dict[str, str]) -> Iterator[Run]:
    def command(*args: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        return run_kubedyno(*args, env=env | more, cwd=tmp_path, within_s=WITHIN_S, code=code)

    yield command
    if (tmp_path / "state" / "kubedyno" / "labs").is_dir():
        command("down", "--all")


def write(folder: Path, submitted: SubmittedFile | str) -> Path:
    folder.mkdir(exist_ok=True)
    content = submitted if isinstance(submitted, str) else msgspec.json.encode(submitted).decode()
    (folder / "submitted.json").write_text(content)
    return folder


def read(folder: Path) -> SampledFile:
    return msgspec.json.decode((folder / "sampled.json").read_bytes(), type=SampledFile)


def write_kubeconfig(path: Path, server: str) -> None:
    cluster = {"name": "c", "cluster": {"server": server}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    config = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u"}], "current-context": "x"}
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "Config", **config}))


def recorded(folder: Path, **fields: str) -> Path:
    """A submission with a recording beside it, whose cluster is nowhere."""
    workloads = (workload(), workload("w-1", uid=None, error="quota"), workload("w-2", uid="job-2"))
    write(folder, submission(*workloads, **fields))
    with Spool(folder / "records") as spool:
        spool.take(row("job-0", "created", 0.005, role="job", name="w-0"))
        for one in pods("p", created=0.1, scheduled=0.2, running=0.4):
            spool.take(one)
    return folder


def test_sampling_again_and_again_until_the_lab_is_gone(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("up", "--nodes", "4")
    run("submit", "-n", "5", "-o", "out")
    printed = run("sample", "-o", "out", "--follow")
    assert printed.stdout.startswith("out/sampled.json: 5 workloads with 5 pods, sample 1\n")
    first = read(out)
    assert [one.errors for one in first.workloads] == [()] * 5
    assert all("last_running" in one.steps for one in first.workloads)
    assert run("sample", "-o", "out", "-t", "training").stdout.startswith("out/sampled.json: 5 workloads with 5 pods")
    run("down")
    gone = run("sample", "-o", "out")
    assert "is no lab that runs, and none is named; this sample is from recordings only" in gone.stderr
    last = read(out)
    assert last.samples == 3
    assert [one.steps for one in last.workloads] == [one.steps for one in read(out).workloads]
    assert [one.steps.keys() for one in last.workloads] == [one.steps.keys() for one in first.workloads]


def test_json_tells_the_same(run: Run, tmp_path: Path) -> None:
    recorded(tmp_path / "out")
    told: dict[str, Any] = msgspec.json.decode(run("sample", "-o", "out", "--json").stdout)
    assert (told["file"], told["workloads"], told["pods"], told["samples"]) == ("out/sampled.json", 3, 1, 1)
    assert {step["name"]: step["workloads"] for step in told["steps"]} == {
        "submitted": 3,
        "accepted": 2,
        "job": 1,
        "first_pod": 1,
        "last_bound": 1,
        "last_running": 1,
        "total": 1,
    }
    assert (told["refused"], told["erroneous"]) == (1, 2)
    assert told["notes"][0].endswith("this sample is from recordings only")


def test_what_is_printed(run: Run, tmp_path: Path) -> None:
    recorded(tmp_path / "out")
    assert run("sample", "-o", "out").stdout.splitlines() == [
        "out/sampled.json: 3 workloads with 1 pod, sample 1",
        "step               reached       p50       p99",
        "submitted                3                    ",
        "job created              1    5.0 ms    5.0 ms",
        "accepted                 2    5.0 ms   10.0 ms",
        "first pod created        1   90.0 ms   90.0 ms",
        "last pod bound           1  100.0 ms  100.0 ms",
        "last pod running         1  200.0 ms  200.0 ms",
        "total                    1  400.0 ms  400.0 ms",
        "1 refused, 1 with errors",
        "not proven whole: A recording broke off before it told how it went.",
    ]


def test_times_of_a_backend_are_in_the_sample_and_in_the_table(run: Run, tmp_path: Path) -> None:
    recorded(tmp_path / "out")
    (tmp_path / "ours.py").write_text(
        "def times(workloads):\n    return {workloads[0].name: {'billed': '2026-01-01T00:00:00.25Z'}}\n"
    )
    (tmp_path / "settings.yaml").write_text("backend_times: true\nbackend_source: ours:times\n")
    run("sample", "-o", "out", PYTHONPATH=str(tmp_path))
    assert [one.backend for one in read(tmp_path / "out").workloads] == [{"billed": 1767225600_250_000_000}, {}, {}]
    run("plot", "-o", "out", "--no-skip-errors")
    with (tmp_path / "out" / "times.csv").open(newline="") as file:
        assert [line["backend_billed"] for line in csv.DictReader(file)] == ["1767225600.250000", "", ""]
    (tmp_path / "ours.py").unlink()
    assert run("sample", "-o", "out", code=2).stderr == (
        "kubedyno: backend_source 'ours:times' cannot be imported: No module named 'ours'; is it on PYTHONPATH?\n"
    )


def test_what_an_earlier_sample_saw_is_kept_without_its_recordings(run: Run, tmp_path: Path) -> None:
    out = recorded(tmp_path / "out")
    run("sample", "-o", "out")
    before = read(out).workloads
    (out / "records").rename(tmp_path / "elsewhere")
    run("sample", "-o", "out")
    assert read(out).workloads == before


def test_one_project_of_several(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "out", submission(workload(project="a"), workload("w-1", uid="job-1", project="b")))
    with Spool(tmp_path / "out" / "records") as spool:
        for number in (0, 1):
            spool.take(row(f"job-{number}", "created", 0.005, role="job", name=f"w-{number}"))
    run("sample", "-o", "out", "-p", "b")
    assert [one.name for one in read(tmp_path / "out").workloads] == ["w-1"]
    run("sample", "-o", "out")
    assert [one.name for one in read(tmp_path / "out").workloads] == ["w-0", "w-1"]
    assert run("sample", "-o", "out", "-p", "c", code=2).stderr == (
        "kubedyno: -p c: no workload in out is of that project: known are: a, b\n"
    )


def test_a_submission_that_goes_on_is_sampled_from_its_journal(run: Run, tmp_path: Path) -> None:
    run("up", "--nodes", "4")
    run("submit", "-n", "3", "-o", "out")
    journal = tmp_path / "out" / "submitted.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(
        b"".join(lines[:5]) + lines[5][:20]
    )  # two of three are answered for, and a line is half written
    (tmp_path / "out" / "submitted.json").unlink()
    run("sample", "-o", "out")
    assert 1 <= len(read(tmp_path / "out").workloads) <= 3


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "out/submitted.json does not exist: `kubedyno submit -o out` makes it"),
        ('{"format": 1, "workloads": [', "out/submitted.json: it is cut off; "),
        ("hello", "out/submitted.json: it is no JSON: "),
        ('{"jobs": []}', "out/submitted.json: it is none that `kubedyno submit` wrote: `format` or `workloads` is"),
        ('{"format": 99, "workloads": []}', "out/submitted.json: it has format 99, and this version of kubedyno reads"),
        ('{"format": 1, "workloads": []}', "out/submitted.json: Object missing required field"),
    ],
)
def test_a_wrong_submission_is_refused_with_what_is_wrong(
    run: Run, tmp_path: Path, content: str | None, sentence: str
) -> None:
    if content is not None:
        write(tmp_path / "out", content)
    assert run("sample", "-o", "out", code=2).stderr.startswith(f"kubedyno: {sentence}")
    assert not (tmp_path / "out" / "sampled.json").exists()


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        (["-t", "distributed"], 2, "-t distributed: the workloads in out are of type training: give -t training, or "),
        (
            ["-p", "team"],
            2,
            "-p team: no workload in out is of that project: they were submitted to no project; leave ",
        ),
        (["--scheduler", "kubes"], 2, "there is no dialect 'kubes': did you mean 'kube'?"),
        (["--name", "lab"], 2, "there is no lab 'lab': none are known; "),
        (["--kubeconfig", "none.yaml"], 2, "none.yaml"),
        (
            ["--kubeconfig", "other.yaml"],
            2,
            "the submission went to https://127.0.0.1:1, and this is https://other:2: ",
        ),
        (["--follow"], 3, "there is nothing to follow: the cluster of the submission, https://127.0.0.1:1, is no lab "),
    ],
)
def test_wrong_options_are_one_sentence_and_leave_the_sample_of_before(
    run: Run, tmp_path: Path, args: list[str], code: int, sentence: str
) -> None:
    out = recorded(tmp_path / "out")
    write_kubeconfig(tmp_path / "other.yaml", "https://other:2")
    run("sample", "-o", "out")
    before = (out / "sampled.json").read_bytes()
    printed = run("sample", "-o", "out", *args, code=code).stderr
    assert printed.startswith(f"kubedyno: {sentence}")
    assert (out / "sampled.json").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"format": 1', "out/sampled.json: it is cut off; remove it"),
        ("{}", "out/sampled.json: it is none that `kubedyno sample` wrote"),
    ],
)
def test_a_wrong_earlier_sample_is_refused_not_overwritten(
    run: Run, tmp_path: Path, content: str, sentence: str
) -> None:
    out = recorded(tmp_path / "out")
    (out / "sampled.json").write_text(content)
    assert run("sample", "-o", "out", code=2).stderr.startswith(f"kubedyno: {sentence}")
    assert (out / "sampled.json").read_text() == content


def test_a_sample_of_another_submission_is_refused(run: Run, tmp_path: Path) -> None:
    out = recorded(tmp_path / "out")
    run("sample", "-o", "out")
    write(out, submission(workload(), id="other"))
    assert "it is of submission abc, and out holds submission other" in run("sample", "-o", "out", code=2).stderr


def test_a_cluster_that_is_gone_and_no_recording_is_an_error(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "out", submission(workload()))
    said = run("sample", "-o", "out", code=3).stderr
    assert said.endswith("and nothing was recorded in out: there is nothing to sample\n")


def test_ctrl_c_ends_following_in_order(run: Run, tmp_path: Path, env: dict[str, str]) -> None:
    """Without nodes nothing ever runs: it would follow for ever."""
    run("up", "--nodes", "0")
    run("submit", "-n", "2", "-o", "out")
    following = subprocess.Popen(
        argv("sample", "-o", "out", "--follow"),
        env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert following.stderr is not None
    assert following.stderr.readline().startswith("0 of 2 workloads run or have ended; pods: ")
    following.send_signal(signal.SIGINT)
    printed, errors = following.communicate(timeout=WITHIN_S)
    assert following.returncode == 0, errors
    assert printed.startswith("out/sampled.json: 2 workloads with 2 pods, sample 1\n")
    assert [one.errors for one in read(tmp_path / "out").workloads] == [(), ()]
    assert read(tmp_path / "out").recordings[-1].whole


def test_ctrl_c_leaves_the_sample_of_before(run: Run, tmp_path: Path, env: dict[str, str]) -> None:
    """A server that takes the request and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        out = recorded(tmp_path / "out", server=address)
        run("sample", "-o", "out")
        before = (out / "sampled.json").read_bytes()
        write_kubeconfig(tmp_path / "silent.yaml", address)
        sampling = subprocess.Popen(
            argv("sample", "-o", "out", "--kubeconfig", "silent.yaml"),
            env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        server.settimeout(WITHIN_S)
        with server.accept()[0]:
            sampling.send_signal(signal.SIGINT)
            printed, errors = sampling.communicate(timeout=WITHIN_S)
    assert (sampling.returncode, printed) == (130, ""), errors
    assert errors == "kubedyno: interrupted; everything that was started is stopped\n"
    assert (out / "sampled.json").read_bytes() == before
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []


def test_a_cluster_that_does_not_answer_leaves_the_recordings(run: Run, tmp_path: Path) -> None:
    address = "https://nowhere.invalid:6443"
    recorded(tmp_path / "out", server=address)
    write_kubeconfig(tmp_path / "gone.yaml", address)
    printed = run("sample", "-o", "out", "--kubeconfig", "gone.yaml")
    assert printed.stdout.startswith("out/sampled.json: 3 workloads with 1 pod, sample 1\n")
    assert printed.stderr.startswith(f"kubedyno: the API server at {address} ")
    assert printed.stderr.endswith("; this sample is from recordings only\n")


def test_sampling_while_the_submission_runs(run: Run, tmp_path: Path, env: dict[str, str]) -> None:
    run("up", "--nodes", "4")
    with subprocess.Popen(
        argv("submit", "-n", "8", "-p", "1", "--delay", "0.5", "-o", "out"),
        env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as submitting:  # fmt: skip
        journal = tmp_path / "out" / "submitted.jsonl"
        while b'"line":"entry"' not in (journal.read_bytes() if journal.exists() else b""):
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.fail(f"it ended with code {submitting.wait(0.05)}")
        run("sample", "-o", "out")
        early = read(tmp_path / "out")
        run("sample", "-o", "out")
        submitting.communicate(timeout=WITHIN_S)
    assert submitting.returncode == 0
    run("sample", "-o", "out", "--follow")
    late = read(tmp_path / "out")
    assert 1 <= len(early.workloads) <= len(late.workloads) == 8
    assert late.samples == 3
    assert [one.errors for one in late.workloads] == [()] * 8
    assert all("last_running" in one.steps for one in late.workloads)


def test_the_script_of_the_checkout_is_the_command(tmp_path: Path, env: dict[str, str]) -> None:
    recorded(tmp_path / "out1")
    done = subprocess.run(
        [sys.executable, str(SAMPLER), "-t", "training", "-o", "out1"],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=WITHIN_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("out1/sampled.json: 3 workloads with 1 pod, sample 1\n")


FIGURES = LiveFigures(
    submitted=20,
    refused=1,
    done=7,
    phases=(
        PhaseFigures("pod", "created", 20, 2.0, 0.1, 0.2),
        PhaseFigures("pod", "scheduled", 9, 0.9, 0.25, 1.5),
    ),
)


def test_the_live_view_without_a_terminal_is_a_line() -> None:
    assert line(FIGURES, Lag(probes=3, p50_s=0.003, p99_s=0.02, max_s=0.02)) == (
        "7 of 20 workloads run or have ended, 1 refused; pods: 20 created (2.0/s), 9 scheduled (0.9/s), "
        "scheduled after 250.0 ms (p50), 1.50 s (p99); lag 3.0 ms (p50), 20.0 ms (p99)"
    )
    assert line(LiveFigures(submitted=0, refused=0, done=0, phases=()), None) == (
        "0 of 0 workloads run or have ended; pods: none yet; lag unknown"
    )


def test_the_live_view_of_a_terminal_has_a_row_for_each_phase() -> None:
    drawn = table(FIGURES, None)
    assert [list(column.cells) for column in drawn.columns] == [
        ["pod", "pod"],
        ["created", "scheduled"],
        ["20", "9"],
        ["2.0", "0.9"],
        ["100.0 ms", "250.0 ms"],
        ["200.0 ms", "1.50 s"],
    ]


@pytest.mark.parametrize(
    ("duration_s", "text"), [(None, ""), (0.0015, "1.5 ms"), (-0.25, "-250.0 ms"), (61, "61.00 s")]
)
def test_times_are_told_in_fitting_units(duration_s: float | None, text: str) -> None:
    assert time_text(duration_s) == text
