"""The records of a run as they were written, here or in a store: of any format up to ours, or a sentence why not."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.measure.records import FORMAT, RunRecord, TrialRecord

Record = TypeVar("Record", RunRecord, TrialRecord)


class _Version(msgspec.Struct):
    format: int


def read_run(folder: Path) -> tuple[RunRecord, list[TrialRecord]]:
    """The run of a folder, and its trials in order."""

    def read(name: str) -> bytes:
        path = folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise UsageError(f"{path} is missing: the run folder is incomplete; copy it whole") from error
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error

    return decode_run(read, str(folder))


def decode_run(read: Callable[[str], bytes], where: str) -> tuple[RunRecord, list[TrialRecord]]:
    """The run whose files `read` gives by their names, and its trials; `where` it is, for what goes wrong."""
    data = read("run.json")
    run = decode(data, RunRecord, f"{where}/run.json")
    names = trial_names(data, f"{where}/run.json")
    return run, [decode(read(name), TrialRecord, f"{where}/{name}") for name in names]


def trial_names(data: bytes, where: str) -> list[str]:
    """The files of the trials that a run's record names."""
    return [f"{summary.folder}/trial.json" for summary in decode(data, RunRecord, where).trials]


def decode(data: bytes, kind: type[Record], where: str) -> Record:
    """A record of any format up to ours."""
    try:
        version = msgspec.json.decode(data, type=_Version).format
        if version > FORMAT:
            raise UsageError(
                f"{where} has format {version}, and this kubedyno reads up to {FORMAT}: use the one that wrote it"
            )
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{where} is no record of a run: {error}") from error
