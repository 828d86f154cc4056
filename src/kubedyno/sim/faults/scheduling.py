"""When nodes fail: once for all, or at a rate, drawn in advance from a seed."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import UsageError
from kubedyno.kit.randomness import stream
from kubedyno.kit.units import parse_duration_s
from kubedyno.sim.faults.selecting import Domain

_RATE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*/\s*(\S+)\s*")


DEFAULT_REPAIR: Final = Draw.parse("5m")


class Outage(msgspec.Struct, frozen=True):
    """One domain is out of order from `at_s` to `until_s` (None: for good), seconds from the schedule's beginning."""

    at_s: float
    until_s: float | None
    domain: Domain


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Once (`for_s`; None: for good), or again and again (`rate_per_s` for each domain, over `during_s`)."""

    for_s: float | None = None
    rate_per_s: float | None = None
    repair: Draw = DEFAULT_REPAIR
    """How long a domain is down each time, with a rate."""
    during_s: float = 0.0


def parse_rate_per_s(text: str) -> float:
    """Events a second of a rate: `0.5/h`, `2/m`, `1/90s`."""
    found = _RATE.fullmatch(text)
    wrong = UsageError(f"{text!r} is no rate: write how many in which time, like 0.5/h or 1/90s")
    if found is None:
        raise wrong
    unit = found[2]
    try:
        period_s = parse_duration_s(unit if unit[0].isdigit() else f"1{unit}")
    except UsageError:
        raise wrong from None
    rate_per_s = float(found[1]) / period_s if period_s > 0 else 0.0
    if rate_per_s <= 0:
        raise wrong
    return rate_per_s


def planned(seed: int, domains: Sequence[Domain], timing: Timing, *, keep: bool = False) -> tuple[Outage, ...]:
    """The outages of the domains. Those at a rate end with the whole at the latest, unless they are to be kept."""
    if timing.rate_per_s is None:
        return once(domains, for_s=timing.for_s)
    drawn = draw_schedule(seed, domains, rate_per_s=timing.rate_per_s, repair=timing.repair, during_s=timing.during_s)
    return drawn if keep else tuple(_ended(outage, timing.during_s) for outage in drawn)


def _ended(outage: Outage, end_s: float) -> Outage:
    return msgspec.structs.replace(outage, until_s=min(outage.until_s or end_s, end_s))


def once(domains: Sequence[Domain], *, for_s: float | None) -> tuple[Outage, ...]:
    """All fail now, and recover together. Nodes that fail each for itself are one outage: it is the same moment."""
    if all(domain.nodes == (domain.name,) for domain in domains):
        names = tuple(domain.name for domain in domains)
        return (Outage(0.0, for_s, Domain("" if len(names) > 1 else names[0], names)),)
    return tuple(Outage(0.0, for_s, domain) for domain in domains)


def draw_schedule(
    seed: int, domains: Sequence[Domain], *, rate_per_s: float, repair: Draw, during_s: float
) -> tuple[Outage, ...]:
    """Each domain fails by itself at the rate while it is up, and is down for a draw of `repair`; in order of time.

    Nothing begins after `during_s`. Every domain has randomness of its own: the outages of one do not depend on
    which others there are.
    """
    outages = [
        outage
        for domain in domains
        for outage in _outages(seed, domain, rate_per_s=rate_per_s, repair=repair, during_s=during_s)
    ]
    return tuple(sorted(outages, key=lambda outage: (outage.at_s, outage.domain.name)))


def _outages(seed: int, domain: Domain, *, rate_per_s: float, repair: Draw, during_s: float) -> list[Outage]:
    rng = stream(seed, f"outages:{domain.name}")
    found: list[Outage] = []
    at_s = rng.expovariate(rate_per_s)
    while at_s < during_s:
        until_s = at_s + repair.at(rng.random())
        found.append(Outage(at_s, until_s, domain))
        at_s = until_s + rng.expovariate(rate_per_s)
    return found
