"""The command line, as a user meets it; nothing is ever started."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from kubedyno import __version__, cli
from kubedyno.cli import COMMANDS
from kubedyno.kit import tasks
from kubedyno.kit.errors import CheckFailed, EngineError, InvalidRun, KubedynoError, UsageError
from kubedyno.lab import operating
from kubedyno.sim.stages.sets import default_stages

pytestmark = pytest.mark.unit


class Outcome:
    """What a call of the command printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


Kubedyno = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NODE_COUNT", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def kubedyno(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kubedyno:
    def call(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["kubedyno", *args])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), printed.out, printed.err)

    return call


@pytest.mark.parametrize("name", COMMANDS)
def test_the_listed_line_is_the_first_of_the_commands_own_help(name: str) -> None:
    module, line = COMMANDS[name]
    command = importlib.import_module(module).command
    assert command.name == name
    assert (command.help or "").partition("\n")[0] == line
    assert line.endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_explains_itself(name: str) -> None:
    command = importlib.import_module(COMMANDS[name][0]).command
    result = CliRunner().invoke(command, ["--help"])
    assert result.exit_code == 0
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_help_lists_every_command_with_its_line(kubedyno: Kubedyno) -> None:
    for option in ("--help", "-h"):
        outcome = kubedyno(option)
        assert outcome.code == 0
        shown = " ".join(outcome.out.split())
        for name, (_, line) in COMMANDS.items():
            assert f"{name} {line}" in shown


def test_help_is_fast_because_it_imports_little() -> None:
    source = (
        "import sys; sys.argv = ['kubedyno', '--help']\n"
        "from kubedyno.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    heavy = {"aiohttp", "polars", "rich", "cryptography", "psutil", "structlog", "yaml"}
    assert "kubedyno.cli" in loaded
    assert {module for module in loaded if module.partition(".")[0] in heavy} == set()


def test_importing_the_lab_for_a_dry_run_loads_no_frames() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kubedyno", "up", "--dry-run"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "polars" not in done.stderr


def test_the_version_is_told(kubedyno: Kubedyno) -> None:
    outcome = kubedyno("--version")
    assert outcome.code == 0
    assert outcome.out == f"kubedyno, version {__version__}\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("statsu",), "there is no command 'statsu': did you mean 'status'?"),
        (("xyz",), f"there is no command 'xyz': known are: {', '.join(sorted(COMMANDS))}"),
        (("up", "--nonsense"), "No such option '--nonsense'."),
        (("up", "--nodes", "many"), "Invalid value for '--nodes': 'many' is not a valid integer."),
        (("run",), "Missing argument 'SCENARIO...'."),
        (("--nonsense",), "No such option '--nonsense'."),
    ],
)
def test_a_wrong_command_line_ends_with_2(kubedyno: Kubedyno, args: tuple[str, ...], said: str) -> None:
    outcome = kubedyno(*args)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.splitlines()[0].startswith("Usage: kubedyno")
    assert outcome.err.splitlines()[-1].startswith(f"Error: {said}")
    assert "Traceback" not in outcome.err


def test_without_a_command_the_help_is_shown(kubedyno: Kubedyno) -> None:
    outcome = kubedyno()
    assert outcome.code == 2
    assert "Commands:" in outcome.err + outcome.out


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            ("up", "--name", "My_Lab"),
            "--name My_Lab: a lab's name has up to 40 lower-case letters, digits and dashes, like my-lab",
        ),
        (("up", "--scheduler", "kube-shceduler"), "--scheduler kube-shceduler: did you mean 'kube-scheduler'?"),
        (
            ("up", "--scheduler", "kai"),
            (
                "--scheduler kai: its clients take protobuf answers only, which the embedded engine does not give; "
                "use --engine local"
            ),
        ),
        (("up", "--ha"), "--ha stacked: the embedded engine is one process; use --engine local"),
        (("up", "--audit-log"), "--audit-log: this is a setting of the real API server; use --engine local"),
        (
            ("up", "--runtime-config", "api/all=true"),
            "--runtime-config: this is a setting of the real API server; use --engine local",
        ),
        (
            ("run", "hello", "--time", "virtual", "--engine", "local"),
            "--time virtual: the processes of --engine local live in real time; use embedded",
        ),
        (
            ("run", "hello", "--time", "virtual", "--scheduler", "kube-scheduler"),
            "--time virtual: kube-scheduler is a process of its own and lives in real time; use --scheduler reference",
        ),
        (
            ("run", "hello", "--time", "virtual", "--kubelet", "kwok"),
            "--time virtual: kwok is a process of its own and lives in real time; use builtin",
        ),
        (("run", "hello", "--time", "virtuall"), "--time virtuall: did you mean 'virtual'?"),
        (("up", "--set", "qps=1"), "--set qps=1: write it as component.field=value, for example binder.qps=20"),
        (
            ("up", "--dry-run", "--engine", "local", "--set", "bindr.qps=1", "--scheduler", "kai"),
            "--set bindr....: this lab has no component 'bindr'; did you mean 'binder'?",
        ),
        (
            ("up", "--dry-run", "--engine", "local", "--set", "kube-scheduler.parallelism=*"),
            "--set ...parallelism=*: this is no value of YAML; write it in quotes: '\"*\"'",
        ),
        (("up", "--feature-gates", "A"), "--feature-gates A: write it as Gate=true or Gate=false"),
        (("up", "--scheduler-config", "none.yaml"), "--scheduler-config none.yaml: No such file or directory"),
        (("down",), "there is no lab: `kubedyno up` makes one"),
        (("down", "--name", "x"), "there is no lab 'x': none are known; `kubedyno up --name x` makes one"),
        (("status", "--name", "x"), "there is no lab 'x': none are known; `kubedyno up --name x` makes one"),
        (("run", "helo"), "there is no scenario 'helo': did you mean 'hello'?"),
        (("run", "hello", "-p", "node=3"), "-p node=...: scenario hello has no such parameter; did you mean 'nodes'?"),
        (("run", "hello", "-p", "nodes=x"), "-p nodes=x: scenario hello takes int there, for example nodes=4"),
        (("run", "hello", "-p", "nodes"), "-p nodes: write it as key=value"),
        (("run", "hello", "--nodes", "3", "-p", "nodes=3"), "--nodes and -p nodes=...: give one of them"),
        (("run", "hello", "--nodes", "0"), "-p nodes=0: scenario hello takes 1 or more there"),
        (
            ("run", "kai/*", "nothing/*"),
            "no scenario matches 'nothing/*': `kubedyno list` shows all of them",
        ),
        (("run", "fil"), "there is no scenario 'fil': did you mean 'fill'?"),
        (("run", "mine.py::fill"), "mine.py: there is no such file"),
        (("run", "hello", "--repeat", "0"), "--repeat 0: write 1 or more"),
        (("run", "hello", "-p", "patience_s=0"), "-p patience_s=0.0: scenario hello takes 0.1 or more there"),
        (
            ("run", "hello", "--scheduler", "reference", "--scheduler", "reference"),
            "--scheduler reference: it stands there twice; --repeat runs a trial several times",
        ),
        (("run", "hello", "--engine", "local", "--ha", "none,tree"), "--ha tree: known are: external, none, stacked"),
        (("run", "hello", "--scheduler", "kia"), "--scheduler kia: did you mean 'kai'?"),
        (
            ("run", "hello", "--scheduler", "reference", "--scheduler", "kai"),
            (
                "--scheduler kai: its clients take protobuf answers only, which the embedded engine does not give; "
                "use --engine local"
            ),
        ),
        (("run", "hello", "--thresholds", "none.yaml"), "--thresholds none.yaml: No such file or directory"),
        (
            ("run", "hello", "--name", "nobody"),
            "there is no lab 'nobody': none are known; `kubedyno up --name nobody` makes one",
        ),
        (
            ("run", "hello", "--name", "nobody", "--profile", "scale"),
            "--profile: the lab is there already, and is what it is; leave it out",
        ),
        (("run", "hello", "--context", "c"), "--context c: of which file? Give --kubeconfig or set KUBECONFIG"),
        (("run", "hello", "--scheduler", "none"), "--scheduler none: a scenario needs a scheduler to measure"),
        (("run", "hello", "--profile", "fast"), "--profile fast: known are: production, scale, unthrottled"),
    ],
)
def test_a_refusal_is_one_sentence_and_starts_nothing(
    kubedyno: Kubedyno, tmp_path: Path, args: tuple[str, ...], sentence: str
) -> None:
    outcome = kubedyno(*args)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"kubedyno: {sentence}\n")
    assert list(tmp_path.iterdir()) == []


def test_with_debug_a_traceback_comes_before_the_sentence(kubedyno: Kubedyno) -> None:
    outcome = kubedyno("--debug", "run", "helo")
    assert outcome.code == 2
    assert outcome.err.startswith("Traceback (most recent call last):\n")
    assert outcome.err.endswith("\nkubedyno: there is no scenario 'helo': did you mean 'hello'?\n")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("wrong"), 2, "kubedyno: wrong\n"),
        (EngineError("broken\n  | its log"), 3, "kubedyno: broken\n  | its log\n"),
        (CheckFailed("crowded"), 1, "kubedyno: crowded\n"),
        (InvalidRun("stalled"), 4, "kubedyno: stalled\n"),
        (KubedynoError("other"), 3, "kubedyno: other\n"),
        (tasks.Interrupted(), 130, "kubedyno: interrupted; everything that was started is stopped\n"),
        (KeyboardInterrupt(), 130, "kubedyno: interrupted; everything that was started is stopped\n"),
        (
            OSError(28, "No space left on device", "/data/x"),
            3,
            "kubedyno: the disk is full: /data/x; free some space there\n",
        ),
    ],
)
def test_errors_become_exit_codes(
    kubedyno: Kubedyno, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(importlib.import_module("kubedyno.cli.list").command, "callback", fail)
    outcome = kubedyno("list")
    assert (outcome.code, outcome.out, outcome.err.removeprefix("\n")) == (code, "", said)  # click ends the line of ^C


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(importlib.import_module("kubedyno.cli.list").command, "callback", fail)
    monkeypatch.setattr(sys, "argv", ["kubedyno", "list"])
    with pytest.raises(RuntimeError, match=r"^a bug$"):
        cli.main()


@pytest.mark.parametrize("scheduler", ["none", "kube-scheduler", "kai"])
def test_a_dry_run_prints_the_plan_and_starts_nothing(kubedyno: Kubedyno, tmp_path: Path, scheduler: str) -> None:
    outcome = kubedyno(
        "up", "--dry-run", "--engine", "local", "--name", "mine", "--scheduler", scheduler, "--nodes", "7"
    )
    assert (outcome.code, outcome.err) == (0, "")
    plan = yaml.safe_load(outcome.out)
    assert (plan["lab"], plan["nodes"], plan["profile"]) == ("mine", 7, "scale")
    assert plan["components"][0]["name"] == "etcd"
    assert str(tmp_path / "state" / "kubedyno" / "labs" / "mine") in outcome.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "engine", "components", "activities"),
    [
        ((), "embedded", [], ["controllers", "kubelets", "reference"]),
        (("--scheduler", "none"), "embedded", [], ["controllers", "kubelets"]),
        (("--scheduler", "kube-scheduler"), "embedded", ["kube-scheduler"], ["controllers", "kubelets"]),
        (("--kubelet", "kwok"), "embedded", ["kwok"], ["controllers", "devices", "reference"]),
        (("--kubelet", "none"), "embedded", [], ["controllers", "reference"]),
        (
            ("--engine", "local"),
            "local",
            ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelets"],
            [],
        ),
        (
            ("--engine", "local", "--scheduler", "reference", "--kubelet", "kwok"),
            "local",
            ["etcd", "kube-apiserver", "kube-controller-manager", "kwok"],
            ["devices", "reference"],
        ),
    ],
)
def test_what_is_not_said_is_chosen_by_the_engine(
    kubedyno: Kubedyno, options: tuple[str, ...], engine: str, components: list[str], activities: list[str]
) -> None:
    plan = yaml.safe_load(kubedyno("up", "--dry-run", *options).out)
    assert plan["engine"] == engine
    assert [component["name"] for component in plan["components"]] == components
    assert plan.get("activities", []) == [*activities, *operating.NAMES.values()]


@pytest.mark.parametrize(
    ("asked", "simulated"),
    [
        ("all", list(operating.NAMES)),
        ("none", []),
        ("volumes,training", ["training", "volumes"]),
    ],
)
def test_operators_can_be_chosen(kubedyno: Kubedyno, asked: str, simulated: list[str]) -> None:
    plan = yaml.safe_load(kubedyno("up", "--dry-run", "--scheduler", "none", "--operators", asked).out)
    assert plan["activities"] == ["controllers", "kubelets", *(operating.NAMES[name] for name in simulated)]


def test_an_operator_that_is_not_known_is_told(kubedyno: Kubedyno) -> None:
    outcome = kubedyno("up", "--operators", "trainings")
    assert outcome.code == 2
    assert outcome.err.startswith("kubedyno: --operators trainings: did you mean 'training'?")


@pytest.mark.parametrize(("options", "stores"), [(("--ha",), 1), (("--ha", "stacked"), 1), (("--ha", "external"), 3)])
def test_high_availability_may_name_its_kind(kubedyno: Kubedyno, options: tuple[str, ...], stores: int) -> None:
    plan = yaml.safe_load(kubedyno("up", "--engine", "local", *options, "--dry-run").out)
    servers = [component for component in plan["components"] if component["program"] == "kube-apiserver"]
    assert len(servers) == 3
    (flag,) = [arg for arg in servers[0]["args"] if arg.startswith("--etcd-servers=")]
    assert len(flag.split(",")) == stores


def test_options_of_the_lab_reach_the_plan(kubedyno: Kubedyno, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("parallelism: 8\nclientConnection: {burst: 7}\n")
    (tmp_path / "stage.yaml").write_bytes(default_stages()[0].read_bytes())
    outcome = kubedyno(
        "up",
        "--dry-run",
        "--engine=local",
        "--scheduler-config=config.yaml",
        "--set=kube-scheduler.clientConnection.qps=20",
        "--set=etcd.snapshot-count=5",
        "--feature-gates=A=true,B=false",
        "--runtime-config=api/all=true",
        "--audit-log",
        "--stages=stage.yaml",
        "--profile=production",
    )
    assert outcome.code == 0
    plan = {component["name"]: component for component in yaml.safe_load(outcome.out)["components"]}
    config = yaml.safe_load(plan["kube-scheduler"]["files"][0]["text"])
    assert config["parallelism"] == 8
    assert (config["clientConnection"]["qps"], config["clientConnection"]["burst"]) == (20, 7)
    assert "--snapshot-count=5" in plan["etcd"]["args"]
    assert any("A=true,B=false" in arg for arg in plan["kube-apiserver"]["args"])
    assert any(arg.startswith("--audit-log-path=") for arg in plan["kube-apiserver"]["args"])
    assert f"--stages={tmp_path / 'stage.yaml'}" in plan["kubelets"]["args"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n---\nb: 2\n", "holds 2 documents; give one"),
        ("", "holds 0 documents; give one"),
        ("- a\n- b\n", ""),
        ("a: [1\n", ""),
    ],
)
def test_a_configuration_that_is_none_is_refused_by_name(
    kubedyno: Kubedyno, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "config.yaml").write_text(text)
    outcome = kubedyno("up", "--dry-run", "--scheduler-config", "config.yaml")
    assert outcome.code == 2
    assert outcome.err.startswith("kubedyno: ")
    assert "config.yaml" in outcome.err
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_without_labs_status_says_so(kubedyno: Kubedyno) -> None:
    outcome = kubedyno("status")
    assert (outcome.code, outcome.out, outcome.err) == (0, "there is no lab: `kubedyno up` makes one\n", "")
    assert kubedyno("status", "--json").out == "[]\n"


def test_list_shows_scenarios_with_their_parameters(kubedyno: Kubedyno) -> None:
    outcome = kubedyno("list")
    assert outcome.code == 0
    assert "hello  [first-steps]\n" in outcome.out
    assert "  -p nodes=4  (int from 1 to 50000)  how many nodes there are, with 8 GPUs each\n" in outcome.out
    assert "kai/fill (or fill)  [" in outcome.out
    assert "  scheduler kube-scheduler cannot do it: consolidation: " in outcome.out
    listed = yaml.safe_load(kubedyno("list", "--json").out)
    (hello,) = [scenario for scenario in listed if scenario["name"] == "hello"]
    doc = "how many nodes there are, with 8 GPUs each"
    assert hello["parameters"][0] == {
        "name": "nodes", "type": "int", "default": 4, "doc": doc, "least": 1, "most": 50000, "choices": []
    }  # fmt: skip
    runs_on = {(one["engine"], one["scheduler"]): one for one in hello["runs_on"]}
    assert runs_on["embedded", "reference"] == {
        "engine": "embedded", "scheduler": "reference", "applies": True, "reason": None
    }  # fmt: skip
    assert runs_on["embedded", "kai"]["reason"] == "scheduler kai cannot be mounted on the embedded engine"
    (moved,) = [scenario for scenario in listed if scenario["name"] == "kai/consolidate"]
    refused = [one for one in moved["runs_on"] if one["scheduler"] == "kube-scheduler"]
    assert [one["applies"] for one in refused] == [False, False]
    assert refused[0]["reason"].startswith("scheduler kube-scheduler cannot do it: consolidation: ")
    assert moved["needs"]


def test_a_process_of_its_own_ends_with_the_same_codes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kubedyno", "run", "helo"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kubedyno: there is no scenario 'helo': did you mean 'hello'?\n"
