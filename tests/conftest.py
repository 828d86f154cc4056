"""What tests of several packages need: real programs, waiting for processes, small programs written on the spot."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import hypothesis
import psutil
import pytest

# A loaded machine is no failure: laws are tested, not times. The same examples each time, so that what is green stays
# so; `scripts/test --hypothesis-profile exploring` looks for others.
hypothesis.settings.register_profile(
    "exploring", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.register_profile("kubedyno", hypothesis.settings.get_profile("exploring"), derandomize=True)
hypothesis.settings.load_profile("kubedyno")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try once more what failed on real programs: they share two cores with us, and whoever is late there is not wrong.

    The summary has such a test as RERUN, whatever came out: one that is seen there twice is to be mended.
    """
    for item in items:
        if item.get_closest_marker("local"):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=5))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Have all programs there before the first test: its time limit is not meant for twenty minutes of Go."""
    chosen = any(item.get_closest_marker("local") for item in session.items)
    if not chosen or session.config.option.collectonly:
        return
    done = subprocess.run([sys.executable, "-m", "kubedyno", "setup"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.exit(f"the programs that the local tests need are not there: {done.stderr}", returncode=done.returncode)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reporter.write_line(done.stdout)


@pytest.fixture
def until() -> Callable[[Callable[[], object]], Awaitable[None]]:
    """Wait for what other processes do."""

    async def wait(condition: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110 - other processes set no events
                await asyncio.sleep(0.01)

    return wait


@pytest.fixture
def is_running() -> Callable[[int], bool]:
    def look(pid: int) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        return False

    return look


@pytest.fixture
def script() -> Callable[[Path, str], Path]:
    """An executable file: a shell script unless it says otherwise."""

    def write(path: Path, body: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body if body.startswith("#!") else f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


class Lines:
    """Progress that remembers its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, what: str) -> None:
        self.lines.append(f"begin {what}")

    def note(self, text: str) -> None:
        self.lines.append(f"note {text}")

    def end(self, outcome: str = "done") -> None:
        self.lines.append(f"end {outcome}")


@pytest.fixture
def progress() -> Lines:
    return Lines()
