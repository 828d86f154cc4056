"""The fixtures as somebody else's tests use them: a pytest of its own on a file of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

PLUGIN = 'pytest_plugins = ["kubedyno.testing"]\n'
TESTS = """
import pytest
from kubedyno.lab.shapes import distributed, training
from kubedyno.scenarios.hello import hello
from kubedyno.testing import Lab

pytestmark = pytest.mark.asyncio

@pytest.mark.kubedyno(nodes=2)
async def test_nodes_are_there_by_the_marker(lab: Lab) -> None:
    gang = await lab.submit(distributed(workers=4, gpus=4))
    await lab.running(gang)
    assert lab.placed(gang) == {"distributed-0": 4}

async def test_a_scenario_can_be_called(lab: Lab) -> None:
    await hello(lab, nodes=2)
    assert len(lab.measurements) == 3

async def test_a_check_that_does_not_hold(lab: Lab) -> None:
    lab.expect("the sky is green", False, "it is blue")

@pytest.mark.kubedyno(scheduler="nobody")
async def test_a_scheduler_that_is_none(lab: Lab) -> None:
    pass
"""


def test_tests_get_a_lab_and_fail_for_what_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PLUGIN)
    (tmp_path / "test_mine.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "3 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert "the sky is green: it is blue" in done.stdout
    assert "--scheduler nobody: known are: " in done.stdout
