"""A load at one rate, and what came of it: points of curves from it, and knees by looking for the highest good rate."""

import math
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.lab.lab import Lab
from kubedyno.measure import bottleneck, statistics
from kubedyno.measure.bottleneck import Bottleneck, Seen
from kubedyno.measure.knee import Effort, Goal, Knee, Search, Step
from kubedyno.measure.records import CurvePoint, KneeRecord, Percentile
from kubedyno.scenarios.numa import framework, scales
from kubedyno.scenarios.numa.framework import PerformanceCase
from kubedyno.scenarios.numa.scales import Cluster

_P99: Final = 99.0
_RUNGS: Final = 5
"""Rates that are tried where no knee is looked for."""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured at one rate."""

    rate: float
    samples: Mapping[str, tuple[float, ...]]
    """Seconds, by what took them."""
    requests: int
    """How many there were, those that failed too."""
    errors: Mapping[str, int] = {}
    first_error: str = ""
    recovery_s: float | None = None
    achieved: float | None = None
    duration_s: float
    seen: Seen | None = None
    """What was seen of the components while the load was on."""
    aside: frozenset[str] = frozenset()
    """What is shown beside the rest, and has no limit."""

    @property
    def limited_s(self) -> list[float]:
        """All samples that have a limit, the shortest first."""
        return sorted(one for name, some in self.samples.items() if name not in self.aside for one in some)

    @property
    def p99_s(self) -> float | None:
        """Of all samples that have a limit; None: there are none."""
        ordered = self.limited_s
        return statistics.percentile(ordered, _P99) if ordered else None


class Load(Protocol):
    """A load that can be put on at any rate, again and again; it leaves nothing behind."""

    @property
    def case(self) -> PerformanceCase:
        """What it is for."""
        ...

    @property
    def most(self) -> float:
        """A rate beyond which the cluster would be full, or the load could not be told apart."""
        ...

    async def at(self, rate: float) -> Taken:
        """Put it on, and wait until all is as before, or has had its time."""
        ...


class Watch:
    """Measures the time of a step, and asks what was seen of the components meanwhile."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._begun_ns = lab.clock.monotonic_ns()

    @property
    def passed_s(self) -> float:
        """Since it was made."""
        return (self._lab.clock.monotonic_ns() - self._begun_ns) / NS_PER_S

    async def look(self) -> Seen | None:
        """What was seen since the last look; None: nobody looks here."""
        return None if self._lab.communicating is None else (await self._lab.communicating.take()).seen


async def draw(
    lab: Lab, cluster: Cluster, load: Load, rates: tuple[float, ...], *, time_s: float = math.inf
) -> list[Taken]:
    """A point of the curves for each rate, recorded as soon as it is known; what does not fit is said."""
    found: list[Taken] = []
    watch = Watch(lab)
    for rate in rates:
        why_not = _full(cluster, load) if rate > load.most else ""
        if found and watch.passed_s + found[-1].duration_s > time_s:
            why_not = f"{watch.passed_s:.0f} of {time_s:.0f} s were used"
        if why_not:
            lab.curves.append(missing_point(cluster, load.case, f"did not fit: {why_not}", rate=rate))
            continue
        taken = await load.at(rate)
        found.append(taken)
        lab.curves.extend(points(cluster, load.case, taken))
        told = f"{len(taken.limited_s)} of {taken.requests}, failed: {dict(taken.errors)}"
        lab.expect(f"{_title(cluster, load)}: there are samples at {rate:g}/s", taken.p99_s is not None, told)
    return found


def points(cluster: Cluster, case: PerformanceCase, taken: Taken) -> list[CurvePoint]:
    """The points of one rate: one for each thing that took time."""
    return [
        CurvePoint(
            case=case.name,
            scale=cluster.scale,
            nodes=cluster.nodes,
            rate=taken.rate,
            aware=cluster.aware,
            ha=cluster.ha,
            metric=metric,
            p50=_percentile(seconds, 50.0),
            p90=_percentile(seconds, 90.0),
            p99=_percentile(seconds, _P99),
            n=len(seconds),
            achieved=taken.achieved,
            errors=dict(taken.errors),
            note=cluster.note,
        )
        for metric, seconds in taken.samples.items()
    ]


def missing_point(cluster: Cluster, case: PerformanceCase, why: str, *, rate: float | None = None) -> CurvePoint:
    """A point that there is not, and why."""
    return CurvePoint(
        case=case.name,
        scale=cluster.scale,
        nodes=cluster.nodes,
        rate=rate,
        aware=cluster.aware,
        ha=cluster.ha,
        metric=case.metric,
        note=why,
    )


async def search(
    lab: Lab, cluster: Cluster, load: Load, *, start: float, goal: Goal, effort: Effort, is_checked: bool = True
) -> KneeRecord:
    """The highest rate that keeps the goal, recorded and checked. Points of the curve are recorded on the way.

    Without `is_checked` it is a result like any other that even the lowest rate breaks a limit.
    On the embedded engine there are points only, for rates that double until the goal is broken.
    """
    if scales.is_embedded(lab):
        return await _ladder(lab, cluster, load, start=start, goal=goal, effort=effort)
    looked = Search(start=start, goal=goal, effort=msgspec.structs.replace(effort, most=min(effort.most, load.most)))
    blamed: dict[float, Bottleneck] = {}
    while (rate := looked.next_rate()) is not None:
        taken = await load.at(rate)
        step = step_of(taken)
        looked.note(step)
        lab.curves.extend(points(cluster, load.case, taken))
        if step.broken(goal) and taken.seen is not None:
            blamed[rate] = bottleneck.decide(_on_the_way(taken.seen, load.case))
    record = knee_record(cluster, load.case, looked.knee(), goal, blamed)
    if not record.unfit and load.most <= (record.rate or 0.0):
        record = msgspec.structs.replace(record, unfit=_full(cluster, load))
    lab.knees.append(record)
    if is_checked:
        # That no limit broke, or time was short, is a result as well.
        told = record.unfit or f"{record.rate} {record.unit}"
        holds = record.rate is not None or looked.is_cut_short
        lab.expect(f"{_title(cluster, load)}: a rate keeps the limits, or time was short", holds, told)
    return record


def _on_the_way(seen: Seen, case: PerformanceCase) -> Seen:
    """What was seen of those who can be to blame: a pod is late at its binding before any kubelet hears of it."""
    if case == framework.SCHEDULER_OVERLOAD:
        return msgspec.structs.replace(seen, kubelets=None)
    return seen


async def _ladder(lab: Lab, cluster: Cluster, load: Load, *, start: float, goal: Goal, effort: Effort) -> KneeRecord:
    """Rates that double, and no knee."""
    watch, longest_s = Watch(lab), effort.step_s
    for rung in range(_RUNGS):
        rate = start * effort.factor**rung
        if rate > load.most or watch.passed_s + longest_s > effort.time_s:
            break
        taken = await load.at(rate)
        longest_s = max(longest_s, taken.duration_s)
        lab.curves.extend(points(cluster, load.case, taken))
        if step_of(taken).broken(goal):
            break
    record = missing_knee(cluster, load.case, f"{framework.EMBEDDED_NOTE}: knees are looked for on --engine local")
    lab.knees.append(record)
    return record


def step_of(taken: Taken) -> Step:
    """What was measured, as a step of a search."""
    return Step(
        rate=taken.rate,
        latency_s=taken.p99_s,
        requests=taken.requests,
        errors=dict(taken.errors),
        first_error=taken.first_error,
        duration_s=taken.duration_s,
        recovery_s=taken.recovery_s,
        achieved=taken.achieved,
    )


def knee_record(
    cluster: Cluster, case: PerformanceCase, knee: Knee, goal: Goal, blamed: Mapping[float, Bottleneck]
) -> KneeRecord:
    """The record of a knee; who gave way is told from the lowest rate that broke a limit."""
    lowest = min(blamed, default=None)
    who = None if lowest is None else blamed[lowest]
    return KneeRecord(
        case=case.name,
        scale=cluster.scale,
        nodes=cluster.nodes,
        aware=cluster.aware,
        ha=cluster.ha,
        unit=case.unit,
        slo_s=goal.slo_s,
        rate=knee.rate,
        lower=knee.lower,
        upper=knee.upper,
        broke=tuple(knee.broke),
        component="" if who is None else who.component,
        evidence="" if who is None or lowest is None else _evidence(who, lowest),
        first_error=knee.first_error,
        errors=dict(knee.errors),
        recovery_s=knee.recovery_s,
        confirmed=knee.confirmed,
        steps=len(knee.steps),
        unfit=knee.unfit,
        note=cluster.note,
    )


def missing_knee(cluster: Cluster, case: PerformanceCase, why: str) -> KneeRecord:
    """A knee that was not looked for, and why."""
    return KneeRecord(
        case=case.name,
        scale=cluster.scale,
        nodes=cluster.nodes,
        aware=cluster.aware,
        ha=cluster.ha,
        unit=case.unit,
        unfit=why,
        note=cluster.note,
    )


def _evidence(who: Bottleneck, rate: float) -> str:
    besides = f"; also {', '.join(who.besides)}" if who.besides else ""
    return f"at {rate:.4g}/s: {who.evidence}{besides}"


def _title(cluster: Cluster, load: Load) -> str:
    return f"{load.case.name} at {cluster.scale}, {'aware' if cluster.aware else 'unaware'}"


def _full(cluster: Cluster, load: Load) -> str:
    return f"{cluster.nodes} nodes have room for a step of {load.most:.4g} {load.case.unit} at most"


def _percentile(seconds: tuple[float, ...], percent: float) -> Percentile | None:
    """With its interval; of one sample all that is known is the sample."""
    if len(seconds) == 1:
        return Percentile(percent=percent, value=seconds[0], lower=seconds[0], upper=seconds[0])
    return next(iter(statistics.percentiles(seconds, (percent,))), None)


def rates_of(text: str, *, name: str = "rates") -> tuple[float, ...]:
    """`5,20,80` as rates, the lowest first; `name` is the parameter's."""
    try:
        found = sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise UsageError(f"-p {name}={text}: write numbers with commas between, like 5,20,80") from None
    if found[0] <= 0 or not math.isfinite(found[-1]):
        raise UsageError(f"-p {name}={text}: rates are above 0")
    return tuple(found)
