"""When something truly happened: by the server's stamp, the arrival of the news, and the order of versions.

The server's stamp is cut to its last decimal, so the moment of stamping lies within one unit of it. The news arrives
after the fact. And versions are in the order of their writing: what has a higher one than a probe was written after
that probe was sent, what has a lower one before that probe was answered. The last holds however late the news is, which
the lag of other news does not: under load streams differ by hundreds of milliseconds. Pure.
"""

from functools import lru_cache
from typing import Final, Literal, TypeAlias

from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns

Contradiction: TypeAlias = Literal["skew", "late"]
"""A stamp that does not fit.

`skew`: it is after the arrival, so the server's clock is ahead of ours. `late`: it is long before the writing: it
speaks of an earlier moment than what was written, or the server's clock is behind.
"""

Bounds: TypeAlias = tuple[int | None, int, Contradiction | None]
"""Not before, not after (ns since the epoch), and what was found to disagree."""

SHORTLY_NS: Final = NS_PER_S
"""A write that is stamped and stored within this time is one moment."""

_MAX_DECIMALS: Final = 9


@lru_cache(maxsize=4096)
def read_stamp(text: str) -> tuple[int, int] | None:
    """A stamp of the server: ns since the epoch, and how many ns its last decimal stands for; None: it is none."""
    if not text:
        return None
    try:
        stamp_ns = parse_rfc3339_ns(text)
    except ValueError:
        return None
    tail = text.partition(".")[2]
    decimals = min(len(tail) - len(tail.lstrip("0123456789")), _MAX_DECIMALS)
    return stamp_ns, NS_PER_S // 10**decimals


def bounds(
    arrival_ns: int, stamp: tuple[int, int] | None, *, after_ns: int | None = None, before_ns: int | None = None
) -> Bounds:
    """What the evidence allows. A stamp that disagrees with the rest is used less, so that the span is never empty.

    `stamp` is as `read_stamp` gives it; `after_ns` and `before_ns` are when it was written at the earliest and at the
    latest, by the order of versions.
    """
    upper_ns = arrival_ns if before_ns is None else min(arrival_ns, before_ns)
    lower_ns = None if after_ns is None else min(after_ns, upper_ns)
    if stamp is None:
        return lower_ns, upper_ns, None
    stamp_ns, resolution_ns = stamp
    end_ns = stamp_ns + resolution_ns
    if stamp_ns > upper_ns:
        return lower_ns, upper_ns, "skew"
    if lower_ns is None or end_ns >= lower_ns:
        return stamp_ns if lower_ns is None else max(lower_ns, stamp_ns), min(upper_ns, end_ns), None
    if lower_ns - end_ns <= SHORTLY_NS:
        # Stamped at the very end of a second, stored at the beginning of the next one.
        return end_ns, upper_ns, None
    return stamp_ns, upper_ns, "late"
