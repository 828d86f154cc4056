"""How claims of devices fared: how long each waited for them, and how many devices were given away over time. Pure."""

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.invariants.facts import Device
from kubedyno.measure.lives import Lives
from kubedyno.measure.quality.spans import Span, moments
from kubedyno.measure.records import Measurement
from kubedyno.measure.statistics import distribution, single

ALLOCATED = "devices_allocated"


def claim_quality(lives: Lives, span: Span, *, lag_s: float) -> Iterator[Measurement]:
    """How many were made or satisfied, how long they waited, most devices given at a time; nothing without claims."""
    count = 0
    waits, reservations = [], []
    for claim in lives.claims:
        allocated_ns = claim.allocations[0].since_ns if claim.allocations else None
        is_allocated = allocated_ns is not None and span.since_ns <= allocated_ns <= span.until_ns
        count += is_allocated or span.since_ns <= claim.created_ns <= span.until_ns
        if is_allocated and allocated_ns is not None:
            waits.append((allocated_ns - max(claim.created_ns, span.since_ns)) / NS_PER_S)
            if claim.reserved_ns is not None:
                reservations.append(max(0, claim.reserved_ns - allocated_ns) / NS_PER_S)
    if not count:
        return
    yield single("claims", "claims", count)
    for name, samples in (("wait for allocation", waits), ("allocation to reservation", reservations)):
        made = distribution(name, "s", samples, error=lag_s)
        if made is not None:
            yield made
    yield single("devices allocated at most", "devices", _peak(lives, span))


def allocated_curve(lives: Lives, span: Span) -> Iterator[SeriesRow]:
    """Devices that were given away, by driver, at the end of each window."""
    changes = _changes(lives)
    if not changes:
        return
    drivers = dict.fromkeys(device[0] for _, _, devices in changes for device in devices)
    holders: Counter[Device] = Counter()
    given: Counter[str] = Counter()
    place = 0
    for look_ns in moments(span):
        while place < len(changes) and changes[place][0] <= look_ns:
            _, change, devices = changes[place]
            _apply(holders, given, change, devices)
            place += 1
        for driver in drivers:
            yield SeriesRow(look_ns, ALLOCATED, driver, float(given[driver]))


def _peak(lives: Lives, span: Span) -> int:
    """Most devices that were given away at a moment of the span; what several share counts once."""
    holders: Counter[Device] = Counter()
    given: Counter[str] = Counter()
    most = 0
    for moment_ns, change, devices in _changes(lives):
        if moment_ns > span.until_ns:
            break
        if moment_ns > span.since_ns:
            most = max(most, given.total())
        _apply(holders, given, change, devices)
    return max(most, given.total())


def _apply(holders: Counter[Device], given: Counter[str], change: int, devices: tuple[Device, ...]) -> None:
    for device in devices:
        before = holders[device]
        holders[device] = before + change
        given[device[0]] += (before + change > 0) - (before > 0)


def _changes(lives: Lives) -> list[tuple[int, int, tuple[Device, ...]]]:
    """When devices were given (1) and taken back (-1), in order; at one moment they are taken back first."""
    changes = []
    for claim in lives.claims:
        for one in claim.allocations:
            changes.append((one.since_ns, 1, one.devices))
            if one.until_ns is not None:
                changes.append((one.until_ns, -1, one.devices))
    return sorted(changes, key=itemgetter(0, 1))
