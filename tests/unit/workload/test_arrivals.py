import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kit import randomness
from kubedyno.kit.errors import UsageError
from kubedyno.workload import arrivals
from kubedyno.workload.order import Order

pytestmark = pytest.mark.unit

Ordering = Callable[..., Order]


def first(count: int, order: Order, seed: int = 0) -> list[float]:
    return list(itertools.islice(arrivals.offsets_s(order, randomness.stream(seed, "arrivals")), count))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"rate_per_s": 4.0}, [0, 0.25, 0.5, 0.75, 1.0, 1.25]),
        ({"rate_per_s": 2.0, "burst": 3}, [0, 0, 0, 1.5, 1.5, 1.5]),
        ({"steps": [[2.0, 1.0], [4.0, 1.0]]}, [0, 0.5, 1.0, 1.25, 1.5, 1.75]),
        ({"steps": [[1.0, 2.0], [2.0, 0.5]]}, [0, 1, 2, 2.5, 3.0, 3.5]),
    ],
)
def test_workloads_are_planned(ordering: Ordering, given: dict[str, Any], expected: list[float]) -> None:
    assert first(6, ordering(**given)) == expected


def test_poisson_arrivals_keep_their_rate_and_repeat_by_seed(ordering: Ordering) -> None:
    order = ordering(arrival="poisson", rate_per_s=10.0)
    times = first(5001, order)
    assert times[-1] == pytest.approx(500, rel=0.05)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert sum(gap > 0.1 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.03)
    assert first(100, order) == times[:100]
    assert first(100, order, seed=1) != times[:100]


def test_a_trace_is_read_from_its_first_line_on(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("time,what\n100.5,a\n\n101,b\n101,c\n103.5,d\n")
    assert arrivals.read_trace(file, count=3) == (0.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0\nsoon\n", "trace.csv:2: 'soon' is no number of seconds"),
        ("0\n2\n1\n", "trace.csv:3: 1 comes before 2; sort the lines by time"),
        ("0\n1\n", "trace.csv has 2 times for 3 workloads: give a smaller -n, or a longer trace"),
        ("0\nnan\n1", "trace.csv:2: nan comes before 0; sort the lines by time"),
    ],
)
def test_a_wrong_trace_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        arrivals.read_trace(file, count=3)
    assert str(raised.value) == f"--trace {tmp_path}/{sentence}"


def test_a_trace_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory; name a file with one time in seconds a line"):
        arrivals.read_trace(tmp_path / "none", count=1)
