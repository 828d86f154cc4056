"""Tables on disk: rows to Parquet and CSV, by the columns that are defined once."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import TIMES, Column, ObjectRow


def write_parquet(path: Path, columns: Sequence[Column], rows: Iterable[msgspec.Struct]) -> None:
    """Write rows whose fields are the columns, in order."""
    import polars as pl  # noqa: PLC0415 - half a second to import: only for whoever writes a table

    types = {"int64": pl.Int64, "float64": pl.Float64, "string": pl.String}
    schema = {column.name: types[column.type] for column in columns}
    frame = pl.DataFrame([msgspec.structs.astuple(row) for row in rows], schema=schema, orient="row")
    frame.write_parquet(path, compression="zstd")


def write_times(path: Path, rows: Iterable[ObjectRow]) -> None:
    """Write one line per workload: when its last pod reached each phase, and the deltas, in seconds."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [column.name for column in TIMES])
        writer.writeheader()
        writer.writerows(times(rows))


def times(rows: Iterable[ObjectRow]) -> list[dict[str, Any]]:
    """The lines of `times.csv`, by workload name."""
    reached: dict[str, dict[str, int]] = {}
    pods: dict[str, set[str]] = {}
    for row in rows:
        if row.workload is not None:
            at = reached.setdefault(row.workload, {})
            at[row.phase] = max(at.get(row.phase, 0), row.arrival_ns)
            pods.setdefault(row.workload, set()).add(row.uid)
    return [_line(name, len(pods[name]), reached[name]) for name in sorted(reached)]


def _line(name: str, pods: int, at: dict[str, int]) -> dict[str, Any]:
    line: dict[str, Any] = {"workload": name, "pods": pods}
    for phase in ("created", "scheduled", "running"):
        if phase in at:
            line[phase] = f"{at[phase] / NS_PER_S:.6f}"
    for column, since, until in (
        ("scheduled_delta", "created", "scheduled"),
        ("running_delta", "scheduled", "running"),
        ("total", "created", "running"),
    ):
        if since in at and until in at:
            line[column] = f"{(at[until] - at[since]) / NS_PER_S:.6f}"
    return line
