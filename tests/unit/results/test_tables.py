import csv
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import CLAIMS, OBJECTS, SERIES, TIMES, ClaimRow, Column, ObjectRow, SeriesRow
from kubedyno.results.tables import Times, write_parquet

pytestmark = pytest.mark.unit

TYPES = {"int64": pl.Int64, "float64": pl.Float64, "string": pl.String}

# The first row has all that can be missing missing: types come from the columns, not from the data.
OBJECT_ROWS = [
    ObjectRow("u1", "Pod", "pod", "ns", "p1", None, None, None, "deleted", None, 1767323045123456789, None, None, 3),
    ObjectRow("u2", "Pod", "pod", "ns", "p2", "o", "w", "n", "running", "why", 3, 2, 2, 3),
]
CLAIM_ROWS = [
    ClaimRow("u1", "ns", "c1", None, None, None, None, 0, 1, None, None, None),
    ClaimRow("u2", "ns", "c2", "p", "n", "driver", "pool/a,pool/b", 2, 1, 2, 3, 4),
]
SERIES_ROWS = [SeriesRow(1, "cpu_s", None, 0.5), SeriesRow(2, "memory_bytes", "etcd", 2.0**40)]


def schema(columns: tuple[Column, ...]) -> dict[str, object]:
    return {column.name: TYPES[column.type] for column in columns}


@pytest.mark.parametrize(
    ("columns", "rows"),
    [(OBJECTS, OBJECT_ROWS), (SERIES, SERIES_ROWS), (CLAIMS, CLAIM_ROWS), (OBJECTS, []), (SERIES, [])],
)
def test_parquet_has_the_columns_types_and_values(
    tmp_path: Path, columns: tuple[Column, ...], rows: list[ObjectRow | SeriesRow | ClaimRow]
) -> None:
    write_parquet(tmp_path / "table.parquet", columns, [[row] for row in rows])
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
    frame = pl.read_parquet(tmp_path / "table.parquet")
    assert dict(frame.schema) == schema(columns)
    assert frame.rows() == [tuple(getattr(row, column.name) for column in columns) for row in rows]


def row(workload: str | None, uid: str, phase: str, at_s: float) -> ObjectRow:
    at_ns = round(at_s * NS_PER_S)
    return ObjectRow(uid, "Pod", "pod", "ns", uid, None, workload, None, phase, None, at_ns, None, None, at_ns)


def times_of(rows: list[ObjectRow]) -> Times:
    times = Times()
    assert list(times.along([rows[:3], rows[3:]])) == [rows[:3], rows[3:]]
    return times


ROWS = [
    row("w2", "a", "created", 1.0),
    row("w1", "b", "created", 2.0),
    row("w1", "c", "created", 2.5),
    row("w1", "b", "scheduled", 4.0),
    row("w1", "c", "scheduled", 3.0),
    row("w1", "b", "running", 6.25),
    row("w1", "c", "running", 5.0),
    row("w2", "a", "running", 1.5),
]


def test_times_has_one_line_per_workload(tmp_path: Path) -> None:
    times_of(ROWS).write(tmp_path / "times.csv")
    with (tmp_path / "times.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        lines = list(reader)
    assert reader.fieldnames == [column.name for column in TIMES]
    assert lines == [
        {
            "workload": "w1",
            "pods": "2",
            "created": "2.500000",
            "scheduled": "4.000000",
            "running": "6.250000",
            "scheduled_delta": "1.500000",
            "running_delta": "2.250000",
            "total": "3.750000",
        },
        {
            "workload": "w2",
            "pods": "1",
            "created": "1.000000",
            "scheduled": "",
            "running": "1.500000",
            "scheduled_delta": "",
            "running_delta": "",
            "total": "0.500000",
        },
    ]


def object_row(role: str, uid: str, owner: str | None, phase: str = "created", at_s: float = 1.0) -> ObjectRow:
    at_ns = round(at_s * NS_PER_S)
    return ObjectRow(uid, role, role, "ns", f"the-{uid}", owner, None, None, phase, None, at_ns, None, None, at_ns)


def test_pods_that_say_of_no_workload_are_told_by_their_topmost_owner() -> None:
    lines = times_of(
        [
            object_row("pod", "p0", "job"),  # before the news of its Job
            object_row("job", "job", "set"),
            object_row("workload", "set", None),
            object_row("pod", "p1", "job", at_s=2.0),
            object_row("pod", "p1", "job", "scheduled", 3.0),
            object_row("claim", "c", "p1"),
            object_row("event", "e", "p1"),
            object_row("pod", "alone", None),
            object_row("pod", "replica", "a ReplicaSet that nobody follows"),
            object_row("podgroup", "g", None),
        ]
    ).lines()
    assert [(line["workload"], line["pods"]) for line in lines] == [
        ("ns/the-alone", 1),
        ("ns/the-replica", 1),
        ("ns/the-set", 2),
    ]
    assert lines[-1]["scheduled_delta"] == "1.000000"


def test_without_workloads_there_is_only_the_heading(tmp_path: Path) -> None:
    times_of([]).write(tmp_path / "times.csv")
    assert (tmp_path / "times.csv").read_text().strip() == ",".join(column.name for column in TIMES)


@given(
    st.lists(
        st.builds(
            row,
            st.sampled_from(["a", "b", None]),
            st.sampled_from(["u", "v"]),
            st.sampled_from(["created", "scheduled", "running", "deleted"]),
            st.floats(min_value=0, max_value=1e6),
        )
    )
)
def test_deltas_add_up(rows: list[ObjectRow]) -> None:
    for line in times_of(rows).lines():
        if "scheduled_delta" in line and "running_delta" in line:
            total = float(line["scheduled_delta"]) + float(line["running_delta"])
            assert float(line["total"]) == pytest.approx(total, abs=3e-6)
