"""Times as Go reads them: which texts are one, and what it says of those that are not."""

import re
from collections.abc import Iterator
from datetime import datetime

_SECONDS = "2006-01-02T15:04:05Z07:00"
_MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"

# The parts of a layout, each with what it takes and the name of what can be out of range.
_PARTS = (
    ("2006", r"\d{4}", ""),
    ("-", "-", ""),
    ("01", r"\d\d", "month"),
    ("-", "-", ""),
    ("02", r"\d\d", "day"),
    ("T", "T", ""),
    ("15", r"\d\d?", "hour"),
    (":", ":", ""),
    ("04", r"\d\d", "minute"),
    (":", ":", ""),
    ("05", r"\d\d", "second"),
)
_FRACTION = (".000000", r"[.,]\d{6}", "")
_ANY_FRACTION = re.compile(r"[.,]\d+", re.ASCII)
_ZONE = ("Z07:00", r"Z|[+-]\d\d:\d\d", "")
_PLAIN = (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"))
"""How times are mostly written: these are looked at in one step."""
_RANGES = {"month": (1, 12), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
_MOST_ZONE_HOURS = 24
_MOST_ZONE_MINUTES = 60
_FEBRUARY = 2
_SHORT_MONTHS = (4, 6, 9, 11)


def time_problem(text: str, *, micro: bool = False) -> str:
    """What Go's decoder says of a text that is no time (with exactly six digits of a second); empty: it is one."""
    return "" if _PLAIN[micro].fullmatch(text) and _is_day(text) else _problem(text, micro=micro)


def _problem(text: str, *, micro: bool) -> str:
    """The text read part by part, as the layout has them."""
    layout = _MICROSECONDS if micro else _SECONDS
    rest, text = text, _escaped(text)
    numbers: dict[str, int] = {}
    for shown, pattern, name in _parts(micro=micro):
        found = re.match(pattern, rest, re.ASCII)
        if found is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{_escaped(rest)}" as "{shown}"'
        if shown == _ZONE[0] and (problem := _zone_problem(found[0])):
            return f'parsing time "{text}": {problem} out of range'
        if name or shown == "2006":
            numbers[name or "year"] = int(found[0])
            low, high = _RANGES.get(name, (0, 9999))
            if not low <= numbers[name or "year"] <= high:
                return f'parsing time "{text}": {name} out of range'
        rest = rest[found.end() :]
        if shown == "05" and not micro and (fraction := _ANY_FRACTION.match(rest)):
            rest = rest[fraction.end() :]
    if rest:
        return f'parsing time "{text}": extra text: "{_escaped(rest)}"'
    if not 1 <= numbers["day"] <= _days(numbers["year"], numbers["month"]):
        return f'parsing time "{text}": day out of range'
    return ""


def _is_day(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _zone_problem(zone: str) -> str:
    hours, minutes = (int(zone[1:3]), int(zone[4:])) if zone != "Z" else (0, 0)
    if hours > _MOST_ZONE_HOURS:
        return "time zone offset hour"
    return "time zone offset minute" if minutes > _MOST_ZONE_MINUTES else ""


def _parts(*, micro: bool) -> Iterator[tuple[str, str, str]]:
    yield from _PARTS
    if micro:
        yield _FRACTION
    yield _ZONE


def _days(year: int, month: int) -> int:
    if month == _FEBRUARY:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in _SHORT_MONTHS else 31
