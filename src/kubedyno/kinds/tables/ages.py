"""How long ago, in the few characters of a table: `42s`, `3m5s`, `5h12m`, `3d4h`, `2y11d`."""

from datetime import UTC, datetime, timedelta

_SECOND_NS = 10**9
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_H = 24
_YEAR_D = 365
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stamp_ns(written: str) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time; `ValueError` for another text."""
    moment = datetime.fromisoformat(written)
    if moment.tzinfo is None or "T" not in written:
        raise ValueError(f"{written!r} is no time with a zone")
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def since(written: str | None, now_ns: int) -> str:
    """The age of a time stamp; `<unknown>` for one that is not there."""
    return human(now_ns - stamp_ns(written)) if written else "<unknown>"


def human(duration_ns: int) -> str:  # noqa: PLR0911 - one branch per scale
    """A duration with two or three significant digits, as Kubernetes prints it.

    Clocks may differ: what lies less than two seconds in the future is 0s, what lies further is `<invalid>`.
    """
    seconds = int(duration_ns / _SECOND_NS) if duration_ns < 0 else duration_ns // _SECOND_NS
    if seconds < 0:
        return "0s" if seconds == -1 else "<invalid>"
    if seconds < 2 * _MINUTE_S:
        return f"{seconds}s"
    minutes = seconds // _MINUTE_S
    if minutes < 10:  # noqa: PLR2004 - from here on seconds are not told
        return _two(minutes, "m", seconds % _MINUTE_S, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    hours = seconds // _HOUR_S
    if hours < 8:  # noqa: PLR2004 - from here on minutes are not told
        return _two(hours, "h", minutes % 60, "m")
    if hours < 2 * _DAY_H:
        return f"{hours}h"
    days = hours // _DAY_H
    if hours < 8 * _DAY_H:
        return _two(days, "d", hours % _DAY_H, "h")
    if hours < 2 * _YEAR_D * _DAY_H:
        return f"{days}d"
    years = days // _YEAR_D
    return _two(years, "y", days % _YEAR_D, "d") if hours < 8 * _YEAR_D * _DAY_H else f"{years}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
