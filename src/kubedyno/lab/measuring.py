"""Measurements from times: with the bounds that the times have, and percentiles where there are several. Pure."""

import statistics
from collections.abc import Iterable, Sequence

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import CheckFailed
from kubedyno.lab.handles import Stamp
from kubedyno.measure.kept import Reached
from kubedyno.measure.records import Measurement


def between(name: str, since: Stamp, until: Stamp) -> Measurement:
    """The seconds between two stamps."""
    seconds = (until.at_ns - since.at_ns) / NS_PER_S
    return Measurement(
        name=name,
        unit="s",
        value=seconds,
        lower=max(0.0, min(seconds, (until.lower_ns - since.upper_ns) / NS_PER_S)),
        upper=max(seconds, (until.upper_ns - since.lower_ns) / NS_PER_S),
        samples=(seconds,),
    )


def latency(name: str, begun: Iterable[Reached], ended: Iterable[Reached]) -> Measurement:
    """The seconds that each object took from one phase to another, by arrival; the value is their median."""
    first = {row.uid: row for row in begun}
    pairs = [(first[row.uid], row) for row in ended if row.uid in first]
    if not pairs:
        raise CheckFailed(f"{name}: no pod reached both phases, so there is nothing to measure")
    samples = tuple(sorted((after.arrival_ns - before.arrival_ns) / NS_PER_S for before, after in pairs))
    lowers = [((after.lower_ns or before.upper_ns) - before.upper_ns) / NS_PER_S for before, after in pairs]
    uppers = [(after.upper_ns - (before.lower_ns or before.upper_ns)) / NS_PER_S for before, after in pairs]
    value = statistics.median(samples)
    return Measurement(
        name=name,
        unit="s",
        value=value,
        lower=max(0.0, min(value, statistics.median(lowers))),
        upper=max(value, statistics.median(uppers)),
        samples=samples,
    )


def sampled(name: str, unit: str, samples: Sequence[float]) -> Measurement:
    """Samples that were taken exactly; the value is their median."""
    if not samples:
        raise CheckFailed(f"{name}: there is no sample of it")
    ordered = tuple(sorted(map(float, samples)))
    value = statistics.median(ordered)
    return Measurement(name=name, unit=unit, value=value, lower=value, upper=value, samples=ordered)


def last(rows: Sequence[Reached], otherwise: Stamp) -> Stamp:
    """When the last of several reached a phase; without any, `otherwise`."""
    if not rows:
        return otherwise
    return Stamp(
        max(row.arrival_ns for row in rows),
        # Without a stamp of the server's all that is known is that it came after the submission began.
        max(row.lower_ns or otherwise.lower_ns for row in rows),
        max(row.upper_ns for row in rows),
    )
