"""The lines of components' logs that belong to a failure: what they complained of, the last of it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_READ_BYTES: Final = 256 * 1024
"""Of the end of each log: one of half a gigabyte must not be read to find forty lines."""
_KEPT: Final = 40
_LONGEST: Final = 400
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
# klog's E and F lines; the levels of zap, logrus and slog, as words or JSON; what Go prints when it dies.
_COMPLAINT: Final = re.compile(
    r"^[EF]\d{4} |\b(ERROR|FATAL|PANIC)\b|\blevel\"?[:=]\"?(error|fatal|panic)|^panic:|^fatal error:"
)


def complaints(folder: Path) -> str:
    """What the logs of a folder complain of, log by log, as text; empty: nobody complains."""
    return "\n".join(line for log in sorted(folder.glob("*.log")) for line in _of(log))


def _of(log: Path) -> Iterator[str]:
    lines = [line for line in _tail(log).splitlines() if _COMPLAINT.search(line)][-_KEPT:]
    if lines:
        yield f"==> {log.name} <=="
        yield from (line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines)


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _READ_BYTES))
        text = file.read().decode(errors="replace")
    whole = text if size <= _READ_BYTES else text.partition("\n")[2]
    return _COLOURS.sub("", whole)
