"""The records of a run as they were written, here or in a store: of any format up to ours, or a sentence why not."""

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
    run = decode(_read(folder / "run.json"), RunRecord, f"{folder}/run.json")
    names = trial_names(run)
    return run, [decode(_read(folder / name), TrialRecord, f"{folder}/{name}") for name in names]


def trial_names(run: RunRecord) -> list[str]:
    """The files of a run's trials, below its folder."""
    return [f"{summary.folder}/trial.json" for summary in run.trials]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"{path} is missing: the run folder is incomplete; copy it whole") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


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
