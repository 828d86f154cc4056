"""Rules of the schedules and time zones of CronJobs."""

import re
import zoneinfo
from collections.abc import Iterator
from typing import Final

import msgspec

from kubedyno.kube.problems import Problem, invalid

_MONTHS: Final = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_DURATION: Final = re.compile(r"[-+]?(?:0|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+")
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_EVERY: Final = "@every "


class _Bounds(msgspec.Struct, frozen=True):
    """The least and the greatest number of a field, and names that stand for numbers."""

    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (_Bounds(0, 59), _Bounds(0, 23), _Bounds(1, 31), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _WEEKDAYS))


class _Unreadable(ValueError):
    """The schedule cannot be read; the text says why, as the cron library of the server does."""


def schedule_problems(schedule: str, zone: str | None, path: str, *, zone_inside: bool) -> Iterator[Problem]:
    """What is wrong with a schedule; `zone_inside` tells that the one before had its zone in the text."""
    try:
        _read(schedule)
    except _Unreadable as error:
        yield invalid(path, schedule, str(error))
    if "TZ" not in schedule:
        return
    if not zone_inside:
        yield invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif zone is not None:
        yield invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def zone_problems(zone: str | None, path: str) -> Iterator[Problem]:
    """What is wrong with the name of a time zone; none is right."""
    if zone is None:
        return
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    if any(part in {".", ".."} or part[:1] == "-" or not _ZONE_PART.fullmatch(part) for part in zone.split("/")):
        yield invalid(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        yield invalid(
            path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
    if zone not in {"UTC", "Local"} and not _is_zone(zone):
        yield invalid(path, zone, f"unknown time zone {zone}")


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _read(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, schedule = schedule.partition(" ")
        zone = prefix.partition("=")[2]
        if zone not in {"", "UTC", "Local"} and not _is_zone(zone):
            raise _Unreadable(f"provided bad location {zone}: unknown time zone {zone}")
        schedule = schedule.strip()
    if schedule.startswith("@"):
        _read_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise _Unreadable(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _read_range(expression, bounds)


def _read_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise _Unreadable(f"unrecognized descriptor: {text}")
    duration = text.removeprefix(_EVERY)
    if not _DURATION.fullmatch(duration):
        raise _Unreadable(f'failed to parse duration {text}: time: invalid duration "{duration}"')


def _read_range(expression: str, bounds: _Bounds) -> None:
    limits, *steps = expression.split("/")
    low, *high = limits.split("-")
    if low in {"*", "?"}:
        start, end = bounds.least, bounds.most
    else:
        start = _number(low, bounds.names)
        if len(high) > 1:
            raise _Unreadable(f"too many hyphens: {expression}")
        end = _number(high[0], bounds.names) if high else start
    if len(steps) > 1:
        raise _Unreadable(f"too many slashes: {expression}")
    step = _number(steps[0]) if steps else 1
    if steps and not high:
        end = bounds.most
    if start < bounds.least:
        raise _Unreadable(f"beginning of range ({start}) below minimum ({bounds.least}): {expression}")
    if end > bounds.most:
        raise _Unreadable(f"end of range ({end}) above maximum ({bounds.most}): {expression}")
    if start > end:
        raise _Unreadable(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _Unreadable(f"step of range should be a positive number: {expression}")


def _number(text: str, names: tuple[str, ...] = ()) -> int:
    if text and text.lower() in names:
        return names.index(text.lower())
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise _Unreadable(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
