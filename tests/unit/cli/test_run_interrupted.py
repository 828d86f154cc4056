"""Ctrl-C in every phase of a run: exit code 130, a folder that tells the story, nothing left running."""

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.commands import argv, run_kubedyno

from kubedyno.measure.records import RunRecord, TrialRecord, Verdict

pytestmark = pytest.mark.unit

Until = Callable[[Callable[[], object]], Awaitable[None]]
WITHIN_S = 100

MINE = '''
import asyncio, os, pathlib, signal
from kubedyno.kit.errors import CheckFailed
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.shapes import training

HERE = pathlib.Path(__file__).parent

async def wait() -> None:
    (HERE / "here").touch()
    await asyncio.sleep(1000)

@scenario()
async def setting_up(lab: Lab) -> None:
    """Interrupted before the timed part."""
    await lab.nodes("gpu", count=1)
    await wait()

@scenario()
async def while_paused(lab: Lab) -> None:
    """Interrupted while the scheduler is paused."""
    await lab.nodes("gpu", count=1)
    async with lab.scheduler.paused():
        await lab.submit(training(), count=2)
        await wait()

@scenario()
async def while_timed(lab: Lab) -> None:
    """Interrupted in the timed part."""
    await lab.nodes("gpu", count=1)
    jobs = await lab.submit(training(), count=2)
    await lab.running(jobs)
    lab.expect("two run", len(lab.placement(jobs)) == 2)
    with lab.timed():
        await wait()

@scenario()
async def found_wrong(lab: Lab) -> None:
    """Interrupted when it has found something."""
    await lab.nodes("gpu", count=1)
    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
    raise CheckFailed("a pod is missing")

@scenario()
async def stuck(lab: Lab) -> None:
    """What it makes does not go away."""
    await lab._client.create(
        await lab._client.resource("v1", "ConfigMap"),
        {"metadata": {"name": "stuck", "namespace": lab._namespace, "finalizers": ["example.com/never"]}},
    )
    (HERE / "here").touch()
'''

# A scheduler that says its version, and then never gets healthy.
SLEEPER = """#!/bin/sh
case "$*" in *--version*) echo "Kubernetes v1.36.3"; exit 0;; esac
touch "{here}"
exec sleep 1000
"""


class Somebody:
    """Who runs the command in a terminal, and loses patience."""

    def __init__(self, home: Path, until: Until) -> None:
        self.home = home
        self.here = home / "here"
        self.until = until
        self.env = {
            **{name: value for name, value in os.environ.items() if name not in {"NODE_COUNT", "KUBECONFIG"}},
            "XDG_STATE_HOME": str(home / "state"),
            "NO_COLOR": "1",
        }
        (home / "mine.py").write_text(MINE)

    async def interrupt(self, *args: str) -> str:
        """Send SIGINT when it has come so far; what it said then."""
        process = subprocess.Popen(  # noqa: ASYNC220 - it is waited for without blocking
            argv("run", *args), env=self.env, cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            await self.until(lambda: self.here.exists() or process.poll() is not None)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=WITHIN_S)
        finally:
            process.kill()
        assert process.returncode == 130, out + err
        assert "Traceback" not in err
        return err

    def folder(self) -> tuple[RunRecord, TrialRecord]:
        (path,) = (self.home / "runs").iterdir()
        run = msgspec.json.decode((path / "run.json").read_bytes(), type=RunRecord)
        trial = msgspec.json.decode((path / run.trials[-1].folder / "trial.json").read_bytes(), type=TrialRecord)
        return run, trial

    def processes(self) -> list[int]:
        return [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if str(self.home) in " ".join(process.info["cmdline"] or ())
        ]


@pytest.fixture
def somebody(tmp_path: Path, until: Until) -> Somebody:
    return Somebody(tmp_path, until)


async def test_what_the_scenario_had_found_is_told(somebody: Somebody) -> None:
    await somebody.interrupt("mine.py::found_wrong")
    _, trial = somebody.folder()
    assert trial.verdict == Verdict.INTERRUPTED
    assert trial.message == "interrupted while the trial was being finished; a pod is missing"
    assert somebody.processes() == []


@pytest.mark.parametrize("name", ["setting_up", "while_paused", "while_timed"])
async def test_in_a_scenario(somebody: Somebody, name: str) -> None:
    err = await somebody.interrupt(f"mine.py::{name}")
    run, trial = somebody.folder()
    assert err == (
        f"what was measured until then is in runs/{run.id}\n"
        "kubedyno: interrupted; everything that was started is stopped\n"
    )
    assert (run.verdict, run.exit_code) == (Verdict.INTERRUPTED, 130)
    assert (trial.verdict, trial.message) == (Verdict.INTERRUPTED, "interrupted in the scenario")
    if name == "while_timed":
        assert trial.checks[0].passed
        assert trial.timed_s is not None
    assert somebody.processes() == []
    assert list((somebody.home / "state" / "kubedyno" / "runs").iterdir()) == []


async def test_while_the_lab_is_being_started(somebody: Somebody) -> None:
    programs = somebody.home / "bin"
    programs.mkdir()
    (programs / "kube-scheduler").write_text(SLEEPER.format(here=somebody.here))
    (programs / "kube-scheduler").chmod(0o755)
    await somebody.interrupt("mine.py::while_timed", "--scheduler", "kube-scheduler", "--bin-dir", str(programs))
    _, trial = somebody.folder()
    assert (trial.verdict, trial.message) == (
        Verdict.INTERRUPTED,
        "interrupted while the lab was being started",
    )
    assert somebody.processes() == []


async def test_while_what_it_made_on_a_lab_that_stays_is_being_removed(somebody: Somebody) -> None:
    run_kubedyno("up", "--name", "stays", env=somebody.env, cwd=somebody.home, within_s=WITHIN_S)
    try:
        await somebody.interrupt("mine.py::stuck", "--name", "stays")
        run, trial = somebody.folder()
        assert run.verdict == trial.verdict == Verdict.INTERRUPTED
        assert trial.message.startswith("interrupted ")
        assert f"; namespaces of the run did not go away within 5 s: stuck-{run.id}; see `kubectl get " in trial.message
    finally:
        run_kubedyno("down", "--name", "stays", env=somebody.env, cwd=somebody.home, within_s=WITHIN_S)
    assert somebody.processes() == []
