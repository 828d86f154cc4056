"""Durations and sizes as people write and read them."""

import math
import re

from kubedyno.kit.errors import UsageError

_DURATION_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration_s(text: str) -> float:
    """Seconds of a Go duration (`1h30m`, `250ms`); a bare number is seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if math.isfinite(seconds):
        return seconds
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    total_s, position = 0.0, 0
    for part in _DURATION_PART.finditer(rest):
        if part.start() != position:
            break
        total_s += float(part[1]) * _DURATION_UNITS_S[part[2]]
        position = part.end()
    if not rest or position != len(rest):
        raise UsageError(f"{text!r} is no duration: write it like 30s, 1m30s or 250ms")
    return sign * total_s


def format_duration(duration_s: float) -> str:
    """A short duration for people: `340 ms`, `12.3 s`, `4 min 05 s`, `2 h 03 min`."""
    if round(duration_s, 3) < 1:
        return f"{duration_s * 1000:.0f} ms"
    if round(duration_s, 1) < 60:  # noqa: PLR2004 - seconds in a minute
        return f"{duration_s:.1f} s"
    minutes, seconds = divmod(round(duration_s), 60)
    if minutes < 60:  # noqa: PLR2004 - minutes in an hour
        return f"{minutes} min {seconds:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def format_bytes(size_bytes: float) -> str:
    """A size for people, in binary units: `512 B`, `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size_bytes < 1024:  # noqa: PLR2004 - binary units
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} TiB"
