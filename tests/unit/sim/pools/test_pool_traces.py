"""Times of a pool from a trace."""

from pathlib import Path

import pytest

from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.sim.pools import reading

pytestmark = pytest.mark.unit


def duration(folder: Path, trace: str | None, written: str = "trace(jobs.csv)") -> str | None:
    if trace is not None:
        (folder / "jobs.csv").write_text(trace)
    file = folder / "pools.yaml"
    file.write_text(f"pools: [{{name: p, count: 1, kubelet: {{duration: {written!r}}}}}]")
    (pool,) = reading.read_files([file]).pools
    return pool.kubelet.duration


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        ("3\n1m\n# a remark\n\n2s\n", "choice(2s, 3s, 60s)"),
        ("duration\n5\n", "choice(5s)"),
        ("name,duration\na,7\nb,90s\n", "choice(7s, 90s)"),
        ("name,start,end\na,10,25\nb,30,20\n", "choice(0s, 15s)"),
    ],
)
def test_a_trace_becomes_a_distribution(trace: str, expected: str, tmp_path: Path) -> None:
    assert duration(tmp_path, trace) == expected


def test_of_many_durations_a_hundred_are_kept_evenly(tmp_path: Path) -> None:
    kept = duration(tmp_path, "\n".join(map(str, range(10_000))))
    assert kept is not None
    draw = Draw.parse(kept)
    assert len(draw.numbers) == 100
    assert abs(draw.at(0.5) - 5000) < 100
    assert draw.numbers[0] < 100
    assert draw.numbers[-1] > 9900


@pytest.mark.parametrize(
    ("trace", "sentence"),
    [
        (None, r"pool p: kubelet\.duration: the trace .*jobs\.csv cannot be read: .*name a file beside the pool file"),
        ("", r"kubelet\.duration: the trace .*jobs\.csv has no durations: write one a line, or a column `duration`"),
        ("3\nsoon\n", r"the trace .*jobs\.csv: line 2: 'soon' is no duration"),
        ("a,b\n1,2\n", r"jobs\.csv: it has the columns a, b: name one `duration`, or two `start` and `end`"),
    ],
)
def test_a_trace_that_cannot_be_read_is_told_with_file_and_field(
    trace: str | None, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        duration(tmp_path, trace)
    assert caught.value.exit_code == ExitCode.USAGE
