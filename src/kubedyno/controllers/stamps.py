"""Times as objects carry them: whole seconds, `2026-01-02T03:04:05Z`, and micro times."""

import functools

from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns, rfc3339


def seconds_text(wall_ns: int) -> str:
    """The stamp of a metav1.Time: the fraction is cut off, as Go does."""
    return _second_text(wall_ns // NS_PER_S)


@functools.lru_cache(maxsize=64)
def _second_text(second: int) -> str:
    """Thousands of objects are stamped in one second."""
    return f"{rfc3339(second * NS_PER_S)[:19]}Z"


def ns_of(text: str | None) -> int | None:
    """Nanoseconds since the epoch; None for an absent time."""
    return parse_rfc3339_ns(text) if text else None


def seconds_since(text: str, now_ns: int) -> float:
    """Seconds from a stamp until now."""
    return (now_ns - parse_rfc3339_ns(text)) / NS_PER_S
