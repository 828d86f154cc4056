"""`sampled.json`, read and checked: a file that is cut, foreign or of another submission is refused in words."""

from pathlib import Path
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.model.samples import FORMAT, SampledFile
from kubedyno.model.submissions import SubmittedFile

SAMPLED: Final = "sampled.json"


def read_sampled(folder: Path, submitted: SubmittedFile) -> SampledFile:
    """What was sampled of this submission; a UsageError says what is wrong with the file."""
    path = folder / SAMPLED
    again = f"`kubedyno sample -o {folder}` writes it anew"
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"{path} does not exist: `kubedyno sample -o {folder}` makes it") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    try:
        given = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        what = "it is cut off" if "truncated" in str(error) else f"it is no JSON: {error}"
        raise UsageError(f"{path}: {what}; remove it, and {again}") from error
    _refuse_foreign(given, path)
    try:
        sampled = msgspec.convert(given, SampledFile)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}; it was changed: remove it, and {again}") from error
    if sampled.submission != submitted.id:
        raise UsageError(
            f"{path}: it is of submission {sampled.submission}, and {folder} holds submission {submitted.id}: "
            f"remove it, and {again}"
        )
    return sampled


def _refuse_foreign(given: Any, path: Path) -> None:
    if not isinstance(given, dict) or "workloads" not in given or "format" not in given:
        raise UsageError(f"{path}: it is none that `kubedyno sample` wrote: `format` or `workloads` is missing")
    if given["format"] != FORMAT:
        raise UsageError(f"{path}: it has format {given['format']}, and this version of kubedyno reads format {FORMAT}")
