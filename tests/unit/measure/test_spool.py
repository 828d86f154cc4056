import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.measure import spool as spooling
from kubedyno.measure.columns import ObjectRow, SeriesRow
from kubedyno.measure.spool import Spool, folders, read_objects, read_recording, read_series
from kubedyno.model.samples import Lag, Recording

pytestmark = pytest.mark.unit


def row(number: int) -> ObjectRow:
    return ObjectRow(
        f"u{number}", "Pod", "pod", "ns", f"p{number}", None, "w", None, "created", None, number, None, None, number
    )


RECORDING = Recording(
    began_ns=1,
    ended_ns=2,
    lag=Lag(probes=1, p50_s=0.1, p99_s=0.1, max_s=0.1),
    watches=(),
    whole=True,
    proof="All is there.",
)


def rows_of(folder: Path) -> list[ObjectRow]:
    return [one for rows in read_objects(folder) for one in rows]


def test_rows_are_there_after_a_flush_and_while_more_come(tmp_path: Path) -> None:
    with Spool(tmp_path / "records") as spool:
        spool.take(row(1))
        spool.take_series(SeriesRow(5, "watch_lag_s", "kubedyno", 0.25))
        assert rows_of(spool.folder) == []
        spool.flush()
        assert rows_of(spool.folder) == [row(1)]
        assert [one for rows in read_series(spool.folder) for one in rows] == [
            SeriesRow(5, "watch_lag_s", "kubedyno", 0.25)
        ]
        spool.take(row(2))
    assert rows_of(spool.folder) == [row(1), row(2)]


def test_many_rows_do_not_wait_for_a_flush_and_are_read_in_parts(tmp_path: Path) -> None:
    count = 20_000
    with Spool(tmp_path) as spool:
        for number in range(count):
            spool.take(row(number))
        assert len(rows_of(spool.folder)) > count / 2
    parts = list(read_objects(spool.folder))
    assert [one.arrival_ns for part in parts for one in part] == list(range(count))
    assert len(parts) > 3


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_a_crash_cut_is_left_out(tmp_path: Path, cut: int) -> None:
    with Spool(tmp_path) as spool:
        spool.take(row(1))
        spool.take(row(2))
    path = spool.folder / "objects.jsonl"
    os.truncate(path, path.stat().st_size - cut)
    assert rows_of(spool.folder) == [row(1)]


def test_a_line_that_is_no_row_is_refused_with_its_place(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.take(row(1))
    path = spool.folder / "objects.jsonl"
    path.write_bytes(path.read_bytes() + b'{"some": "thing"}\n')
    with pytest.raises(UsageError, match=r"objects\.jsonl:2: this is no row of a recording .*: remove the line"):
        rows_of(spool.folder)


def test_each_recording_has_a_folder_of_its_own(tmp_path: Path) -> None:
    records = tmp_path / "records"
    assert folders(records) == []
    made = []
    for _ in range(11):
        with Spool(records) as spool:
            made.append(spool.folder)
    (records / "notes").mkdir()
    (records / "99").mkdir()
    assert folders(records) == made
    assert [path.name for path in made] == [str(number) for number in range(1, 12)]


def test_two_that_begin_at_once_get_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Path.mkdir

    def late(self: Path, *args: Any, **more: Any) -> None:
        monkeypatch.undo()
        original(self, *args, **more)  # somebody else was faster
        self.mkdir(*args, **more)

    tmp_path.joinpath("x").mkdir()
    monkeypatch.setattr(Path, "mkdir", late)
    with Spool(tmp_path) as spool:
        assert spool.folder.name == "2"


def test_how_a_recording_stands_replaces_what_was_told(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        assert read_recording(spool.folder) is None
        spool.tell(RECORDING)
        later = msgspec.structs.replace(RECORDING, ended_ns=9)
        spool.tell(later)
        assert read_recording(spool.folder) == later
        assert sorted(path.name for path in spool.folder.iterdir()) == [
            "objects.jsonl",
            "recording.json",
            "series.jsonl",
        ]
    (spool.folder / "recording.json").write_text("{}")
    with pytest.raises(UsageError, match=r"recording\.json cannot be read"):
        read_recording(spool.folder)


def test_what_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "nowhere") == []
    assert folders(tmp_path / "nowhere") == []


def test_a_folder_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match=r"cannot be written to .*file.*; make room, or choose another folder"):
        Spool(tmp_path / "file" / "records")


def test_a_full_disk_is_an_error_that_says_so() -> None:
    lines = spooling._Lines(Path("/dev/full"))
    lines.add(row(1))
    with pytest.raises(EngineError, match="cannot be written to /dev/full: No space left on device"):
        lines.flush()
    with pytest.raises(EngineError):
        lines.close()
