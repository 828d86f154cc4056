"""The curves and knees of several trials as one sweep: who is compared with whom, and what each choice costs. Pure."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

import msgspec

from kubedyno.measure import statistics
from kubedyno.measure.records import CurvePoint, KneeRecord, Percentile, TrialRecord
from kubedyno.scenarios.numa import framework

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

PERCENTS: Final = (50.0, 90.0, 99.0)
_NUMBERS: Final = {case.name: case.number for case in framework.CASES}
COLOURS: Final = 6
"""So many the page has for variants."""


class Variant(msgspec.Struct, frozen=True, order=True):
    """What was compared: one colour of a picture."""

    engine: str
    kubelet: str
    scheduler: str
    ha: bool
    aware: bool


class Point(msgspec.Struct, frozen=True):
    """A point of a curve, and whose it is."""

    variant: Variant
    record: CurvePoint

    @property
    def is_known(self) -> bool:
        """Whether anything was measured; else its note says why not."""
        return self.record.p50 is not None


class Bent(msgspec.Struct, frozen=True):
    """A knee, and whose it is."""

    variant: Variant
    record: KneeRecord


PointKey: TypeAlias = tuple[Variant, str, str, int, float | None]
"""Whose, the case, the metric, nodes and rate."""
KneeKey: TypeAlias = tuple[Variant, str, int]
"""Whose, the case and nodes."""


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """How many times as much; bounds that nothing is known of are None."""

    value: float
    lower: float | None
    upper: float | None


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """All that trials have to tell of sizes and rates."""

    points_by_key: Mapping[PointKey, Point]
    knees_by_key: Mapping[KneeKey, Bent]
    variants: tuple[Variant, ...]
    """All that occur, in the order of their colours."""

    @property
    def points(self) -> tuple[Point, ...]:
        """In the order in which they were measured."""
        return tuple(self.points_by_key.values())

    @property
    def knees(self) -> tuple[Bent, ...]:
        """In the order in which they were measured."""
        return tuple(self.knees_by_key.values())

    @property
    def all(self) -> tuple[Point | Bent, ...]:
        """Points and knees."""
        return (*self.points, *self.knees)

    def parts(self, variant: Variant) -> dict[str, str]:
        """What tells it from the others, by what it is about; awareness always."""
        told = {"awareness": "topology-aware" if variant.aware else "not aware"}
        if any(one.ha for one in self.variants):
            told["HA"] = "HA" if variant.ha else "no HA"
        for field in ("scheduler", "kubelet", "engine"):
            if len({getattr(one, field) for one in self.variants}) > 1:
                told[field] = getattr(variant, field)
        return told

    def name(self, variant: Variant) -> str:
        """The parts of it as one."""
        return ", ".join(self.parts(variant).values())

    def scales(self) -> list[tuple[int, str]]:
        """Nodes and name of each size, small ones first."""
        return sorted({(one.record.nodes, one.record.scale) for one in self.all})

    def cases(self) -> list[str]:
        """Names of the cases by their numbers; then those without, in the order in which they were run."""
        return sorted(dict.fromkeys(one.record.case for one in self.all), key=lambda name: _NUMBERS.get(name, math.inf))

    def metrics(self, case: str) -> list[str]:
        """What was measured in a case, that of most samples first."""
        samples: dict[str, int] = {}
        for one in self.points:
            if one.record.case == case and one.is_known:
                samples[one.record.metric] = samples.get(one.record.metric, 0) + one.record.n
        return sorted(samples, key=lambda metric: -samples[metric])

    def counterpart(self, point: Point, variant: Variant) -> Point | None:
        """The same point of another variant."""
        return self.points_by_key.get(_point_key(Point(variant, point.record)))

    def knee_counterpart(self, knee: Bent, variant: Variant) -> Bent | None:
        """The same knee of another variant."""
        return self.knees_by_key.get(_knee_key(Bent(variant, knee.record)))


def gather(trials: Iterable[TrialRecord]) -> Sweep:
    """The sweep of some trials; of repetitions the middle one stands, with what all of them lie between."""
    points: list[Point] = []
    knees: list[Bent] = []
    for trial in trials:
        points += [Point(_variant(trial, one), one) for one in trial.curves]
        knees += [Bent(_variant(trial, one), one) for one in trial.knees]
    return Sweep(
        points_by_key=_merged(points, _point_key, _middle_point),
        knees_by_key=_merged(knees, _knee_key, _middle_knee),
        variants=tuple(sorted({one.variant for one in points} | {one.variant for one in knees})),
    )


def percentile(record: CurvePoint, percent: float) -> Percentile | None:
    """One of the three of a point."""
    return {50.0: record.p50, 90.0: record.p90, 99.0: record.p99}.get(percent)


def bounded(record: CurvePoint, percent: float) -> tuple[bool, bool]:
    """Whether samples are enough to say what a percentile is at least, and at most."""
    below, above = statistics.ranks(record.n, percent) if record.n > 0 else (None, None)
    return below is not None, above is not None


def quantity(metric: str) -> tuple[str, str]:
    """What was measured, and its unit."""
    name, comma, unit = metric.rpartition(", ")
    return (name, unit) if comma else (metric, "")


def headline(name: str) -> str:
    """A name as it begins a line."""
    return name[:1].upper() + name[1:]


def ratio_of_points(more: Point, less: Point, percent: float) -> Ratio | None:
    """A percentile of one as a multiple of the other's, with 95 % confidence; None: one of them is not known.

    The interval is put together from those of both, as of independent logarithms.
    """
    above, below = percentile(more.record, percent), percentile(less.record, percent)
    if above is None or below is None or above.value <= 0 or below.value <= 0:
        return None
    value = above.value / below.value
    down = math.hypot(_log_gap(above.lower, above.value), _log_gap(below.value, below.upper))
    up = math.hypot(_log_gap(above.value, above.upper), _log_gap(below.lower, below.value))
    (has_lower, has_upper), (has_least, has_most) = bounded(more.record, percent), bounded(less.record, percent)
    return Ratio(
        value=value,
        lower=value * math.exp(-down) if has_lower and has_most else None,
        upper=value * math.exp(up) if has_upper and has_least and math.isfinite(up) else None,
    )


def ratio_of_knees(more: KneeRecord, less: KneeRecord) -> Ratio | None:
    """A knee as a multiple of another, with the least and the most that the bounds of both allow.

    None: one of them was not found, or neither broke a limit.
    """
    if not more.rate or not less.rate or (more.upper is None and less.upper is None):
        return None
    return Ratio(
        value=more.rate / less.rate,
        lower=more.lower / less.upper if more.lower is not None and less.upper else None,
        upper=more.upper / less.lower if more.upper is not None and less.lower else None,
    )


def _log_gap(below: float, above: float) -> float:
    return math.log(above / below) if below > 0 else math.inf


def _variant(trial: TrialRecord, one: CurvePoint | KneeRecord) -> Variant:
    return Variant(trial.engine, trial.kubelet, trial.scheduler, one.ha, one.aware)


def _point_key(one: Point) -> PointKey:
    record = one.record
    return one.variant, record.case, record.metric, record.nodes, record.rate


def _knee_key(one: Bent) -> KneeKey:
    return one.variant, one.record.case, one.record.nodes


def _merged(
    many: Iterable[_Value], key: Callable[[_Value], _Key], middle: Callable[[Sequence[_Value]], _Value]
) -> dict[_Key, _Value]:
    alike: dict[_Key, list[_Value]] = {}
    for one in many:
        alike.setdefault(key(one), []).append(one)
    return {own: several[0] if len(several) == 1 else middle(several) for own, several in alike.items()}


def _middle_point(several: Sequence[Point]) -> Point:
    known = sorted((one for one in several if one.is_known), key=_median)
    if not known:
        return several[0]
    middle = known[(len(known) - 1) // 2].record
    wide = {
        field: _widened([found for one in known if (found := percentile(one.record, percent)) is not None], own)
        for field, percent in zip(("p50", "p90", "p99"), PERCENTS, strict=True)
        if (own := percentile(middle, percent)) is not None
    }
    return Point(known[0].variant, msgspec.structs.replace(middle, **wide))


def _median(one: Point) -> float:
    return one.record.p50.value if one.record.p50 is not None else math.inf


def _widened(several: Sequence[Percentile], own: Percentile) -> Percentile:
    return msgspec.structs.replace(
        own, lower=min(one.lower for one in several), upper=max(one.upper for one in several)
    )


def _middle_knee(several: Sequence[Bent]) -> Bent:
    known = sorted((one for one in several if one.record.rate is not None), key=lambda one: one.record.rate or 0.0)
    if not known:
        return several[0]
    middle = known[(len(known) - 1) // 2]
    lowers, uppers = [one.record.lower for one in known], [one.record.upper for one in known]
    return Bent(
        middle.variant,
        msgspec.structs.replace(
            middle.record,
            lower=None if None in lowers else min(one for one in lowers if one is not None),
            upper=None if None in uppers else max(one for one in uppers if one is not None),
        ),
    )
