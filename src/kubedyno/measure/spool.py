"""A recording on disk while it is made: JSON lines that anybody may read at any time, and that survive a crash."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec

from kubedyno.kit.durable import write_atomic
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.measure.columns import ObjectRow, SeriesRow
from kubedyno.model.samples import Recording

OBJECTS_FILE: Final = "objects.jsonl"
SERIES_FILE: Final = "series.jsonl"
RECORDING_FILE: Final = "recording.json"

_CHUNK_BYTES: Final = 1 << 20
_FULL_BYTES: Final = 1 << 18

Row = TypeVar("Row", ObjectRow, SeriesRow)


class Spool:
    """Takes the rows of one recording. Each recording has a folder of its own below `records`: `1`, `2`, ...

    Rows are on disk after the next `flush`, which whoever holds the spool calls twice a second, or when there are many.
    """

    def __init__(self, records: Path) -> None:
        self.folder = _new_folder(records)
        self._objects = _Lines(self.folder / OBJECTS_FILE)
        self._series = _Lines(self.folder / SERIES_FILE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def take(self, row: ObjectRow) -> None:
        """A row of `objects`: a sink of the recorder."""
        self._objects.add(row)

    def take_series(self, row: SeriesRow) -> None:
        """A row of `series`."""
        self._series.add(row)

    def tell(self, recording: Recording) -> None:
        """How the recording stands; replaces what was told before."""
        try:
            write_atomic(self.folder / RECORDING_FILE, msgspec.json.encode(recording), sync=False)
        except OSError as error:
            raise _unwritable(self.folder / RECORDING_FILE, error) from error

    def flush(self) -> None:
        """Hand all rows to the operating system."""
        self._objects.flush()
        self._series.flush()

    def close(self) -> None:
        """Flush, and take no more rows."""
        self._objects.close()
        self._series.close()


class _Lines:
    """A file of JSON lines that grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._encoder = msgspec.json.Encoder()
        self._buffer = bytearray()
        # Written to as a whole or not at all: a reader sees at most one line that is not finished.
        self._file = path.open("ab", buffering=0)

    def add(self, row: msgspec.Struct) -> None:
        buffer = self._buffer
        self._encoder.encode_into(row, buffer, -1)
        buffer += b"\n"
        if len(buffer) > _FULL_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._buffer:
            return
        try:
            written = self._file.write(self._buffer)
        except OSError as error:
            raise _unwritable(self._path, error) from error
        # A disk that is almost full takes a part; the rest is tried again, and fails with the reason.
        del self._buffer[: written or 0]
        if self._buffer:
            self.flush()

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._file.close()


def folders(records: Path) -> list[Path]:
    """The recordings below a folder, oldest first."""
    if not records.is_dir():
        return []
    found = [path for path in records.iterdir() if path.name.isdecimal() and (path / OBJECTS_FILE).exists()]
    return sorted(found, key=lambda path: int(path.name))


def read_objects(folder: Path) -> Iterator[list[ObjectRow]]:
    """The rows of a recording, some thousands at a time; it may go on while it is read."""
    return _read(folder / OBJECTS_FILE, msgspec.json.Decoder(ObjectRow))


def read_series(folder: Path) -> Iterator[list[SeriesRow]]:
    """The series of a recording, some thousands at a time."""
    return _read(folder / SERIES_FILE, msgspec.json.Decoder(SeriesRow))


def read_recording(folder: Path) -> Recording | None:
    """How a recording stands, or stood when it broke off; None: it broke off before it told anything."""
    path = folder / RECORDING_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Recording)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}; it was not written by this version of kubedyno") from error


def _read(path: Path, decoder: msgspec.json.Decoder[Row]) -> Iterator[list[Row]]:
    """The rows of a file up to its last whole line: what follows is still being written, or was cut by a crash."""
    rest, number = b"", 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                *lines, rest = (rest + chunk).split(b"\n")
                rows = []
                for line in lines:
                    number += 1
                    try:
                        rows.append(decoder.decode(line))
                    except msgspec.DecodeError as error:
                        raise UsageError(
                            f"{path}:{number}: this is no row of a recording ({error}): remove the line, or the file"
                        ) from error
                if rows:
                    yield rows
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _new_folder(records: Path) -> Path:
    """A folder for the next recording; two that begin at once get one each."""
    taken = [int(path.name) for path in records.iterdir() if path.name.isdecimal()] if records.is_dir() else []
    number = max(taken, default=0)
    while True:
        number += 1
        folder = records / str(number)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise _unwritable(folder, error) from error
        return folder


def _unwritable(path: Path, error: OSError) -> EngineError:
    return EngineError(
        f"the recording cannot be written to {path}: {error.strerror}; make room, or choose another folder"
    )
