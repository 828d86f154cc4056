"""Times from a trace: `trace(jobs.csv)` in a pool file becomes a distribution that nodes can carry.

A trace has one duration a line, or is a CSV file with a column `duration` (seconds or `1m30s`), or with `start` and
`end` in seconds. Of many durations a hundred are kept, evenly spaced among them by size: every node carries them.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.units import parse_duration_s
from kubedyno.sim.kubelet.settings import KubeletSettings

_TRACE = re.compile(r"\s*trace\((.+)\)\s*")
_KEPT = 100
_FIELDS = ("start", "stop", "duration")


def resolved(settings: KubeletSettings, folder: Path) -> KubeletSettings:
    """The settings with every `trace(FILE)` read; files are relative to `folder`."""
    found = {}
    for field in _FIELDS:
        written = getattr(settings, field)
        if written is not None and (trace := _TRACE.fullmatch(written)):
            with located(f"kubelet.{field}"):
                found[field] = _distribution(folder / trace[1].strip())
    return msgspec.structs.replace(settings, **found) if found else settings


def _distribution(path: Path) -> str:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the trace {path} cannot be read: {error}; name a file beside the pool file") from None
    with located(f"the trace {path}"):
        durations_s = sorted(_durations_s(text))
    if not durations_s:
        raise UsageError(f"the trace {path} has no durations: write one a line, or a column `duration`")
    count = min(len(durations_s), _KEPT)
    kept = [durations_s[(2 * number + 1) * len(durations_s) // (2 * count)] for number in range(count)]
    return f"choice({', '.join(f'{one:g}s' for one in kept)})"


def _durations_s(text: str) -> Iterator[float]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines or "," not in lines[0]:
        header = bool(lines) and lines[0].strip() == "duration"
        yield from (_read_s(line.strip(), number) for number, line in enumerate(lines[header:], header + 1))
        return
    table = csv.DictReader(lines)
    columns = table.fieldnames or ()
    for number, row in enumerate(table, 2):
        if "duration" in columns:
            yield _read_s(row["duration"], number)
        elif {"start", "end"} <= set(columns):
            yield max(0.0, _read_s(row["end"], number) - _read_s(row["start"], number))
        else:
            raise UsageError(f"it has the columns {', '.join(columns)}: name one `duration`, or two `start` and `end`")


def _read_s(text: str | None, line: int) -> float:
    with located(f"line {line}"):
        return parse_duration_s(text or "")
