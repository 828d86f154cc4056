"""What tests of several packages need: waiting for other processes, and small programs written on the spot."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import hypothesis
import psutil
import pytest

# A loaded machine is no failure: laws are tested, not times.
hypothesis.settings.register_profile(
    "kubedyno", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("kubedyno")


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
