"""What a terminal shows while a run goes on."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from tests.commands import argv

pytestmark = pytest.mark.unit

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


def test_a_terminal_shows_how_far_a_run_is_and_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = argv("run", "fill", "--nodes", "100", "--out", str(tmp_path / "runs"))
    with subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=follower) as process:
        os.close(follower)
        shown = read_all(leader)
        assert process.stdout is not None
        told = process.stdout.read().decode()
    assert process.returncode == 0
    assert "kai/fill: passed" in told
    lines = _CONTROL.sub("", shown)
    assert "running kai/fill" in lines
    assert re.search(r"\d+/800 pods bound, \d+/s", lines)
    assert re.search(r"✓ running kai/fill\S*( \S+)*: done in ", lines)
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor that was hidden is there again


def read_all(terminal: int) -> str:
    """All that is written to a terminal until nobody has it any more."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # so Linux tells that the other side is gone
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()
