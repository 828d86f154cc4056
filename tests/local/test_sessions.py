"""The sample sessions of a scale test, sized for a small machine: submit, sample, plot, on each engine."""

import csv
from pathlib import Path

import msgspec
import pytest

from kubedyno.model.samples import SampledFile

from .conftest import User

pytestmark = pytest.mark.local

LABS = {
    "embedded": ("--nodes", "60"),
    "kai": ("--engine", "local", "--scheduler", "kai", "--nodes", "60"),
}
SESSION = (
    "submit -t training -n 40 -p 5 --delay 0.1 -o out1",
    "sample -t training -o out1 --follow",
    "plot --skip-errors -o out1",
    "submit -t distributed -n 8 --num-workers 7 --pvc -p 1 --delay 0.2 -o out2",
    "sample -t distributed -o out2 --follow",
    "plot --skip-errors --plot detailed -o out2",
)
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def sampled(folder: Path) -> SampledFile:
    return msgspec.json.decode((folder / "sampled.json").read_bytes(), type=SampledFile)


def times(folder: Path) -> list[dict[str, str]]:
    with (folder / "times.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("engine", LABS)
def test_the_sample_sessions_of_a_scale_test_run_as_they_are_written(user: User, engine: str) -> None:
    user.up(*LABS[engine])
    for command in SESSION:
        user.run(*command.split())
    for name, count, pods, steps in (
        ("out1", 40, 1, {"submitted", "accepted", "job", "first_pod", "last_bound", "last_running"}),
        ("out2", 8, 7, {"submitted", "accepted", "gang_ready", "volume_bound", "first_bound", "last_running"}),
    ):
        folder = user.home / name
        sample = sampled(folder)
        assert [(one.pods, one.errors) for one in sample.workloads] == [(pods, ())] * count
        assert all(steps <= one.steps.keys() for one in sample.workloads)
        assert all(recording.whole for recording in sample.recordings), sample.recordings
        lines = times(folder)
        assert len(lines) == count
        # What seconds cannot tell: times of the same second differ, and are known better than to a second.
        bound = {float(line["last_bound"]) for line in lines}
        assert len(bound) > len({int(at_s) for at_s in bound})
        assert all(float(line["last_bound_upper"]) - float(line["last_bound_lower"]) < 1 for line in lines)
    assert (user.home / "out1" / "general.png").read_bytes().startswith(SIGNATURE)
    assert (user.home / "out2" / "detailed.png").read_bytes().startswith(SIGNATURE)
