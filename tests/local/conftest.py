"""What tests with real programs need: one shared control plane, and the command as a user runs it."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from tests.commands import argv, run_kubedyno
from tests.kwokmodule import KwokModule, read_kwok_module
from tests.labs import lab_in_process

from kubedyno.kit.clock import RealClock
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.lab.starting import RunningLab
from kubedyno.plane import provisioning

COMMAND_WITHIN_S = 110


@pytest.fixture(scope="session")
async def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """One control plane with kube-scheduler and a few nodes, for all tests that leave it as they found it."""
    async with lab_in_process(tmp_path_factory.mktemp("shared") / "lab", scheduler="kube-scheduler", nodes=4) as lab:
        yield lab


@pytest.fixture(scope="session")
async def kubectl_path() -> Path:
    found = await provisioning.provide(("kubectl",), bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    return found["kubectl"].path


@pytest.fixture(scope="session")
async def kwok_module() -> KwokModule:
    return await read_kwok_module()


class User:
    """Somebody at a terminal: runs commands with a state folder of their own."""

    def __init__(self, home: Path, kubectl: Path) -> None:
        self.home = home
        self.kubectl_path = kubectl
        self.env = {**os.environ, "XDG_STATE_HOME": str(home / "state"), "NO_COLOR": "1"}
        self.env.pop("KUBECONFIG", None)

    def run(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end and look at its exit code."""
        return run_kubedyno(*args, env=self.env, cwd=self.home, within_s=COMMAND_WITHIN_S, code=code)

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start a command and do not wait for it."""
        return subprocess.Popen(
            argv(*args), env=self.env, cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def up(self, *args: str) -> str:
        """`up`; the kubeconfig that its last line exports."""
        last = self.run("up", *args).stdout.splitlines()[-1]
        assert last.startswith("export KUBECONFIG=")
        return last.removeprefix("export KUBECONFIG=")

    def status(self, name: str = "default") -> dict[str, Any]:
        statuses = msgspec.json.decode(self.run("status", "--name", name, "--json").stdout)
        return dict(statuses[0])

    def kubectl(self, kubeconfig: str, *args: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [str(self.kubectl_path), "--kubeconfig", kubeconfig, *args],
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def user(tmp_path: Path, kubectl_path: Path) -> Iterator[User]:
    """A user whose labs are gone after the test, whatever happened."""
    somebody = User(tmp_path, kubectl_path)
    yield somebody
    labs = tmp_path / "state" / "kubedyno" / "labs"
    if labs.is_dir() and any(labs.iterdir()):
        somebody.run("down", "--all")
    assert processes_below(tmp_path) == []


def processes_below(folder: Path) -> list[str]:
    """Processes whose command line speaks of the folder: what a lab there has left running."""
    return [
        f"{process.pid} {' '.join(process.info['cmdline'])[:120]}"
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in " ".join(process.info["cmdline"] or ()) and process.pid != os.getpid()
    ]


def wait_gone(pids: list[int], timeout_s: float = 10.0) -> list[int]:
    """Wait until the processes have ended; those that have not."""
    there = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            there.append(psutil.Process(pid))
    _, alive = psutil.wait_procs(there, timeout=timeout_s)
    return [process.pid for process in alive]


def component_pids(status: dict[str, Any]) -> list[int]:
    return [component["pid"] for component in status["components"]]


def component_ports(status: dict[str, Any]) -> list[int]:
    return [port for component in status["components"] for port in component["ports"].values()]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def interrupt_when(process: subprocess.Popen[str], ready: Callable[[], bool]) -> tuple[str, str]:
    """Send SIGINT once `ready` is true; what the process printed."""
    wait_for(ready, while_running=process)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=COMMAND_WITHIN_S)


def wait_for(condition: Callable[[], bool], *, while_running: subprocess.Popen[str] | None = None) -> None:
    """Look at the condition until it holds; another process gives no event to await."""
    clock = RealClock()
    deadline_ns = clock.monotonic_ns() + 60 * 10**9
    while not condition():
        assert clock.monotonic_ns() < deadline_ns, "the condition did not come"
        if while_running is not None and while_running.poll() is not None:
            pytest.fail(f"the command ended early: {while_running.communicate()}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            (while_running or _SLEEPER).wait(0.05)


class _Sleeper:
    def wait(self, timeout: float) -> None:
        subprocess.run(["sleep", str(timeout)], check=True)


_SLEEPER = _Sleeper()
