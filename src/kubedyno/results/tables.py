"""Tables on disk: rows to Parquet and CSV, by the columns that are defined once."""

import csv
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import TIMES, Column, ObjectRow
from kubedyno.results.belonging import Belonging


def write_parquet(path: Path, columns: Sequence[Column], chunks: Iterable[Sequence[msgspec.Struct]]) -> None:
    """Write rows whose fields are the columns, in order; they are never all in memory."""
    import polars as pl  # noqa: PLC0415 - half a second to import: only for whoever writes a table

    types = {"int64": pl.Int64, "float64": pl.Float64, "string": pl.String}
    schema = {column.name: types[column.type] for column in columns}
    parts = path.with_suffix(".parts")
    parts.mkdir()
    for number, rows in enumerate(chunks):
        frame = pl.DataFrame([msgspec.structs.astuple(row) for row in rows], schema=schema, orient="row")
        frame.write_parquet(parts / f"{number:06d}.parquet", compression="lz4")
    if any(parts.iterdir()):
        pl.scan_parquet(parts / "*.parquet").sink_parquet(path, compression="zstd")
    else:
        pl.DataFrame(schema=schema).write_parquet(path)
    shutil.rmtree(parts)


def read_parquet(path: Path, columns: Sequence[str]) -> dict[str, list[Any]]:
    """The values of some columns of a table, by name."""
    import polars as pl  # noqa: PLC0415 - as above

    read: dict[str, list[Any]] = pl.read_parquet(path, columns=list(columns)).to_dict(as_series=False)
    return read


class Times:
    """The lines of a trial's `times.csv`: when the last pod of each workload reached each phase."""

    def __init__(self) -> None:
        self._reached: dict[str, dict[str, int]] = {}
        self._pods: Counter[str] = Counter()
        self._belonging = Belonging()
        self._strays: list[tuple[str, str, int]] = []
        """Pods that say of no workload: uid, phase and arrival."""

    def along(self, chunks: Iterable[Sequence[ObjectRow]]) -> Iterator[Sequence[ObjectRow]]:
        """The same rows, noted on their way."""
        for rows in chunks:
            for row in rows:
                if row.workload is None:
                    self._belonging.note(row.uid, row.role, row.owner, row.namespace, row.name)
                    if row.role == "pod":
                        self._strays.append((row.uid, row.phase, row.arrival_ns))
                elif row.role == "pod":
                    self._note(row.workload, row.phase, row.arrival_ns)
            yield rows

    def _note(self, workload: str, phase: str, arrival_ns: int) -> None:
        at = self._reached.setdefault(workload, {})
        at[phase] = max(at.get(phase, 0), arrival_ns)
        self._pods[workload] += phase == "created"

    def lines(self) -> list[dict[str, Any]]:
        """One per workload, by name, times and deltas in seconds."""
        strays, self._strays = self._strays, []
        for uid, phase, arrival_ns in strays:  # now that all owners are known
            self._note(self._belonging.of(uid) or uid, phase, arrival_ns)
        return [_line(name, self._pods[name], self._reached[name]) for name in sorted(self._reached)]

    def write(self, path: Path) -> None:
        """Write the table."""
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [column.name for column in TIMES])
            writer.writeheader()
            writer.writerows(self.lines())


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
