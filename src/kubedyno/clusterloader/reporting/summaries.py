"""Files of a report folder: their names, and their writing.

Names are those of ClusterLoader2, since its readers find files by them: the prefix up to the config's name says what a
file holds. One thing differs: two summaries of one name in one second are two files here.
"""

import itertools
import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.durable import write_atomic
from kubedyno.kit.errors import UsageError

_NOT_IN_NAMES: Final = re.compile(r"[/\x00-\x1f\x7f]")
"""What separates folders, and what no terminal shows."""


class Summary(msgspec.Struct, frozen=True):
    """What a measurement leaves behind: one file."""

    name: str
    text: str | bytes
    """Bytes are for programs alone, as profiles are."""
    extension: str = "json"

    @property
    def shown(self) -> str:
        """As a terminal shows it."""
        return self.text if isinstance(self.text, str) else f"{len(self.text)} bytes\n"


class Gathered(msgspec.Struct, frozen=True):
    """A summary, and when it was gathered; ns since the epoch."""

    summary: Summary
    wall_ns: int


def file_name(
    summary: Summary, config_name: str, identifier: str, wall_ns: int, zone: tzinfo | None = None, *, number: int = 1
) -> str:
    """`<summary>_<config>[_<identifier>]_<time>.<extension>`; the second of a name has `.2` before its extension.

    The time is `wall_ns`, in ns since the epoch, as RFC 3339 with whole seconds in a zone (None: this machine's).
    """
    moment = datetime.fromtimestamp(wall_ns // NS_PER_S, tz=UTC).astimezone(zone)
    stamp = re.sub(r"\+00:00$", "Z", moment.isoformat(timespec="seconds"))
    counter = f".{number}" if number > 1 else ""
    stem = f"{summary.name}_{_distinct(config_name, identifier)}_{stamp}{counter}"
    return _NOT_IN_NAMES.sub("-", f"{stem}.{summary.extension}")


def generated_config_name(config_name: str, identifier: str) -> str:
    """Of the compiled config: `generatedConfig_<config>[_<identifier>].yaml`."""
    return _NOT_IN_NAMES.sub("-", f"generatedConfig_{_distinct(config_name, identifier)}.yaml")


def write(
    folder: Path, summary: Summary, *, config_name: str, identifier: str, wall_ns: int, zone: tzinfo | None = None
) -> Path:
    """Write a summary into the folder, beside all that is there already; returns its path."""
    names = (file_name(summary, config_name, identifier, wall_ns, zone, number=number) for number in itertools.count(1))
    return put(folder, next(name for name in names if not (folder / name).exists()), summary.text)


def named(summaries: Iterable[Summary]) -> dict[str, str | bytes]:
    """Their contents by `<summary>.<extension>`: names for whoever keeps those of one test alone."""
    found: dict[str, str | bytes] = {}
    for one in summaries:
        names = (
            _NOT_IN_NAMES.sub("-", f"{one.name}{f'.{number}' if number > 1 else ''}.{one.extension}")
            for number in itertools.count(1)
        )
        found[next(name for name in names if name not in found)] = one.text
    return found


def put(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file of this name, in place of one that is there; the folder is made where it is missing."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text)
    except OSError as error:
        raise UsageError(
            f"--report-dir {folder}: {name} cannot be written: {error.strerror}; name a folder that can be written to"
        ) from error
    return path


def _distinct(config_name: str, identifier: str) -> str:
    """A suite may hold a config twice; only then has it an identifier."""
    return f"{config_name}_{identifier}" if identifier else config_name
