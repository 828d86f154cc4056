"""`kubedyno submit`, as a user calls it: on an API server in this process, and on an embedded lab."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.commands import argv, own_env, run_kubedyno
from tests.yard import Connection

from kubedyno import cli
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS, NAMESPACES, RESOURCE_QUOTAS, SERVICE_ACCOUNTS, Resource
from kubedyno.lab import selecting
from kubedyno.model.submissions import SubmittedFile
from kubedyno.server.embedding import new_api
from kubedyno.workload import journal

pytestmark = pytest.mark.unit

WITHIN_S = 110
SUBMITTER = Path(__file__).parents[3] / "submitter.py"
PLAIN = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
"""


class Terminal:
    """Somebody who calls `kubedyno submit` and looks at the cluster, which is no lab of ours."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self._clock = RealClock()
        self._api = new_api(clock=self._clock, seed=0)
        self.connection = Connection(self._api, clock=self._clock)

    @asynccontextmanager
    async def selected(self, *_: Any, **__: Any) -> AsyncIterator[Client]:
        yield Client(self.connection, clock=self._clock)

    def call(self, *args: str, code: int = 0) -> str:
        """What was printed; of a failure the sentence."""
        self._monkeypatch.setattr(sys, "argv", ["kubedyno", "submit", *args])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = self._capsys.readouterr()
        assert int(ended.value.code or 0) == code, printed
        return printed.err.removeprefix("kubedyno: ").strip() if code else printed.out

    def create(self, resource: Resource, obj: Object) -> None:
        async def send() -> None:
            async with self.selected() as client:
                await client.create(resource, obj)

        tasks.run(send)

    def all(self, resource: Resource) -> list[Object]:
        async def look() -> list[Object]:
            async with self.selected() as client:
                return (await client.list_all(resource)).items

        return tasks.run(look)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Terminal]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    somebody = Terminal(monkeypatch, capsys)
    monkeypatch.setattr(selecting, "selected", somebody.selected)
    somebody.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": "default"}})
    return somebody


def submitted(folder: str = "out") -> SubmittedFile:
    return journal.read_file(Path(folder) / "submitted.json")


def test_workloads_are_submitted_and_on_record(terminal: Terminal) -> None:
    printed = terminal.call("-n", "11", "-p", "4", "-g", "2", "-o", "out")
    assert printed.startswith("out/submitted.json: 11 of 11 workloads submitted in ")
    file = submitted()
    jobs = {job["metadata"]["name"]: job for job in terminal.all(JOBS)}
    assert sorted(jobs) == sorted(f"training-{file.id}-{index}" for index in range(11))
    for workload in file.workloads:
        job = jobs[workload.name]
        assert workload.uid == job["metadata"]["uid"]
        assert (workload.kind, workload.namespace, workload.gpus, workload.error) == ("Job", "default", 2, None)
        assert workload.planned_ns <= workload.t_submit < (workload.t_accepted or 0)
        assert job["metadata"]["labels"] == {"kubedyno/workload": workload.name, "kubedyno/submission": file.id}
    assert (file.dialect, file.workload_type, file.simulated) == ("job", "training", ())
    assert file.asked["num_processes"] == 4
    assert file.ended_at is not None


def test_a_cluster_that_is_no_lab_is_recorded_beside(terminal: Terminal) -> None:
    terminal.call("-n", "3", "-o", "out")
    lines = Path("out/records/1/objects.jsonl").read_text().splitlines()
    created = [row for row in map(msgspec.json.decode, lines) if row["kind"] == "Job" and row["phase"] == "created"]
    assert sorted(row["workload"] for row in created) == sorted(entry.name for entry in submitted().workloads)
    recording = msgspec.json.decode(Path("out/records/1/recording.json").read_bytes())
    assert recording["whole"], recording["proof"]


def test_json_tells_the_same(terminal: Terminal) -> None:
    told = msgspec.json.decode(terminal.call("-n", "3", "--rate", "200", "-o", "out", "--json"))
    assert {key: told[key] for key in ("file", "total", "submitted", "refused", "left_out")} == {
        "file": "out/submitted.json",
        "total": 3,
        "submitted": 3,
        "refused": 0,
        "left_out": 0,
    }
    assert told["pace"]["asked_per_s"] == 200


def test_print_shows_the_objects_and_needs_no_cluster(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        pytest.fail("the cluster was asked")

    monkeypatch.setattr(selecting, "selected", refuse)
    printed = terminal.call(
        "--print", "-n", "2", "-t", "distributed", "--num-workers", "7", "--pvc", "--scheduler", "kai", "--project", "q"
    )
    claim, job, _, _ = yaml.safe_load_all(printed)
    assert claim["kind"] == "PersistentVolumeClaim"
    assert job["kind"] == "PyTorchJob"
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 7
    assert job["metadata"]["labels"]["kai.scheduler/queue"] == "q"
    assert list(Path().iterdir()) == []


def test_any_yaml_at_all_can_be_submitted(terminal: Terminal) -> None:
    Path("job.yaml").write_text(PLAIN)
    terminal.call("-n", "2", "-o", "out", "--template", "job.yaml", "--field", "spec.template.spec.priority=0")
    assert sorted(job["metadata"]["name"] for job in terminal.all(JOBS)) == ["train-0", "train-1"]
    assert [job["spec"]["template"]["spec"]["priority"] for job in terminal.all(JOBS)] == [0, 0]


def test_the_command_line_goes_over_the_settings_file(terminal: Terminal) -> None:
    for name in ("a", "b", "c"):
        terminal.create(NAMESPACES, {"metadata": {"name": name}})
        terminal.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}})
    Path("settings.yaml").write_text("project: a,b\nimage: registry/x:1\nscheduler_name: other\n")
    terminal.call("-n", "4", "-o", "one")
    assert [workload.namespace for workload in submitted("one").workloads] == ["a", "b", "a", "b"]
    pod = terminal.all(JOBS)[0]["spec"]["template"]["spec"]
    assert (pod["containers"][0]["image"], pod["schedulerName"]) == ("registry/x:1", "other")
    terminal.call("-n", "1", "-o", "two", "--project", "c", "--project", "a", "--count-per-project")
    assert [workload.project for workload in submitted("two").workloads] == ["c", "a"]
    Path("settings.yaml").write_text("namespace: b\n")
    terminal.call("-n", "1", "-o", "four", "--project", "c")
    assert [workload.namespace for workload in submitted("four").workloads] == ["c"]
    Path("settings.yaml").write_text("image: y\nprojects: x\n")
    assert terminal.call("-n", "1", "-o", "three", code=2) == (
        "settings.yaml: projects: there is no such setting; did you mean 'project'?"
    )


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["-n", "1"], "-o/--output-dir is missing: name the folder that gets submitted.json"),
        (["-o", "out"], "-n/--num-workloads is missing: say how many workloads to submit"),
        (["-n", "1", "-o", "out", "--rate", "5", "--delay", "1"], "--delay belongs to iterations"),
        (["-n", "1", "-o", "out", "--rate", "5", "-p", "1"], "-p/--num-processes belongs to iterations"),
        (["-n", "1", "-o", "out", "--arrival", "poisson"], "--arrival poisson needs --rate"),
        (["-n", "1", "-o", "out", "--scheduler", "kia"], "there is no dialect 'kia': did you mean 'kai'?"),
        (
            ["-n", "1", "-o", "out", "--project", "defaults"],
            "--project defaults: there is no Namespace 'defaults': did you mean 'default'?; make it, or name",
        ),
        (
            ["-n", "1", "-o", "out", "--project", "q", "--scheduler", "kai"],
            "--project q: there is no Queue 'q': the cluster has no queues.scheduling.run.ai; make it, or name another",
        ),
        (
            ["-n", "1", "-o", "out", "--namespace", "nowhere"],
            (
                "there is no namespace 'nowhere': known are: default, kube-node-lease, kube-public, kube-system; "
                "`kubectl create namespace nowhere` makes it"
            ),
        ),
        (
            ["-n", "1", "-o", "out", "--project", "default", "--namespace", "default"],
            "a project is a namespace in dialect job: give --project or --namespace, not both",
        ),
        (
            ["-n", "1", "-o", "out", "--scheduler", "jobset"],
            (
                "dialect jobset makes a JobSet of jobset.x-k8s.io/v1alpha2, which the cluster does not have: "
                "install what brings it, choose another dialect with --scheduler, or only look at the objects with "
                "--print"
            ),
        ),
        (["-n", "1", "-o", "out", "--template", "no.yaml"], "--template no.yaml: No such file or directory"),
        (["-n", "1", "-o", "out", "--template", "broken.yaml"], "broken.yaml:2:1: "),
        (
            ["-n", "1", "-o", "out", "--template", "nameless.yaml"],
            "nameless.yaml: document 1: metadata.name is missing",
        ),
        (["-n", "1", "-o", "out", "--field", "spec"], "--field spec: write it as path=value"),
        (["-n", "1", "-o", "out", "--delay", "soon"], "'soon' is no duration: write it like 30s, 1m30s or 250ms"),
        (["-n", "1", "-o", "out", "--resume", "--print"], "--print sends nothing, so there is nothing to --resume"),
        (["-o", "out", "--resume"], "out/submitted.jsonl does not exist: `kubedyno submit -o out` makes it"),
        (["-n", "1", "-o", "file/out"], "-o file/out: Not a directory; name a folder that can be written"),
        (["-n", "9", "-o", "out", "--trace", "trace"], "has 2 times for 9 workloads"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_sent(terminal: Terminal, args: list[str], sentence: str) -> None:
    Path("broken.yaml").write_text("a: [\n")
    Path("nameless.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    Path("file").write_text("")
    Path("trace").write_text("0\n1\n")
    before = len(terminal.connection.writes)
    printed = terminal.call(*args, code=2)
    assert sentence in printed.replace(f"{Path.cwd()}/", "")
    assert len(terminal.connection.writes) == before
    assert not Path("out/submitted.jsonl").exists()


def test_a_quota_refusal_is_on_record_and_the_exit_code_is_one(terminal: Terminal) -> None:
    hard = {"count/jobs.batch": "3"}
    quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": hard}}
    terminal.create(RESOURCE_QUOTAS, quota)

    async def count() -> None:
        async with terminal.selected() as client:
            used = {"hard": hard, "used": {"count/jobs.batch": "0"}}
            await client.modify(
                RESOURCE_QUOTAS, "q", lambda obj: obj.update(status=used), namespace="default", subresource="status"
            )

    tasks.run(count)
    printed = terminal.call("-n", "5", "-p", "1", "-o", "out", code=1)
    file = submitted()
    assert printed == (f"2 of 5 workloads were refused; the first: training-{file.id}-3: {file.workloads[3].error}")
    assert 'jobs.batch "' in printed
    assert "exceeded quota: q" in printed
    assert file.ended_at is not None
    assert len(terminal.all(JOBS)) == 3


def test_a_folder_is_never_written_over(terminal: Terminal) -> None:
    terminal.call("-n", "2", "-o", "out")
    before = Path("out/submitted.json").read_bytes()
    file = submitted()
    assert terminal.call("-n", "2", "-o", "out", code=2) == (
        f"out/submitted.jsonl holds submission {file.id} with 2 workloads already: name another folder with -o"
    )
    assert "there is nothing to go on with" in terminal.call("--resume", "-o", "out", code=2)
    assert Path("out/submitted.json").read_bytes() == before
    assert len(terminal.all(JOBS)) == 2


def interrupted(terminal: Terminal) -> SubmittedFile:
    """A submission of five of which the last two are not on record."""
    terminal.call("-n", "5", "-p", "1", "-o", "out")
    file = Path("out/submitted.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:8]))
    Path("out/submitted.json").unlink()
    return journal.read_folder(Path("out"))


def test_a_submission_goes_on_with_all_that_was_asked_for(terminal: Terminal) -> None:
    before = interrupted(terminal)
    assert len(before.workloads) == 4
    terminal.call("--resume", "-o", "out")
    jobs = {job["metadata"]["name"]: job["metadata"]["uid"] for job in terminal.all(JOBS)}
    assert {workload.name: workload.uid for workload in submitted().workloads} == jobs
    assert len(jobs) == 5


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["-n", "6"], "--resume: num_workloads was 5 when the submission began, not 6: leave it out, or begin"),
        (["-t", "interactive"], '--resume: workload_type was "training" when the submission began, not "interactive"'),
        (["--scheduler", "kube"], "--scheduler kube: the submission in out/submitted.jsonl is written in job"),
    ],
)
def test_a_submission_does_not_go_on_as_another_one(terminal: Terminal, args: list[str], sentence: str) -> None:
    interrupted(terminal)
    assert terminal.call("--resume", "-o", "out", *args, code=2).startswith(sentence)


def test_a_template_that_has_changed_is_not_gone_on_with(terminal: Terminal) -> None:
    Path("job.yaml").write_text(PLAIN)
    terminal.call("-n", "2", "-p", "1", "-o", "out", "--template", "job.yaml")
    file = Path("out/submitted.jsonl")
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:3]))
    Path("job.yaml").write_text(PLAIN.replace("image: i", "image: j"))
    assert "has changed since the submission began: put it back" in terminal.call("--resume", "-o", "out", code=2)


RUNAI = """\
import json, sys
with open({calls!r}, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
if "-1" in sys.argv[sys.argv.index("--name") + 1][-2:]:
    sys.exit("no such project")
"""


def test_a_command_line_tool_is_called_for_each_workload(
    terminal: Terminal, script: Callable[[Path, str], Path], tmp_path: Path
) -> None:
    stand_in = f"#!{sys.executable}\n" + RUNAI.format(calls=str(tmp_path / "calls"))
    runai = script(tmp_path / "runai", stand_in)
    commands = {
        kind: [str(runai), *words, "--name", "{{ name }}", "-p", "{{ project }}", "-g", "{{ gpus }}"]
        for kind, words in (("training", ["submit"]), ("distributed", ["submit-dist", "--workers", "{{ workers }}"]))
    }
    Path("settings.yaml").write_text(yaml.safe_dump({"via": "cli", "cli": commands}))
    printed = terminal.call("-n", "3", "-t", "distributed", "--num-workers", "7", "-g", "4", "-o", "out", code=1)
    file = submitted()
    assert printed.startswith(
        f"1 of 3 workloads were refused; the first: distributed-{file.id}-1: `{runai} submit-dist "
    )
    assert printed.endswith("ended with 1 and said: no such project")
    calls = sorted(map(msgspec.json.decode, (tmp_path / "calls").read_text().splitlines()))
    assert calls == [
        ["submit-dist", "--workers", "7", "--name", f"distributed-{file.id}-{index}", "-p", "", "-g", "4"]
        for index in range(3)
    ]
    assert [workload.t_accepted is not None for workload in sorted(file.workloads, key=lambda one: one.name)] == [
        True,
        False,
        True,
    ]
    assert terminal.all(JOBS) == []


def test_a_tool_that_is_not_there_is_a_usage_error(terminal: Terminal) -> None:
    Path("settings.yaml").write_text("via: cli\ncli: {training: [no-such-tool]}\n")
    assert terminal.call("-n", "1", "-o", "out", code=2).startswith(
        "no-such-tool is not there: install it, or name another program in the settings"
    )
    assert not Path("out").exists()


def test_backend_times_without_a_source_are_refused(terminal: Terminal) -> None:
    Path("settings.yaml").write_text("backend_times: true\n")
    assert terminal.call("-n", "1", "-o", "out", code=2).startswith(
        "settings.yaml: backend_times is on, but no backend_source says where they come from"
    )


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    env = own_env(tmp_path)
    yield env
    run_kubedyno("down", "--all", env=env, cwd=tmp_path, within_s=WITHIN_S)


def end_in_the_middle(env: dict[str, str], folder: Path, number: signal.Signals) -> tuple[int, str]:
    """Begin a submission of 24 and end it after a few; its exit code, and what it said."""
    process = subprocess.Popen(
        argv("submit", "-n", "24", "-p", "2", "--delay", "0.1", "-o", "out"),
        env=env,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    file = folder / "out" / "submitted.jsonl"
    while process.poll() is None and not (file.exists() and file.read_bytes().count(b"entry") >= 4):
        subprocess.run(["sleep", "0.05"], check=True)
    process.send_signal(number)
    _, said = process.communicate(timeout=WITHIN_S)
    return process.returncode, said


def test_a_user_interrupts_and_goes_on_also_after_a_kill(env: dict[str, str], tmp_path: Path) -> None:
    run_kubedyno("up", "--nodes", "1", env=env, cwd=tmp_path, within_s=WITHIN_S)
    code, said = end_in_the_middle(env, tmp_path, signal.SIGINT)
    assert code == 130, said
    assert "of 24 workloads are on record: `kubedyno submit --resume -o out` goes on\n" in said
    assert said.endswith("kubedyno: interrupted; everything that was started is stopped\n")
    before = journal.read_file(tmp_path / "out" / "submitted.json")
    assert 4 <= len(before.workloads) < 24
    assert before.ended_at is None
    done = subprocess.run(
        [SUBMITTER, "--resume", "-o", "out"], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("out/submitted.json: 24 of 24 workloads submitted")
    after = journal.read_file(tmp_path / "out" / "submitted.json")
    assert len({workload.uid for workload in after.workloads}) == 24
    assert after.dialect == "reference"
    assert after.workloads[: len(before.workloads)] == before.workloads
    (tmp_path / "out").rename(tmp_path / "first")
    end_in_the_middle(env, tmp_path, signal.SIGKILL)
    assert not (tmp_path / "out" / "submitted.json").exists()
    killed = journal.read_folder(tmp_path / "out")
    assert 4 <= len(killed.workloads) < 24
    run_kubedyno("submit", "--resume", "-o", "out", env=env, cwd=tmp_path, within_s=WITHIN_S)
    after = journal.read_file(tmp_path / "out" / "submitted.json")
    assert len({workload.uid for workload in after.workloads}) == 24
