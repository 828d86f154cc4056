"""Control planes for benchmarks: made with the command, as a user makes them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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


@contextmanager
def control_plane() -> Iterator[Path]:
    """A real control plane without scheduler and nodes; its kubeconfig."""
    with state_folder() as env:
        printed = kubedyno("up", "--engine", "local", "--scheduler", "none", env=env)
        try:
            yield Path(printed.strip().rpartition("=")[2])
        finally:
            kubedyno("down", env=env)
