"""Whether the machine was the limit, and who used it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from kubedyno.measure.records import AuditLine, Finding

SATURATED_FROM: Final = 0.95
"""The part of all cores that is busy on a machine that has nothing left."""
MOST: Final = 0.5
"""Of the time."""
_TOLD: Final = 5
"""So many users are named."""
OTHERS: Final = "others"


def saturated_share(busy: Sequence[float]) -> float:
    """The part of the samples in which the machine had nothing left; `busy` are parts of all cores."""
    return sum(1 for share in busy if share > SATURATED_FROM) / len(busy) if busy else 0.0


def shares(used_s: Mapping[str, float], all_used_s: float) -> dict[str, float]:
    """Who used which part of the CPU time that was used, most first; what is nobody's of ours is others'."""
    total_s = max(all_used_s, sum(used_s.values()))
    if total_s <= 0:
        return {}
    parts = {name: seconds / total_s for name, seconds in used_s.items()}
    parts[OTHERS] = max(0.0, total_s - sum(used_s.values())) / total_s
    return dict(sorted(parts.items(), key=lambda part: -part[1]))


def lines(busy: Sequence[float], used_s: Mapping[str, float], all_used_s: float) -> list[AuditLine]:
    """Host CPU, and each component's part of what was used."""
    if not busy:
        return []
    found = [
        AuditLine(name="host CPU busy, mean", value=sum(busy) / len(busy), unit="share", limit=None),
        AuditLine(name="time with the host's CPU saturated", value=saturated_share(busy), unit="share", limit=None),
    ]
    for name, part in shares(used_s, all_used_s).items():
        found.append(AuditLine(name=f"CPU share of {name}", value=part, unit="share", limit=None))
    return found


def saturation(busy: Sequence[float], used_s: Mapping[str, float], all_used_s: float, *, cores: int) -> Finding | None:
    """The finding that the machine was the limit for most of the time; None: it was not."""
    share = saturated_share(busy)
    if share <= MOST:
        return None
    who = ", ".join(f"{name} {part:.0%}" for name, part in list(shares(used_s, all_used_s).items())[:_TOLD])
    return Finding(
        name="limited by the host",
        component=None,
        declared=True,
        evidence=f"more than {SATURATED_FROM:.0%} of {cores} cores were busy in {share:.0%} of the time; used by {who}",
    )
