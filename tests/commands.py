"""The command as somebody at a terminal runs it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def argv(*args: str) -> list[str]:
    """`kubedyno` with these arguments."""
    return [sys.executable, "-m", "kubedyno", *args]


def own_env(folder: Path) -> dict[str, str]:
    """The environment of a user whose labs are in that folder, without what else is set here."""
    kept = ("PATH", "HOME", "LANG", "PYTHONPATH", "TMPDIR")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return {**found, "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}


def run_kubedyno(
    *args: str, env: Mapping[str, str], cwd: Path, within_s: float, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end and look at its exit code; it never shows a traceback."""
    done = subprocess.run(argv(*args), env=env, cwd=cwd, capture_output=True, text=True, timeout=within_s, check=False)
    assert done.returncode == code, f"exit code {done.returncode}:\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done
