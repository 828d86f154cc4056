"""Control planes for benchmarks: made with the command, as a user makes them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
import psutil

from kubedyno.lab.folders import LabFolder, LabStatus
from kubedyno.sim import mounting

Side = Literal["ours", "peer"]

_SERVERS = frozenset({"kubedyno", "etcd", "kube-apiserver", "kube-controller-manager"})


@contextmanager
def state_folder() -> Iterator[dict[str, str]]:
    """An environment with a state folder of its own."""
    with tempfile.TemporaryDirectory(prefix="kubedyno-bench-") as folder:
        yield {**os.environ, "XDG_STATE_HOME": folder}


def kubedyno(*args: str, env: dict[str, str]) -> str:
    """Run the command; what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "kubedyno", *args], env=env, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


class Lab(msgspec.Struct, frozen=True):
    """A lab that is up."""

    kubeconfig: Path
    status: LabStatus

    def server_cpu_s(self) -> float:
        """CPU seconds so far of what serves the API and runs the controllers.

        The embedded engine's process plays the kubelets too; those of the real one are not counted.
        """
        components = self.status.components
        if self.status.engine != "embedded":
            components = tuple(component for component in components if component.name != mounting.NAME)
        pids = {component.pid for component in components if component.program in _SERVERS}
        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


@contextmanager
def lab(*options: str) -> Iterator[Lab]:
    """A lab of `kubedyno up` with these options, in a state folder of its own."""
    with state_folder() as env:
        printed = kubedyno("up", *options, env=env)
        try:
            kubeconfig = Path(printed.strip().rpartition("=")[2])
            status = LabFolder(kubeconfig.parents[1]).read_status()
            if status is None:
                raise RuntimeError(f"the lab of {kubeconfig} has no status")
            yield Lab(kubeconfig, status)
        finally:
            kubedyno("down", env=env)


@contextmanager
def control_plane() -> Iterator[Path]:
    """A real control plane without scheduler and nodes; its kubeconfig."""
    with lab("--engine", "local", "--scheduler", "none") as made:
        yield made.kubeconfig


@contextmanager
def both_engines(*options: str) -> Iterator[dict[Side, Lab]]:
    """Ours on the embedded engine beside the real programs without fsync, both up for the whole block."""
    with (
        lab("--engine", "embedded", "--profile", "scale", *options) as ours,
        lab("--engine", "local", "--profile", "scale", *options) as peer,
    ):
        yield {"ours": ours, "peer": peer}


def by_turns(repeat: int) -> tuple[Side, Side]:
    """Who goes first changes, so that neither side always meets the colder machine."""
    return ("ours", "peer") if repeat % 2 else ("peer", "ours")
