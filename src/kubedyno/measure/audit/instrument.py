"""Whether the instrument itself was good enough: loop stalls, submissions that came late, news that came late. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure import statistics
from kubedyno.measure.records import AuditLine
from kubedyno.model.samples import Recording

STALL_LIMIT_S: Final = 1.0
"""Beyond the resolution of the server's own stamps."""
LATENESS_LIMIT_S: Final = 1.0
"""Of submissions against their plan: beyond this it was another load than the one that was asked for."""
LAG_LIMIT_S: Final = 2.0
LAG_SHARE: Final = 0.1
"""Of the part of the run that counts: a lag of so much of it is too much of an error."""

Delays = Sequence[tuple[int, float]]
"""When something was late, ns since the epoch, and by how many seconds."""


class Lateness:
    """How late submissions were against their plan; only those that had one are told of."""

    def __init__(self) -> None:
        self.delays: list[tuple[int, float]] = []

    def note(self, planned_ns: int, sent_ns: int) -> None:
        """A submission that was planned for one moment began at another."""
        self.delays.append((sent_ns, max(0, sent_ns - planned_ns) / NS_PER_S))


def stall_line(stalls: Delays, *, limit_s: float | None) -> AuditLine:
    """The longest time that this process did not look at its events."""
    longest_s = max((late_s for _, late_s in stalls), default=0.0)
    return AuditLine(name="longest event-loop stall", value=longest_s, unit="s", limit=limit_s)


def lateness_lines(delays: Delays) -> list[AuditLine]:
    """How late submissions were; nothing where none had a planned time."""
    if not delays:
        return []
    ordered = sorted(late_s for _, late_s in delays)
    p99_s = statistics.percentile(ordered, 99.0)
    return [
        AuditLine(name="submit lateness p99", value=p99_s, unit="s", limit=LATENESS_LIMIT_S),
        AuditLine(name="submit lateness at most", value=ordered[-1], unit="s", limit=None),
    ]


def recording_lines(recording: Recording, *, duration_s: float) -> list[AuditLine]:
    """What the watches went through, and how late news was; a lag counts against the part of the run that counts."""
    relists = sum(watch.relists for watch in recording.watches)
    cuts = sum(watch.cuts for watch in recording.watches)
    found = [
        AuditLine(name="watch relists", value=relists, unit="lists", limit=0),
        AuditLine(name="watch streams cut", value=cuts, unit="streams", limit=None),
    ]
    if recording.lag is not None:
        limit_s = max(LAG_LIMIT_S, LAG_SHARE * duration_s)
        found.append(AuditLine(name="watch lag p99", value=recording.lag.p99_s, unit="s", limit=limit_s))
    return found


def within(delays: Iterable[tuple[int, float]], since_ns: int, until_ns: int) -> list[tuple[int, float]]:
    """Those of a part of the time; one that was under way as the part began counts as well."""
    return [(at_ns, late_s) for at_ns, late_s in delays if since_ns <= at_ns <= until_ns + round(late_s * NS_PER_S)]
