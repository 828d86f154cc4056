"""The embedded engine from end to end, through the command: no program but Python is needed."""

import os
import stat
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import psutil
import pytest
from tests.commands import run_kubedyno

from kubedyno import __version__
from kubedyno.client import kubeconfig as kubeconfigs
from kubedyno.client.access import Access
from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kube.resources import NODES
from kubedyno.lab import operating
from kubedyno.measure.columns import OBJECTS, SERIES
from kubedyno.measure.records import RunRecord, TrialRecord

pytestmark = pytest.mark.unit

COMMAND_WITHIN_S = 110

Until = Callable[[Callable[[], object]], Awaitable[None]]


class Terminal:
    """Somebody who has nothing but Python: no programs on the PATH, in a cache, or to be downloaded."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {"LANG", "LC_ALL", "PYTHONPATH", "TMPDIR"}
        self.env = {
            **{name: value for name, value in os.environ.items() if name in kept},
            "PATH": "/nowhere",
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "KUBEDYNO_RELEASES_URL": "off",
            "NO_COLOR": "1",
        }

    def run(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return run_kubedyno(*args, env=self.env, cwd=self.home, within_s=COMMAND_WITHIN_S, code=code)

    def status(self) -> dict[str, Any]:
        (status,) = msgspec.json.decode(self.run("status", "--json").stdout)
        return dict(status)

    def processes(self) -> list[int]:
        """Processes whose command line speaks of this home."""
        return [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if str(self.home) in " ".join(process.info["cmdline"] or ()) and process.pid != os.getpid()
        ]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    somebody = Terminal(tmp_path)
    yield somebody
    labs = tmp_path / "state" / "kubedyno" / "labs"
    if labs.is_dir() and any(labs.iterdir()):
        somebody.run("down", "--all")
    assert somebody.processes() == []


def hello(terminal: Terminal, out: str, *options: str) -> tuple[Path, TrialRecord]:
    """Run the smallest scenario; its folder and its record."""
    terminal.run("run", "hello", "--nodes", "3", "--out", out, *options)
    (folder,) = (terminal.home / out).iterdir()
    run = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunRecord)
    assert (run.verdict, run.exit_code, run.id, run.programs) == ("passed", 0, folder.name, {})
    trial_folder = folder / run.trials[0].folder
    return trial_folder, msgspec.json.decode((trial_folder / "trial.json").read_bytes(), type=TrialRecord)


@pytest.mark.parametrize("time", ["real", "virtual"])
def test_hello_is_measured_checked_and_kept(terminal: Terminal, time: str) -> None:
    folder, trial = hello(terminal, "runs", "--time", time)
    assert (trial.engine, trial.scheduler, trial.kubelet, trial.time) == ("embedded", "reference", "builtin", time)
    assert (trial.verdict, trial.message) == ("passed", "")
    assert [one.name for one in trial.measurements] == [
        "time to schedule single pods",
        "pod scheduling latency",
        "time to schedule a gang",
    ]
    for one in trial.measurements:
        assert 0 <= one.lower <= one.value <= one.upper
    assert [check.passed for check in trial.checks] == [True, True]
    objects = pl.read_parquet(folder / "objects.parquet")
    assert objects.columns == [column.name for column in OBJECTS]
    assert set(objects["role"]) == {"job", "pod", "podgroup"}
    phases = dict(objects.filter(pl.col("role") == "pod").group_by("phase").len().iter_rows())
    assert (phases["created"], phases["scheduled"], phases["running"]) == (15, 15, 15)
    assert objects.filter(pl.col("lower_ns") > pl.col("upper_ns")).is_empty()
    series = pl.read_parquet(folder / "series.parquet")
    assert series.columns == [column.name for column in SERIES]
    assert len((folder / "times.csv").read_text().splitlines()) == 1 + 12 + 1
    for name in ("report.json", "junit.xml", "run.json"):
        assert (folder.parents[1] / name).stat().st_size > 0
    assert list((terminal.home / "state" / "kubedyno" / "runs").iterdir()) == []


def test_in_virtual_time_a_seed_repeats_to_the_nanosecond(terminal: Terminal) -> None:
    runs = [hello(terminal, out, "--time", "virtual", "--seed", "7") for out in ("first", "second")]
    (first_folder, first), (second_folder, second) = runs
    assert first.started_at == "2026-01-01T00:00:00.000000Z"
    assert first.measurements == second.measurements
    assert (first.setup_s, first.duration_s) == (second.setup_s, second.duration_s)
    first_rows, second_rows = (pl.read_parquet(folder / "objects.parquet") for folder in (first_folder, second_folder))
    assert first_rows.equals(second_rows)


def test_the_table_says_that_the_time_was_virtual(terminal: Terminal) -> None:
    first, *_ = terminal.run("run", "hello", "--nodes", "1", "--time", "virtual").stdout.splitlines()
    assert first.endswith(": engine embedded, scheduler reference, profile scale, virtual time")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--engine", "local"), "the processes of --engine local live in real time; use embedded"),
        (
            ("--scheduler", "kube-scheduler"),
            "kube-scheduler is a process of its own and lives in real time; use --scheduler reference",
        ),
        (("--kubelet", "kwok"), "kwok is a process of its own and lives in real time; use builtin"),
    ],
)
def test_what_lives_in_real_time_is_refused_in_virtual_time(
    terminal: Terminal, options: tuple[str, ...], sentence: str
) -> None:
    done = terminal.run("run", "hello", "--time", "virtual", *options, code=2)
    assert (done.stdout, done.stderr) == ("", f"kubedyno: --time virtual: {sentence}\n")
    assert list(terminal.home.iterdir()) == []


async def test_a_lab_that_stays_answers_who_has_its_token_and_goes(
    terminal: Terminal, until: Until, is_running: Callable[[int], bool]
) -> None:
    last = terminal.run("up", "--nodes", "2").stdout.splitlines()[-1]
    kubeconfig = Path(last.removeprefix("export KUBECONFIG="))
    assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600
    access = kubeconfigs.load(kubeconfig)
    async with Client.connect(access) as client:
        nodes = (await client.list_all(NODES)).items
        ready = [one["status"] for node in nodes for one in node["status"]["conditions"] if one["type"] == "Ready"]
        assert ready == ["True", "True"]
    stranger = Access(server=access.server, ca_data=access.ca_data)
    async with Client.connect(stranger) as client:
        with pytest.raises(ApiError) as caught:
            await client.list_all(NODES)
    assert (caught.value.code, caught.value.reason) == (401, "Unauthorized")

    status = terminal.status()
    assert (status["state"], status["engine"], status["kubeconfig"]) == ("ready", "embedded", str(kubeconfig))
    owner = status["owner_pid"]
    assert terminal.processes() == [owner]
    port = int(access.server.rpartition(":")[2])
    metrics = status["components"][2]["ports"]["metrics"]
    parts = {
        "server": {"secure": port},
        "controllers": {},
        "kubelets": {"metrics": metrics},
        **{name: {} for name in operating.NAMES.values()},
        "reference": {},
    }
    assert status["components"] == [
        {"name": name, "program": "kubedyno", "version": __version__, "pid": owner, "ports": ports}
        for name, ports in parts.items()
    ]
    shown = terminal.run("status").stdout.splitlines()
    assert shown[0].startswith("default: ready, engine embedded, scheduler reference, profile scale, 2 nodes, since ")
    assert [line.split("  ")[1] for line in shown[2:]] == list(parts)
    assert shown[2].endswith(f"secure={port}")
    listening = [one for one in psutil.Process(owner).net_connections("inet") if one.status == psutil.CONN_LISTEN]
    assert {(one.laddr.ip, one.laddr.port) for one in listening} == {("127.0.0.1", port), ("127.0.0.1", metrics)}

    assert terminal.run("down").stdout == "lab default is down\n"
    await until(lambda: not is_running(owner))
    assert terminal.processes() == []
    assert list((terminal.home / "state" / "kubedyno" / "labs").iterdir()) == []


def test_a_lab_without_scheduler_and_operators_has_two_activities(terminal: Terminal) -> None:
    terminal.run("up", "--scheduler", "none", "--operators", "none")
    assert [one["name"] for one in terminal.status()["components"]] == ["server", "controllers", "kubelets"]


def test_an_owner_that_was_killed_leaves_a_dead_lab(terminal: Terminal) -> None:
    terminal.run("up")
    owner = psutil.Process(terminal.status()["owner_pid"])
    owner.kill()
    psutil.wait_procs([owner], timeout=10)
    status = terminal.status()
    assert (status["state"], status["components"]) == ("dead", [])
    assert terminal.run("down").stdout == "lab default was not running; its folder is removed\n"
