"""Moments and lengths of time: read, printed, and taken apart."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from kubedyno.kube.cel.errors import EvaluationError
from kubedyno.kube.cel.library import Library, on
from kubedyno.kube.cel.operators import timestamp_of
from kubedyno.kube.cel.values import LEAST_INT, MOST_INT, NANOS, Duration, Timestamp
from kubedyno.kube.gotimes import time_problem

_MOMENT: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3600 * NANOS,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET: Final = re.compile(r"([+-]?\d+):(\d+)", re.ASCII)


def read_duration(text: str) -> Duration | None:
    """`1h30m`, `-1.5s`, as Go's ParseDuration; None when it is none."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or not (part[1] or part[2]):
            return None
        unit, fraction = _UNITS[part[3]], part[2] or ""
        total += int(part[1] or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        at = part.end()
    total *= sign
    return Duration(total) if rest and LEAST_INT <= total <= MOST_INT else None


def read_timestamp(text: str) -> Timestamp | None:
    """A time as RFC 3339 writes it; None when it is none."""
    found = _MOMENT.fullmatch(text)
    if found is None or time_problem(text):
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    if year == 0:
        raise EvaluationError("timestamp overflow")
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    offset = _zone_seconds(found[8])
    seconds = since.days * 86400 + since.seconds - offset
    return timestamp_of(seconds * NANOS + int(f"{found[7] or '':0<9}"[:9]), offset)


def _zone_seconds(zone: str) -> int:
    if zone == "Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[4:]) * 60
    return -seconds if zone[0] == "-" else seconds


def timestamp_text(moment: Timestamp) -> str:
    """RFC 3339 with as many digits of a second as it has."""
    seconds, nanos = divmod(moment.nanos, NANOS)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    when = _EPOCH.replace(tzinfo=None) + timedelta(seconds=seconds + moment.offset)
    hours, minutes = divmod(abs(moment.offset) // 60, 60)
    zone = f"{'-' if moment.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if moment.offset else "Z"
    return f"{when.isoformat()}{fraction}{zone}"


def duration_text(length: Duration) -> str:
    """Seconds and a fraction: `90s`, `0.5s`."""
    seconds, nanos = divmod(abs(length.nanos), NANOS)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{'-' if length.nanos < 0 else ''}{seconds}{fraction}s"


def _local(moment: Timestamp, zone: str) -> datetime:
    when = _EPOCH + timedelta(seconds=moment.nanos // NANOS)
    return when.astimezone(_zone(zone))


def _zone(name: str) -> tzinfo:
    if name in {"", "UTC"}:
        return UTC
    if ":" in name:
        found = _OFFSET.fullmatch(name)
        if found is None:
            raise EvaluationError(f'strconv.Atoi: parsing "{name.partition(":")[0]}": invalid syntax')
        hours, minutes = int(found[1]), int(found[2])
        return timezone(timedelta(hours=hours, minutes=-minutes if name.startswith("-") else minutes))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


_OF_MOMENTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda when: when.year,
    "getMonth": lambda when: when.month - 1,
    "getDayOfYear": lambda when: when.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda when: when.day - 1,
    "getDate": lambda when: when.day,
    "getDayOfWeek": lambda when: when.isoweekday() % 7,
    "getHours": lambda when: when.hour,
    "getMinutes": lambda when: when.minute,
    "getSeconds": lambda when: when.second,
}
# Whole units of a length, towards zero; only its milliseconds are what is left over of a second.
_OF_LENGTHS: Final = {"getHours": 3600 * NANOS, "getMinutes": 60 * NANOS, "getSeconds": NANOS}


def _whole(amount: int, unit: int) -> int:
    return -(-amount // unit) if amount < 0 else amount // unit


def _getter(name: str, read: Callable[[datetime], int]) -> Library:
    overloads = [
        on("timestamp", lambda moment: read(_local(moment, ""))),
        on("timestamp string", lambda moment, zone: read(_local(moment, zone))),
    ]
    unit = _OF_LENGTHS.get(name)
    if unit is not None:
        overloads.append(on("duration", lambda length: _whole(length.nanos, unit)))
    return {name: overloads}


def _moment_millis(moment: Timestamp, zone: str = "") -> int:
    _zone(zone)
    return moment.nanos % NANOS // 10**6


FUNCTIONS: Final[Library] = {
    **{name: overloads for given, read in _OF_MOMENTS.items() for name, overloads in _getter(given, read).items()},
    "getMilliseconds": (
        on("timestamp", _moment_millis),
        on("timestamp string", _moment_millis),
        on("duration", lambda length: _whole(length.nanos, 10**6)),
    ),
}
